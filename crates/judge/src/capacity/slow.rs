//! What a run cannot see of a machine that changes more slowly than the run lasts, judged by what it saw of change.
//!
//! On a shared machine the time that a request takes of a CPU wanders over seconds and over minutes by about as much as over
//! hours (flicker: its Allan deviation is flat; D. W. Allan, *Proc. IEEE* 54 (1966)). So two things that a run saw say how far its
//! own level may be from that of the next run: how much the speed changed from window to window, and how far apart the closed
//! loop, which came first, and the open loop found the server full. What any steady run shows of both is taken off.

use super::asked::Asked;
use super::estimate::Estimate;
use crate::sample::NORMAL_95;

/// Scatter of speeds that windows of a steady machine are given, as a standard deviation of the logarithm.
const STEADY_SCATTER: f64 = 0.02;
/// How far apart a closed and an open loop find the same steady server full, in logarithm.
const STEADY_APART: f64 = 0.05;
/// Share of what was seen that is thought to be between runs too. Of six runs on a machine whose capacities were 12 % apart, 2
/// intervals held the median without it, and 5 with it.
const BETWEEN: f64 = 0.5;

/// The interval made as wide as what the run saw of slow change asks for; that of a steady run stays.
pub(super) fn widened(found: Estimate, asked: &Asked) -> Estimate {
    let apart = asked.full.map_or(0.0, |full| (asked.saturation(found.rate, found.steep) / full).ln());
    let sd = BETWEEN * beyond(found.speeds, STEADY_SCATTER).hypot(beyond(apart, STEADY_APART));
    let wider = |side: f64| side.hypot(NORMAL_95 * sd).exp();
    Estimate {
        low: found.rate / wider((found.rate / found.low).ln()),
        high: found.rate * wider((found.high / found.rate).ln()),
        ..found
    }
}

/// What of a deviation is more than a steady one explains, as variances go.
fn beyond(deviation: f64, steady: f64) -> f64 {
    (deviation * deviation - steady * steady).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::asked::What;

    fn half(speeds: f64, full: f64) -> f64 {
        let found = Estimate { rate: 1000.0, low: 970.0, high: 1030.0, steep: 1e6, speeds };
        let asked = Asked { what: What::Share { allowed: 0.01, limit_s: 0.1 }, full: Some(full) };
        widened(found, &asked).precision()
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
