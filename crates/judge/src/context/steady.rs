//! Tests whether the completed rate of a load has settled. The crate `lab` uses this test while a load warms up. The
//! series is the completed requests per second in intervals of a tenth of a second.
//!
//! A line is fitted to the later half of the series, but to at least [`LEAST`] and at most [`MOST`] intervals. The rate
//! is steady if the fitted line drifts by at most [`STILL_DRIFTS`] of the mean rate over the fitted intervals. The rate
//! is also steady if the drift may be noise. The drift may be noise if the 95 % interval of the slope contains zero. A
//! drift counts as possible noise only if it is at most [`NOISY_DRIFT`] or one standard deviation, too. A steady rate
//! must also have a coefficient of variation of at most [`VARIATION`], which a rate in bursts exceeds. A rate that is
//! always zero is not steady, because no request completes.

use run::Steady;

use crate::number::percent;
use crate::thresholds::{PLATEAU_KEPT, STILL_DRIFTS};
use stats::fit::linear;
use stats::{Sample, average};

/// Minimum number of intervals to which the line is fitted.
const LEAST: usize = 6;
/// Maximum number of intervals to which the line is fitted. The test for a steady rate leaves out all older intervals.
const MOST: usize = 20;
/// Maximum drift that may be noise, as a share of the mean. A rate that falls by more than this share of its mean is
/// not at a plateau.
const NOISY_DRIFT: f64 = 1.0 - PLATEAU_KEPT;
/// Maximum standard deviation, as a share of the mean. A rate that is 0 for half of the time has a standard deviation
/// equal to its mean.
const VARIATION: f64 = 0.5;

/// Tests whether a series of rates in equal intervals has settled, with the reason. The returned `warmup_s` is 0,
/// because only the caller knows the length of an interval.
pub fn steady(series: &[f64]) -> Steady {
    let clean: Vec<f64> = series.iter().copied().filter(|v| v.is_finite()).collect();
    if clean.len() < LEAST {
        let reason = format!("only {} intervals so far, {LEAST} are needed", clean.len());
        return Steady { too_short: true, reason, ..Steady::default() };
    }
    let (steady, reason) = answer(&clean);
    Steady { steady, reason, ..Steady::default() }
}

fn answer(series: &[f64]) -> (bool, String) {
    let take = (series.len() / 2).clamp(LEAST, MOST);
    let last = &series[series.len() - take..];
    let mean = average(last);
    if !mean.is_finite() || mean <= 0.0 {
        return (false, format!("nothing completed in the last {take} intervals"));
    }
    let variation = Sample::of(last).map_or(0.0, |sample| sample.sd / mean);
    let points: Vec<(f64, f64)> = last.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
    let (drift, within_noise) = drift(&points, mean);
    let settled = drift.abs() <= STILL_DRIFTS || (within_noise && drift.abs() <= NOISY_DRIFT.max(variation));
    let (drift, varied) = (percent(drift), percent(variation));
    let figures = match (settled, within_noise) {
        (false, true) => format!("the rate varied by {varied}, too much to tell if it drifted (by {drift})"),
        (_, true) => format!("the rate drifted by {drift} (within the noise) and varied by {varied}"),
        (_, false) => format!("the rate drifted by {drift} (beyond the noise) and varied by {varied}"),
    };
    (settled && variation <= VARIATION, format!("over the last {take} intervals {figures}"))
}

/// Returns the drift over all points as a share of the mean, and true if the slope's interval contains zero.
fn drift(points: &[(f64, f64)], mean: f64) -> (f64, bool) {
    let Some(line) = linear(points) else { return (0.0, true) };
    let slope = line.slope * (points.len() - 1) as f64 / mean;
    (slope, line.slope_interval.low <= 0.0 && line.slope_interval.high >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_with_noise_is_steady_and_a_ramp_is_not() {
        let level: Vec<f64> = (0..20).map(|i| 1000.0 + if i % 2 == 0 { 90.0 } else { -90.0 }).collect();
        assert!(steady(&level).steady, "{}", steady(&level).reason);
        let ramp: Vec<f64> = (0..20).map(|i| 100.0 * f64::from(i)).collect();
        assert!(!steady(&ramp).steady);
    }

    #[test]
    fn a_ramp_that_has_ended_is_forgotten() {
        let series: Vec<f64> = (0..40).map(|i| f64::from(i.min(15)) * 100.0).collect();
        assert!(steady(&series).steady, "{}", steady(&series).reason);
    }

    #[test]
    fn too_few_counts_zeros_and_bursts_are_not_steady() {
        assert!(!steady(&[]).steady && steady(&[1000.0; LEAST - 1]).too_short && !steady(&[0.0; LEAST]).too_short);
        assert!(!steady(&[5.0; 5]).steady);
        assert!(!steady(&[0.0; 50]).steady);
        let bursts: Vec<f64> = (0..20).map(|i| if i % 4 == 0 { 4000.0 } else { 0.0 }).collect();
        assert!(!steady(&bursts).steady);
    }

    /// The server stood still for a while. A standstill makes the rate unsteady, but no drift can be shown or excluded.
    #[test]
    fn a_drift_that_noise_hides_is_not_called_harmless() {
        let stalled = [750.0, 760.0, 740.0, 750.0, 755.0, 745.0, 900.0, 700.0, 950.0, 650.0, 100.0, 600.0];
        let found = steady(&stalled);
        assert!(!found.steady && !found.reason.contains("within the noise"), "{found:?}");
        assert!(found.reason.contains("too much to tell if it drifted"), "{found:?}");
    }

    #[test]
    fn small_counts_with_their_own_noise_are_steady() {
        let counts = [20.0, 30.0, 20.0, 10.0, 20.0, 30.0, 20.0, 20.0, 10.0, 20.0, 30.0, 20.0];
        assert!(steady(&counts).steady, "{}", steady(&counts).reason);
    }
}
