//! Widening of an interval for changes of the machine that are slower than the run, judged by the changes that the run saw.
//!
//! On a shared machine the CPU time of a request wanders over seconds and minutes by about as much as over hours (flicker noise: its
//! Allan deviation is flat; D. W. Allan, *Proc. IEEE* 54, 1966). Two observations of a run therefore say how far its level may be from
//! that of the next run: the change of speed from window to window, and the distance between the rates at which the closed loop, which
//! came first, and the open loop found the server full. The part that any steady run shows of both is taken off.

use super::constraint::Constraint;
use super::estimate::CapacityEstimate;
use crate::moments::NORMAL_95;

/// Scatter of speeds between the windows of a steady machine, as a standard deviation of the logarithm.
const STEADY_SCATTER: f64 = 0.02;
/// Distance at which a closed and an open loop find one steady server full, in logarithm.
const STEADY_APART: f64 = 0.05;
/// Share of the observed change that is expected between runs, too. Of six runs on a machine whose capacities were 12 % apart, two
/// intervals held the median without this share and five with it.
const BETWEEN: f64 = 0.5;

/// Widens an interval by the slow change that the run saw. The interval of a steady run stays as it is.
pub(super) fn widened(found: CapacityEstimate, constraint: &Constraint) -> CapacityEstimate {
    let apart = constraint.full.map_or(0.0, |full| (constraint.saturation(found.rate, found.steep) / full).ln());
    let sd = BETWEEN * beyond(found.speeds, STEADY_SCATTER).hypot(beyond(apart, STEADY_APART));
    let wider = |side: f64| side.hypot(NORMAL_95 * sd).exp();
    CapacityEstimate {
        low: found.rate / wider((found.rate / found.low).ln()),
        high: found.rate * wider((found.high / found.rate).ln()),
        ..found
    }
}

/// Returns the part of a deviation that a steady machine does not explain; variances add up.
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
    fn a_steady_run_keeps_its_interval_and_a_wandering_one_does_not() {
        assert!((half(0.01, 1000.0) - 0.03).abs() < 1e-9, "{}", half(0.01, 1000.0));
        assert!((half(0.01, 1040.0) - 0.03).abs() < 1e-9, "a closed loop that is a little off");
        // 1.96 * 0.5 * sqrt(0.1^2 - 0.02^2), beside the 3 %.
        assert!((half(0.1, 1000.0) - 0.101).abs() < 0.002, "{}", half(0.1, 1000.0));
        // 1.96 * 0.5 * sqrt(ln(1.2)^2 - 0.05^2)
        assert!((half(0.01, 1200.0) - 0.174).abs() < 0.004, "{}", half(0.01, 1200.0));
    }
}
