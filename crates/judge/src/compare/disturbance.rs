//! Adjustment of alternating windows for the CPU time that other programs took during these windows.
//!
//! Another program on the machine uses the server's caches and CPUs, so each request costs the server more CPU time.
//! Other programs run in bursts, which by chance disturb the windows of one server or of the other. Each figure is
//! therefore compared at an equal CPU use of other programs. For this comparison, a straight line is fitted to the
//! windows of each side: the figure's logarithm as a function of other programs' CPU use. The fitted lines of both
//! sides have one common slope (analysis of covariance; R. Fisher, *Statistical Methods for Research Workers*, 4th
//! edition, 1932). The order of both servers' windows is random, so bursts of other programs favour neither server.
//!
//! A server may itself cause the CPU use of other programs, for example through a process that loadline does not
//! follow. If other programs certainly took more CPU time in one side's windows, the whole adjustment is therefore
//! added to the standard error.

use super::observations::{Cell, Observation, Pairing, Uncertainty};
use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};
use stats::student::two_sided;
use stats::two_means::welch;
use stats::{Sample, average};

/// Fitted line of a figure's logarithm against the CPU time of other programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Disturbance {
    /// Growth of the figure's logarithm for each CPU that other programs use.
    pub(super) slope: f64,
    /// CPU use of other programs at which both sides are compared, in CPUs.
    centre: f64,
    /// Standard error that the adjustment adds to the difference between the sides.
    error: f64,
    /// Factor by which the other errors of the comparison grow, because the slope uses up one degree of freedom.
    fewer: f64,
}

impl Disturbance {
    /// Fits the line (the figure's logarithm against the CPU use of other programs) to the alternating windows of two
    /// live servers. Returns `None` if the windows do not alternate, or if there are several conditions. Also returns
    /// `None` if the slope of the line does not differ significantly from zero. Also returns `None` if a side has too
    /// few windows, or if the CPU use of other programs is unknown.
    pub(super) fn of(cells: &[Cell], pairing: Pairing) -> Option<Self> {
        let ([sides], Pairing::InTurns) = (cells, pairing) else { return None };
        if sides.iter().any(|side| side.len() < FEWEST_WINDOWS || side.iter().any(|one| !one.ln.is_finite())) {
            return None;
        }
        let [old, new] = [points(&sides[0])?, points(&sides[1])?];
        let sums = [&old, &new].map(|side| Sums::of(side));
        let sum = |of: fn(&Sums) -> f64| sums.iter().map(of).sum::<f64>();
        let (squares, slope) = (sum(|s| s.xx), sum(|s| s.xy) / sum(|s| s.xx));
        let windows = sum(|s| s.n);
        // The fit has three parameters: the mean of each side, and the slope.
        let freedom = windows - sums.len() as f64 - 1.0;
        let error = ((sum(|s| s.yy) - slope * sum(|s| s.xy)).max(0.0) / freedom / squares).sqrt();
        let certain = slope.is_finite() && two_sided(slope / error, freedom) < COMPARE_LEVEL;
        let apart = sums[1].x - sums[0].x;
        let by_the_server = if differ(&old, &new) { slope * apart } else { 0.0 };
        certain.then(|| Self {
            slope,
            centre: f64::midpoint(sums[0].x, sums[1].x),
            error: (error * apart).hypot(by_the_server),
            fewer: ((freedom + 1.0) / freedom).sqrt(),
        })
    }

    /// Returns the observations, adjusted to equal CPU use of other programs.
    pub(super) fn adjusted(&self, cells: &[Cell]) -> Vec<Cell> {
        let equal = |one: &Observation| {
            let beyond = one.others.map_or(0.0, |others| others - self.centre);
            Observation { ln: self.slope.mul_add(-beyond, one.ln), ..*one }
        };
        cells.iter().map(|cell| cell.each_ref().map(|side| side.iter().map(equal).collect())).collect()
    }

    /// Returns the uncertainty of the difference, widened by the errors of the adjustment. `adjusted` is the
    /// uncertainty that follows from the adjusted observations.
    pub(super) fn widened(&self, adjusted: Uncertainty) -> Uncertainty {
        Uncertainty { error: (adjusted.error * self.fewer).hypot(self.error), ..adjusted }
    }
}

/// Returns for each window the CPU use of other programs and the figure's logarithm. Returns `None` if the CPU use is
/// unknown for any window.
fn points(side: &[Observation]) -> Option<Vec<(f64, f64)>> {
    side.iter().map(|one| Some((one.others.filter(|others| others.is_finite())?, one.ln))).collect()
}

/// Returns true if other programs took significantly more CPU time in the windows of one side than in the windows of
/// the other side.
fn differ(old: &[(f64, f64)], new: &[(f64, f64)]) -> bool {
    let others = |side: &[(f64, f64)]| Sample::of(&side.iter().map(|(x, _)| *x).collect::<Vec<_>>());
    let Some((old, new)) = others(old).zip(others(new)) else { return false };
    let (error, freedom) = welch([old, new].map(|side| (side.error().powi(2), side.n - 1.0)));
    two_sided((new.mean - old.mean) / error, freedom) < COMPARE_LEVEL
}

/// Sums over the windows of a side: number of windows, mean of x, and sums of squares and products about the means. In
/// each window, x is the CPU use of other programs, and y is the figure's logarithm.
struct Sums {
    n: f64,
    x: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn of(points: &[(f64, f64)]) -> Self {
        let mean = |of: fn(&(f64, f64)) -> f64| average(&points.iter().map(of).collect::<Vec<_>>());
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
        Self { n: points.len() as f64, x, xx: sum(&|x, _| x * x), xy: sum(&|x, y| x * y), yy: sum(&|_, y| y * y) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::contrast::contrast;
    use stats::normal;

    fn window(turn: usize, others: f64, ln: f64) -> Observation {
        Observation { unit: 0, turn, others: Some(others), ln }
    }

    /// Returns ten windows of each of two servers. In the windows listed in `disturbed`, other programs use 0.5 CPUs,
    /// which raises the logarithm of the figure by 0.2. The logarithm of the second server's figure is higher than that
    /// of the first server by `apart`.
    fn cell(random: &mut fastrand::Rng, disturbed: [&[usize]; 2], apart: f64) -> Cell {
        [0, 1].map(|side| {
            let of = |turn: usize| {
                let others = if disturbed[side].contains(&turn) { 0.5 } else { 0.0 } + 0.01 * random.f64();
                window(turn, others, 0.4 * others + apart * side as f64 + 0.005 * normal(random))
            };
            (0..10).map(of).collect()
        })
    }

    #[test]
    fn servers_are_compared_at_equal_disturbance() {
        let mut random = fastrand::Rng::with_seed(4);
        for disturbed in [[&[1, 5][..], &[3, 7, 8][..]], [&[0, 1, 2, 3][..], &[0, 1, 2, 3][..]]] {
            let cells = [cell(&mut random, disturbed, 0.03)];
            let line = Disturbance::of(&cells, Pairing::InTurns).unwrap();
            assert!((line.slope - 0.4).abs() < 0.05, "{line:?}");
            let apart = contrast(&cells, Pairing::InTurns).unwrap();
            assert!((apart.sides[1] - apart.sides[0] - 0.03).abs() < 0.008, "{apart:?}");
            assert!(apart.uncertainty.unwrap().error < 0.005, "{apart:?}");
            assert_eq!(Disturbance::of(&cells, Pairing::Kept), None);
        }
    }

    /// In this test, other programs use CPU time only in the new server's windows, so they may belong to the new
    /// server.
    #[test]
    fn a_server_that_may_cause_the_disturbance_is_not_excused_by_it() {
        let cells = [cell(&mut fastrand::Rng::with_seed(5), [&[2], &[0, 1, 2, 3, 4, 5, 6, 7, 8]], 0.0)];
        let apart = contrast(&cells, Pairing::InTurns).unwrap();
        assert!(apart.uncertainty.unwrap().error > 0.1, "{apart:?}");
    }

    #[test]
    fn without_an_effect_or_a_known_disturbance_nothing_is_adjusted() {
        let mut random = fastrand::Rng::with_seed(6);
        let even = |random: &mut fastrand::Rng| {
            [0, 1].map(|_| (0..12).map(|turn| window(turn, random.f64(), 0.01 * normal(random))).collect::<Vec<_>>())
        };
        let found = (0..200).filter(|_| Disturbance::of(&[even(&mut random)], Pairing::InTurns).is_some()).count();
        assert!(found <= 20, "the test of the slope errs in 5 of 100: {found} of 200");
        let mut unknown = cell(&mut random, [&[1, 5], &[3, 7]], 0.0);
        unknown[1][4].others = None;
        assert_eq!(Disturbance::of(&[unknown], Pairing::InTurns), None);
        let mut silent = cell(&mut random, [&[1, 5], &[3, 7]], 0.0);
        silent[0][2].ln = f64::NEG_INFINITY;
        assert_eq!(Disturbance::of(&[silent], Pairing::InTurns), None);
    }
}
