//! Linear regression that is robust against outliers. The standard errors are valid even if residuals are correlated in
//! time.
//!
//! Sources: P. Huber, *Robust Statistics* (1981), for iteratively reweighted least squares with a limit of 1.345
//! standard deviations (estimated from the median deviation). W. Newey, K. West, *Econometrica* 55 (1987), for the
//! covariance.

use crate::number::median_of_sorted;

/// Number of standard deviations beyond which a residual gets less weight.
const HUBER: f64 = 1.345;
/// Standard deviation of a normal distribution, divided by its median absolute deviation.
const MAD_TO_SD: f64 = 1.4826;
/// Distance from the mean, in standard deviations, that a quarter of the values of a normal distribution exceed.
const NORMAL_QUARTER: f64 = 1.1503;
/// Maximum number of rounds of the fit; each round computes the weights of the rows again.
const ROUNDS: usize = 30;

/// A fitted regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Robust {
    /// One coefficient per column.
    pub coefficients: Vec<f64>,
    /// Covariance of the coefficients.
    pub covariance: Vec<Vec<f64>>,
}

/// Regresses `y` on the columns of `rows`; residuals up to `lags` rows apart may be correlated. Returns `None` if the
/// columns depend on each other, or if there are fewer than four rows more than columns.
pub fn robust(y: &[f64], rows: &[Vec<f64>], lags: usize) -> Option<Robust> {
    let columns = rows.first()?.len();
    if y.len() != rows.len() || y.len() < columns + 4 {
        return None;
    }
    let mut weights = vec![1.0; y.len()];
    let mut coefficients = weighted(y, rows, &weights)?;
    for _ in 0..ROUNDS {
        let residuals = residuals(y, rows, &coefficients);
        let scale = scale(&residuals);
        weights = residuals.iter().map(|r| (HUBER * scale / r.abs().max(1e-300)).min(1.0)).collect();
        let next = weighted(y, rows, &weights)?;
        let moved = next.iter().zip(&coefficients).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        coefficients = next;
        if moved < 1e-10 {
            break;
        }
    }
    let covariance = covariance(&residuals(y, rows, &coefficients), rows, &weights, lags)?;
    Some(Robust { coefficients, covariance })
}

/// Returns the part of each `y` that the columns do not explain.
pub fn residuals(y: &[f64], rows: &[Vec<f64>], coefficients: &[f64]) -> Vec<f64> {
    y.iter().zip(rows).map(|(y, row)| y - dot(row, coefficients)).collect()
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn scale(residuals: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    // Most residuals may be exactly 0. For example, the relative speed of a resource is exactly 1 except while
    // loadline's experiment slows the resource. If most residuals are 0, their median is 0, and every residual other
    // than 0 would be an outlier.
    let of_others = sizes[sizes.len() * 3 / 4] / NORMAL_QUARTER / 2.0;
    (MAD_TO_SD * median_of_sorted(&sizes).unwrap_or(0.0)).max(of_others).max(1e-12)
}

/// Returns the coefficients that minimise the weighted sum of squared residuals, or `None` if columns depend on each
/// other.
pub(super) fn weighted(y: &[f64], rows: &[Vec<f64>], weights: &[f64]) -> Option<Vec<f64>> {
    let columns = rows.first()?.len();
    let mut right = vec![0.0; columns];
    for ((y, row), w) in y.iter().zip(rows).zip(weights) {
        row.iter().zip(&mut right).for_each(|(x, sum)| *sum += w * x * y);
    }
    Some(times(&inverse(gram(rows, weights))?, &right))
}

/// Returns the weighted Gram matrix of the columns. The matrix entry for two columns is a sum over all rows: the
/// product of both columns' values in the row, times the row's weight.
pub(super) fn gram(rows: &[Vec<f64>], weights: &[f64]) -> Vec<Vec<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut gram = vec![vec![0.0; columns]; columns];
    for (row, w) in rows.iter().zip(weights) {
        for (a, out) in row.iter().zip(&mut gram) {
            row.iter().zip(out).for_each(|(b, sum)| *sum += w * a * b);
        }
    }
    gram
}

/// Returns the sandwich covariance of the coefficients. The influence of each row on the coefficients is combined with
/// the influence of its neighbours, with Bartlett's weights. A row that strongly influences the fit makes its own
/// residual smaller than its error. The covariance is corrected for residuals that are smaller than the errors (J.
/// MacKinnon, H. White, *Journal of Econometrics* 29, 1985, third form).
fn covariance(residuals: &[f64], rows: &[Vec<f64>], weights: &[f64], lags: usize) -> Option<Vec<Vec<f64>>> {
    let columns = rows.first()?.len();
    // A row whose residual is beyond Huber's limit has a constant influence, so the row adds nothing to the matrix.
    let steadying: Vec<f64> = weights.iter().map(|w| f64::from(u8::from(*w >= 1.0))).collect();
    // If the rows with residuals within Huber's limit do not determine all coefficients, all rows are used instead.
    let bread = inverse(gram(rows, &steadying)).or_else(|| inverse(gram(rows, weights)))?;
    let pull = |(row, (r, w)): (&Vec<f64>, (&f64, &f64))| -> Vec<f64> {
        let leverage = dot(row, &times(&bread, row)).clamp(0.0, 0.9);
        let by = r * w / if *w >= 1.0 { 1.0 - leverage } else { 1.0 };
        row.iter().map(|x| x * by).collect()
    };
    let pull: Vec<Vec<f64>> = rows.iter().zip(residuals.iter().zip(weights)).map(pull).collect();
    let mut meat = vec![vec![0.0; columns]; columns];
    for lag in 0..=lags.min(pull.len() - 1) {
        let share = 1.0 - lag as f64 / (lags + 1) as f64;
        for (now, before) in pull[lag..].iter().zip(&pull) {
            for (a, b) in (0..columns).flat_map(|a| (0..columns).map(move |b| (a, b))) {
                let both = if lag == 0 { now[a] * now[b] } else { now[a] * before[b] + before[a] * now[b] };
                meat[a][b] += share * both;
            }
        }
    }
    Some(product(&product(&bread, &meat), &bread))
}

/// Multiplies a matrix by a vector.
pub fn times(m: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    m.iter().map(|row| dot(row, v)).collect()
}

/// Multiplies two matrices.
pub fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let column = |j: usize| b.iter().map(|row| row[j]).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..b.first().map_or(0, Vec::len)).map(column).collect();
    a.iter().map(|row| columns.iter().map(|c| dot(row, c)).collect()).collect()
}

/// Inverts a square matrix by elimination with pivots. Returns `None` if the matrix is singular up to rounding errors.
pub fn inverse(mut m: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = m.len();
    let largest = m.iter().flatten().fold(0.0f64, |a, v| a.max(v.abs()));
    let mut out: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for at in 0..n {
        let pivot = (at..n).max_by(|a, b| m[*a][at].abs().total_cmp(&m[*b][at].abs()))?;
        if m[pivot][at].abs() <= 1e-12 * largest || !m[pivot][at].is_finite() {
            return None;
        }
        m.swap(at, pivot);
        out.swap(at, pivot);
        let by = m[at][at];
        m[at].iter_mut().chain(&mut out[at]).for_each(|v| *v /= by);
        for row in (0..n).filter(|row| *row != at) {
            let by = m[row][at];
            let (of_m, of_out) = (m[at].clone(), out[at].clone());
            m[row].iter_mut().zip(of_m).chain(out[row].iter_mut().zip(of_out)).for_each(|(v, p)| *v -= by * p);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data is the logarithm of a disk's relative speed. The logarithm is 0 in two of three time slots, and about
    /// ln 0.75 in each third slot, in which the experiment slows the disk.
    #[test]
    fn rows_that_fit_exactly_do_not_make_all_others_outliers() {
        let on = |t: usize| f64::from(u8::from(t.is_multiple_of(3)));
        let rows: Vec<Vec<f64>> = (0..69).map(|t| vec![on(t), 1.0]).collect();
        let y: Vec<f64> = (0..69).map(|t| on(t) * (0.75 + 0.02 * (t as f64).sin()).ln()).collect();
        let fit = robust(&y, &rows, 1).unwrap();
        assert!((fit.coefficients[0].exp() - 0.75).abs() < 0.005, "{fit:?}");
        assert!(fit.covariance[0][0].sqrt() < 0.01, "{fit:?}");
    }

    #[test]
    fn an_outlier_does_not_move_the_line() {
        let rows: Vec<Vec<f64>> = (0..40).map(|i| vec![1.0, f64::from(i)]).collect();
        let noise = |i: usize| if i.is_multiple_of(2) { 0.01 } else { -0.01 };
        let mut y: Vec<f64> = rows.iter().enumerate().map(|(i, r)| 3.0 + 0.5 * r[1] + noise(i)).collect();
        y[7] += 50.0;
        let fit = robust(&y, &rows, 2).unwrap();
        assert!((fit.coefficients[1] - 0.5).abs() < 0.002, "{fit:?}");
        assert!((fit.coefficients[0] - 3.0).abs() < 0.03, "{fit:?}");
    }

    #[test]
    fn dependent_columns_are_refused() {
        let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![1.0, f64::from(i), 2.0 * f64::from(i)]).collect();
        let y: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(robust(&y, &rows, 0).is_none());
        assert!(robust(&y[..3], &rows[..3], 0).is_none());
    }
}
