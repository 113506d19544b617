//! The Universal Scalability Law of N. Gunther: X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)).
//!
//! Here lambda is the throughput of one client, and sigma is the share of the work that is serial (contention). The
//! cost of keeping workers consistent (coherency) is kappa. If kappa is above zero, the curve has a peak at sqrt((1 -
//! sigma) / kappa). A fit needs at least four points that span at least a factor of two in N. Source: N. Gunther,
//! *Guerrilla Capacity Planning* (2007).

use super::solve::{Problem, V3, inverse, minimise};
use crate::Interval;
use crate::moments::mean_and_squares;
use crate::number::{finite, positive, ratio};
use crate::student::t95;

/// Returns the throughput by the Universal Scalability Law at a concurrency of `n`.
pub fn usl_rate([lambda, sigma, kappa]: [f64; 3], n: f64) -> f64 {
    lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

/// A fitted Universal Scalability Law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Throughput of one client in requests per second.
    pub lambda: f64,
    /// Share of the work that is serial (contention), from 0 to 1.
    pub sigma: f64,
    /// Cost of keeping workers consistent (coherency), 0 or above.
    pub kappa: f64,
    /// 95 % intervals of lambda, sigma and kappa, in this order; `None` if the points do not determine the intervals.
    pub intervals: Option<[Interval; 3]>,
    /// Share of the variance of the throughput that the Universal Scalability Law explains, 0 to 1. The field `r2` has
    /// no meaning in a fit by [`usl_of_shares`].
    pub r2: f64,
    /// Number of points that were fitted.
    pub points: usize,
}

impl Usl {
    /// Returns the throughput of the fitted scalability law at a concurrency of `n`.
    pub fn at(&self, n: f64) -> f64 {
        usl_rate([self.lambda, self.sigma, self.kappa], n)
    }

    /// Returns the concurrency at which the throughput is highest, or `None` if there is no peak below a concurrency of
    /// one million.
    pub fn peak(&self) -> Option<f64> {
        let n = positive(((1.0 - self.sigma) / positive(self.kappa)?).sqrt())?;
        (n < 1e6).then_some(n)
    }
}

/// Points to which the Universal Scalability Law is fitted, and the kind of their errors.
struct Points {
    /// Concurrency of each point, and its throughput divided by the largest throughput.
    points: Vec<(f64, f64)>,
    /// True if the error of a point is proportional to its throughput. False if the errors of all points have equal
    /// variance.
    relative: bool,
}

impl Problem for Points {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn at(&self, i: usize, p: V3) -> (f64, V3) {
        let (n, x) = self.points[i];
        let d = 1.0 + p[1] * (n - 1.0) + p[2] * n * (n - 1.0);
        let f = p[0] * n / d;
        let w = if self.relative { 1.0 / x } else { 1.0 };
        (w * (f - x), [n / d, -f * (n - 1.0) / d, -f * n * (n - 1.0) / d].map(|slope| w * slope))
    }

    fn bound(&self, p: V3) -> V3 {
        [p[0].max(1e-9), p[1].clamp(0.0, 1.0), p[2].max(0.0)]
    }
}

/// Fits the Universal Scalability Law to `(concurrency, throughput)` points. Returns `None` for fewer than 4 usable
/// points, or if the largest concurrency is less than twice the smallest.
pub fn usl(points: &[(f64, f64)]) -> Option<Usl> {
    fitted(points, false)
}

/// Fits the Universal Scalability Law with errors proportional to the throughput, so small values have as much weight
/// as large ones. In this fit, the field `r2` is meaningless.
pub fn usl_of_shares(points: &[(f64, f64)]) -> Option<Usl> {
    fitted(points, true)
}

fn fitted(points: &[(f64, f64)], relative: bool) -> Option<Usl> {
    let usable: Vec<(f64, f64)> =
        points.iter().copied().filter(|(n, x)| *n >= 1.0 && n.is_finite() && positive(*x).is_some()).collect();
    let largest = usable.iter().map(|(_, x)| *x).reduce(f64::max)?;
    let (low, high) = usable.iter().fold((f64::MAX, 0.0_f64), |(l, h), (n, _)| (l.min(*n), h.max(*n)));
    if usable.len() < 4 || high < 2.0 * low {
        return None;
    }
    let scaled = Points { points: usable.iter().map(|(n, x)| (*n, x / largest)).collect(), relative };
    let lambda = scaled.points.iter().map(|(n, x)| x / n).fold(0.0, f64::max);
    let starts = [[lambda, 0.05, 1e-4], [lambda, 0.5, 0.0], [lambda, 0.0, 1e-2]];
    let tried = starts.into_iter().filter_map(|first| minimise(&scaled, first));
    let (p, sum, normal) = tried.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let n = scaled.len();
    let (_, total) = mean_and_squares(&scaled.points.iter().map(|(_, x)| *x).collect::<Vec<_>>());
    let intervals = (n > 3).then(|| intervals(p, sum / (n - 3) as f64, normal, n - 3, largest)).flatten();
    Some(Usl {
        lambda: finite(p[0] * largest)?,
        sigma: p[1],
        kappa: p[2],
        intervals,
        r2: ratio(sum, total).map_or(1.0, |s| (1.0 - s).clamp(0.0, 1.0)),
        points: n,
    })
}

fn intervals(p: V3, variance: f64, normal: [V3; 3], freedom: usize, scale: f64) -> Option<[Interval; 3]> {
    let covariance = inverse(normal)?;
    let t = t95(freedom as f64);
    let around = |i: usize, scale: f64, least: f64| {
        let half = t * (variance * covariance[i][i].max(0.0)).sqrt();
        Some(Interval { low: finite(((p[i] - half) * scale).max(least))?, high: finite((p[i] + half) * scale)? })
    };
    Some([around(0, scale, 0.0)?, around(1, 1.0, 0.0)?, around(2, 1.0, 0.0)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
    use nalgebra::{Dyn, Matrix, OMatrix, OVector, Owned, U3, Vector3};

    const N: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

    fn points(p: V3, noise: f64) -> Vec<(f64, f64)> {
        let wobble = |i: usize| 1.0 + noise * [1.0, -0.7, 0.3, -1.0, 0.8][i % 5];
        N.iter().enumerate().map(|(i, n)| (*n, usl_rate(p, *n) * wobble(i))).collect()
    }

    #[test]
    fn exact_points_give_the_parameters_of_the_law() {
        for p in [[1000.0, 0.05, 0.0002], [50.0, 0.3, 0.0], [9000.0, 0.0, 0.01]] {
            let law = usl(&points(p, 0.0)).unwrap();
            assert!((law.lambda / p[0] - 1.0).abs() < 1e-4, "{law:?}");
            assert!((law.sigma - p[1]).abs() < 1e-4 && (law.kappa - p[2]).abs() < 1e-5, "{law:?}");
            assert!(law.r2 > 0.999_999);
        }
    }

    struct Oracle {
        points: Vec<(f64, f64)>,
        p: Vector3<f64>,
    }

    impl LeastSquaresProblem<f64, Dyn, U3> for Oracle {
        type ResidualStorage = Owned<f64, Dyn>;
        type JacobianStorage = Owned<f64, Dyn, U3>;
        type ParameterStorage = Owned<f64, U3>;

        fn set_params(&mut self, x: &Vector3<f64>) {
            self.p = *x;
        }

        fn params(&self) -> Vector3<f64> {
            self.p
        }

        fn residuals(&self) -> Option<OVector<f64, Dyn>> {
            let p = [self.p[0], self.p[1], self.p[2]];
            Some(OVector::<f64, Dyn>::from_iterator(
                self.points.len(),
                self.points.iter().map(|(n, x)| usl_rate(p, *n) - x),
            ))
        }

        fn jacobian(&self) -> Option<Matrix<f64, Dyn, U3, Owned<f64, Dyn, U3>>> {
            let p = [self.p[0], self.p[1], self.p[2]];
            let scaled = Points { points: self.points.clone(), relative: false };
            let rows: Vec<f64> = (0..self.points.len()).flat_map(|i| scaled.at(i, p).1).collect();
            Some(OMatrix::<f64, Dyn, U3>::from_row_slice(&rows))
        }
    }

    #[test]
    fn noisy_points_give_the_parameters_that_a_library_finds() {
        for p in [[1.0, 0.05, 0.0002], [0.2, 0.2, 0.001]] {
            let noisy = points(p, 0.03);
            let ours = usl(&noisy).unwrap();
            let problem = Oracle { points: noisy, p: Vector3::new(p[0], p[1], p[2]) };
            let (theirs, _) = LevenbergMarquardt::new().minimize(problem);
            assert!((ours.lambda / theirs.p[0] - 1.0).abs() < 1e-3, "{ours:?} {:?}", theirs.p);
            assert!((ours.sigma - theirs.p[1]).abs() < 1e-3, "{ours:?} {:?}", theirs.p);
            assert!((ours.kappa - theirs.p[2]).abs() < 1e-4, "{ours:?} {:?}", theirs.p);
        }
    }

    #[test]
    fn too_few_or_unusable_points_give_none() {
        assert!(usl(&[(1.0, 1.0), (2.0, 2.0), (4.0, 3.0)]).is_none());
        assert!(usl(&[(8.0, 1.0); 6]).is_none());
        assert!(usl(&[(f64::NAN, 1.0), (2.0, 0.0), (4.0, -1.0), (8.0, f64::INFINITY)]).is_none());
    }
}
