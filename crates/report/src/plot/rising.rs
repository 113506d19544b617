//! Computes the rising curve that is closest to a set of points, by the pool-adjacent-violators algorithm (Ayer et al.,
//! 1955) on the logarithm of y.

/// Returns the best-fitting curve through `points` that never falls. `points` must be in ascending order of x. Leaves
/// out points whose y is not positive.
pub(crate) fn rising(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut pools: Vec<Pool> = Vec::new();
    for (x, y) in points.iter().filter(|(x, y)| x.is_finite() && y.is_finite() && *y > 0.0) {
        let mut pool = Pool { from: *x, to: *x, sum: y.ln(), n: 1.0 };
        while let Some(before) = pools.pop_if(|before| before.mean() >= pool.mean()) {
            pool = Pool { from: before.from, to: pool.to, sum: before.sum + pool.sum, n: before.n + pool.n };
        }
        pools.push(pool);
    }
    pools.iter().flat_map(|pool| [(pool.from, pool.mean().exp()), (pool.to, pool.mean().exp())]).collect()
}

/// Neighbouring points at which the curve has the same value.
struct Pool {
    from: f64,
    to: f64,
    sum: f64,
    n: f64,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_part_becomes_its_geometric_mean() {
        let found = rising(&[(1.0, 1.0), (2.0, 8.0), (3.0, 2.0), (4.0, f64::NAN), (5.0, 9.0)]);
        let wanted = [(1.0, 1.0), (1.0, 1.0), (2.0, 4.0), (3.0, 4.0), (5.0, 9.0), (5.0, 9.0)];
        let close = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9;
        assert!(found.len() == wanted.len() && found.iter().zip(&wanted).all(close), "{found:?}");
    }

    #[test]
    fn the_curve_never_falls_and_no_points_give_none() {
        let points: Vec<(f64, f64)> = (1..200).map(|i| (f64::from(i), f64::from(1 + i * 37 % 101))).collect();
        let found = rising(&points);
        assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].1 + 1e-9 && pair[0].0 <= pair[1].0));
        assert!(rising(&[]).is_empty() && rising(&[(1.0, f64::INFINITY)]).is_empty());
    }
}
