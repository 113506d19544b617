//! Linear regression through the origin for a value that consists of parts with known shares. The regression assumes
//! that the scatter of a value is proportional to the value. Intervals use Student's t, and outlying rows have less
//! weight (P. Huber, *Robust Statistics*, 1981).

use super::robust::{dot, gram, inverse, weighted};
use crate::number::median;
use crate::student::t95;

/// Number of rounds of the fit; each round computes the weights of the rows again. The weights of a round are computed
/// from the expected values and the residuals of the round before.
const ROUNDS: usize = 20;
/// Minimum expected value, as a share of the mean of `y`. A row with a small expected value has a large weight, so the
/// minimum keeps every weight finite.
const MIN_EXPECTED_SHARE: f64 = 0.05;
/// Number of standard deviations beyond which a row gets less weight. The limit is higher than Huber's 1.345, because
/// the regressions of loadline have few rows.
const OUTLIER_SD: f64 = 2.0;
/// Standard deviation of a normal distribution, divided by its median absolute deviation.
const MAD_TO_SD: f64 = 1.4826;

/// A fitted coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Estimated coefficient.
    pub value: f64,
    /// Half-width of the coefficient's 95 % interval.
    pub half: f64,
}

/// Regresses `y` on the columns of `rows` and returns one coefficient per column. If a value of `y` is the mean of
/// several measured values, `sizes` gives their number. Returns `None` if the columns depend on each other, or if fewer
/// than two degrees of freedom are left.
pub fn proportional(y: &[f64], rows: &[Vec<f64>], sizes: &[f64]) -> Option<Vec<Coefficient>> {
    let columns = rows.first()?.len();
    let freedom = y.len().checked_sub(columns).filter(|left| *left >= 2)?;
    let floor = MIN_EXPECTED_SHARE * y.iter().sum::<f64>().abs() / y.len() as f64;
    let (mut fit, mut off) = (weighted(y, rows, sizes)?, Vec::new());
    let mut weights = sizes.to_vec();
    for _ in 0..ROUNDS {
        let expected: Vec<f64> = rows.iter().map(|row| dot(row, &fit).abs().max(floor)).collect();
        let sure: Vec<f64> =
            expected.iter().zip(sizes).map(|(e, size)| size / (e * e).max(f64::MIN_POSITIVE)).collect();
        off = y.iter().zip(rows).zip(&sure).map(|((y, row), w)| (y - dot(row, &fit)) * w.sqrt()).collect::<Vec<f64>>();
        let most = OUTLIER_SD * scale(&off, freedom);
        weights = sure.iter().zip(&off).map(|(w, off)| w * (most / off.abs().max(1e-300)).min(1.0)).collect();
        fit = weighted(y, rows, &weights)?;
    }
    // A residual beyond `OUTLIER_SD` standard deviations counts as a residual of `OUTLIER_SD` standard deviations.
    let most = OUTLIER_SD * scale(&off, freedom);
    let near: f64 = off.iter().filter(|off| off.abs() <= most).count() as f64;
    let squares: f64 = off.iter().map(|off| off.abs().min(most).powi(2)).sum();
    let variance = squares / freedom as f64 * (y.len() as f64 / near.max(1.0));
    let spread = inverse(gram(rows, &weights))?;
    let told = fit.iter().enumerate().map(|(at, value)| {
        let half = t95(freedom as f64) * (variance * spread[at][at]).sqrt();
        Coefficient { value: *value, half }
    });
    let told: Vec<Coefficient> = told.collect();
    told.iter().all(|told| told.value.is_finite() && told.half.is_finite()).then_some(told)
}

/// Returns the standard deviation of residuals, estimated from their median absolute value. `freedom` is the number of
/// degrees of freedom.
fn scale(off: &[f64], freedom: usize) -> f64 {
    let deviation = median(off.iter().map(|off| off.abs()).collect()).unwrap_or(0.0);
    (MAD_TO_SD * deviation * (off.len() as f64 / freedom as f64).sqrt()).max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_parts_have_intervals_of_zero_width() {
        let rows = vec![vec![0.5, 0.5], vec![0.75, 0.25], vec![0.25, 0.75], vec![0.5, 0.5]];
        let y: Vec<f64> = rows.iter().map(|row| 100.0 * row[0] + 500.0 * row[1]).collect();
        let told = proportional(&y, &rows, &[1.0; 4]).unwrap();
        assert!((told[0].value - 100.0).abs() < 1e-6 && (told[1].value - 500.0).abs() < 1e-6, "{told:?}");
        assert!(told.iter().all(|told| told.half < 1e-6), "{told:?}");
    }

    #[test]
    fn an_outlying_row_changes_the_fit_little() {
        let rows: Vec<Vec<f64>> = (0..9).map(|i| [[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]][i % 3].to_vec()).collect();
        let noise = |i: usize| [1.01, 0.99, 1.005][i % 3] * if i < 3 { 0.99 } else { 1.0 };
        let mut y: Vec<f64> = (0..9).map(|i| (100.0 * rows[i][0] + 500.0 * rows[i][1]) * noise(i)).collect();
        y[7] *= 3.0;
        let told = proportional(&y, &rows, &[1.0; 9]).unwrap();
        assert!((told[0].value - 100.0).abs() < 15.0 && (told[1].value - 500.0).abs() < 20.0, "{told:?}");
    }

    #[test]
    fn dependent_columns_and_few_rows_give_none() {
        let same = vec![vec![0.5, 0.5]; 6];
        assert_eq!(proportional(&[1.0; 6], &same, &[1.0; 6]), None);
        assert_eq!(proportional(&[1.0; 3], &[vec![0.1, 0.9], vec![0.9, 0.1], vec![0.5, 0.5]], &[1.0; 3]), None);
        assert_eq!(proportional(&[], &[], &[]), None);
        assert_eq!(proportional(&[f64::NAN; 4], &[vec![1.0], vec![1.0], vec![1.0], vec![1.0]], &[1.0; 4]), None);
    }
}
