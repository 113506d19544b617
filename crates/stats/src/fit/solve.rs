//! Least squares for three unknowns by the method of Levenberg and Marquardt. If an unknown leaves its bounds, it is
//! moved to the nearest bound.

/// A vector with three components.
pub(super) type V3 = [f64; 3];
/// A matrix of three rows and columns.
pub(super) type M3 = [V3; 3];

/// A function with three unknowns that is fitted to points.
pub(super) trait Problem {
    /// Returns the number of points.
    fn len(&self) -> usize;
    /// Returns the residual of point `i` at the unknowns `p`, and the derivatives of this residual with respect to the
    /// unknowns.
    fn at(&self, i: usize, p: V3) -> (f64, V3);
    /// Returns `p` after moving each unknown that is outside of its bounds to the nearest bound.
    fn bound(&self, p: V3) -> V3;
}

/// Finds the unknowns that minimise the sum of squared residuals, starting from a first guess. Returns the unknowns,
/// the sum and the normal matrix at the minimum, or `None` if the first guess gives no finite sum.
pub(super) fn minimise(problem: &impl Problem, first: V3) -> Option<(V3, f64, M3)> {
    const ROUNDS: usize = 200;
    let mut p = problem.bound(first);
    let (mut sum, mut normal, mut gradient) = normal(problem, p)?;
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let mut damped = normal;
        for (i, row) in damped.iter_mut().enumerate() {
            row[i] += damping * row[i].max(1e-12);
        }
        let Some(step) = inverse(damped).map(|inv| times(inv, gradient)) else { break };
        let next = problem.bound([p[0] - step[0], p[1] - step[1], p[2] - step[2]]);
        match self::normal(problem, next) {
            Some((s, n, g)) if s <= sum => {
                let gain = (sum - s) / sum.max(f64::MIN_POSITIVE);
                (p, sum, normal, gradient) = (next, s, n, g);
                damping = (damping / 5.0).max(1e-12);
                if gain < 1e-14 {
                    break;
                }
            }
            _ if damping > 1e12 => break,
            _ => damping *= 4.0,
        }
    }
    Some((p, sum, normal))
}

fn normal(problem: &impl Problem, p: V3) -> Option<(f64, M3, V3)> {
    let (mut sum, mut m, mut g) = (0.0, [[0.0; 3]; 3], [0.0; 3]);
    for i in 0..problem.len() {
        let (r, d) = problem.at(i, p);
        sum += r * r;
        for a in 0..3 {
            g[a] += d[a] * r;
            for b in 0..3 {
                m[a][b] += d[a] * d[b];
            }
        }
    }
    let finite = f64::is_finite(sum) && m.iter().flatten().chain(&g).all(|v| v.is_finite());
    finite.then_some((sum, m, g))
}

/// Inverts a matrix. Returns `None` if the inverse is not finite.
pub(super) fn inverse(m: M3) -> Option<M3> {
    let minor = |a: usize, b: usize, c: usize, d: usize| m[a][b] * m[c][d] - m[a][d] * m[c][b];
    let adjugate = [
        [minor(1, 1, 2, 2), -minor(0, 1, 2, 2), minor(0, 1, 1, 2)],
        [-minor(1, 0, 2, 2), minor(0, 0, 2, 2), -minor(0, 0, 1, 2)],
        [minor(1, 0, 2, 1), -minor(0, 0, 2, 1), minor(0, 0, 1, 1)],
    ];
    let determinant = m[0][0] * adjugate[0][0] + m[0][1] * adjugate[1][0] + m[0][2] * adjugate[2][0];
    let inverse = adjugate.map(|row| row.map(|v| v / determinant));
    inverse.iter().flatten().all(|v| v.is_finite()).then_some(inverse)
}

fn times(m: M3, v: V3) -> V3 {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        let m = [[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 5.0]];
        let inv = inverse(m).unwrap();
        for (i, row) in m.iter().enumerate() {
            let product = times([0, 1, 2].map(|c| [inv[0][c], inv[1][c], inv[2][c]]), *row);
            product.iter().enumerate().for_each(|(j, v)| assert!((v - f64::from(u8::from(i == j))).abs() < 1e-12));
        }
        assert!(inverse([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]]).is_none());
    }
}
