//! Widens the interval of a capacity, because a machine may change more slowly than one run can show. The more the
//! machine's speed changed during the run, the more the interval is widened. On a shared machine, the CPU time of a
//! request varies over seconds and minutes about as much as over hours. Variation that is equally large at all time
//! scales is flicker noise with a flat Allan deviation (D. W. Allan, Proceedings of the IEEE 54, 1966). The possible
//! difference between one run and the next is therefore predicted from two observations in one run. The first
//! observation is the change of the machine's speed between windows. The second observation is the difference between
//! the saturation rates of the closed loop, which came first, and of the open loop. Even a steady machine shows some
//! change, which is subtracted from each of the two observations.

use super::constraint::Constraint;
use super::estimate::CapacityEstimate;
use crate::moments::NORMAL_95;

/// Standard deviation of the logarithm of a steady machine's speed, from window to window.
const STEADY_SCATTER: f64 = 0.02;
/// Distance, in logarithms, between the saturation rates that a closed and an open loop measure on a steady machine.
const STEADY_APART: f64 = 0.05;
/// Expected change of the machine from run to run, divided by the change observed within one run. The measured
/// capacities of six runs on one machine differed by 12 %. With intervals that were not widened, only two of the six
/// runs had an interval that contained the median capacity. With intervals that were widened by the share 0.5, five of
/// the six runs had an interval that contained the median capacity.
const SHARE_BETWEEN_RUNS: f64 = 0.5;

/// Widens the interval of a capacity by the slow change of the machine that the run observed. If the machine was steady
/// during the run, the interval stays unchanged.
pub(super) fn widened(found: CapacityEstimate, constraint: &Constraint) -> CapacityEstimate {
    let apart = constraint.full.map_or(0.0, |full| (constraint.saturation(found.rate, found.steep) / full).ln());
    let sd = SHARE_BETWEEN_RUNS * beyond(found.speeds, STEADY_SCATTER).hypot(beyond(apart, STEADY_APART));
    let wider = |side: f64| side.hypot(NORMAL_95 * sd).exp();
    CapacityEstimate {
        low: found.rate / wider((found.rate / found.low).ln()),
        high: found.rate * wider((found.high / found.rate).ln()),
        ..found
    }
}

/// Returns the part of a standard deviation that exceeds the standard deviation of a steady machine. The result is the
/// root of the difference of the two variances.
fn beyond(deviation: f64, steady: f64) -> f64 {
    (deviation * deviation - steady * steady).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::constraint::ConstraintKind;

    fn half(speeds: f64, full: f64) -> f64 {
        let found = CapacityEstimate { rate: 1000.0, low: 970.0, high: 1030.0, steep: 1e6, speeds };
        let constraint = Constraint { kind: ConstraintKind::Share { allowed: 0.01, limit_s: 0.1 }, full: Some(full) };
        widened(found, &constraint).precision()
    }

    #[test]
    fn only_a_run_with_slow_changes_gets_a_wider_interval() {
        assert!((half(0.01, 1000.0) - 0.03).abs() < 1e-9, "{}", half(0.01, 1000.0));
        assert!((half(0.01, 1040.0) - 0.03).abs() < 1e-9, "a closed loop that is a little off");
        // Expected half-width: 1.96 * 0.5 * sqrt(0.1^2 - 0.02^2), combined with the interval's own 3 %.
        assert!((half(0.1, 1000.0) - 0.101).abs() < 0.002, "{}", half(0.1, 1000.0));
        // Expected half-width: 1.96 * 0.5 * sqrt(ln(1.2)^2 - 0.05^2), combined with the interval's own 3 %.
        assert!((half(0.01, 1200.0) - 0.174).abs() < 0.004, "{}", half(0.01, 1200.0));
    }
}
