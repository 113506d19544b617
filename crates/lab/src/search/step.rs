//! One step of a search: its load plan and its load test. This module also checks that the server is alive.

use run::{Intensity, LoadPlan, Trial, TrialKind};

use super::{Conductor, StepTimes};
use crate::{LabError, Point};

/// Returns the load plan of one step: the plan of the run with `intensity`, the durations in `length` and a new random
/// seed. Removes threads without a connection, because they would only use CPU time.
pub(crate) fn plan(conductor: &dyn Conductor, intensity: Intensity, length: StepTimes) -> LoadPlan {
    let load = conductor.load().clone();
    let threads = match &intensity {
        Intensity::Closed { connections, .. } => load.threads.min(*connections),
        _ => load.threads,
    };
    // Every step gets its own random arrivals and think times. With the same random numbers, an unusual sequence would
    // repeat in all steps.
    let seed = load.seed.wrapping_add((conductor.run().trials.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let StepTimes { warmup_s, least_warmup_s, .. } = length;
    let duration_s = whole_periods(length.measure_s);
    LoadPlan { seed, intensity, threads, warmup_s, least_warmup_s, duration_s, ..load }
}

/// Period of CPU quotas, seconds: the default of the kernel, Docker and Kubernetes.
const QUOTA_PERIOD_S: f64 = 0.1;
/// Minimum number of whole periods in a measurement that is shortened. With at least three periods, shortening removes
/// less than a quarter of a measurement. In a search of 3 s, a measurement has fewer periods, so it keeps its length.
const MIN_PERIODS: f64 = 3.0;

/// Returns the length of a measurement of about `measure_s` seconds, shortened to a whole number of quota periods. A
/// server with a quota answers in bursts, one per period, and a period begins with the load. In an earlier version of
/// loadline, a measurement of 0.457 s always contained five bursts instead of 4.57. The measured rate was therefore 9 %
/// too high.
fn whole_periods(measure_s: f64) -> f64 {
    // Because of rounding errors, the number of periods may be slightly below a whole number.
    let periods = (measure_s / QUOTA_PERIOD_S + 1e-6).floor();
    if periods >= MIN_PERIODS { periods * QUOTA_PERIOD_S } else { measure_s }
}

/// Returns the seconds left until the end of a search or of the whole budget, whichever comes first.
pub(crate) fn left_s(conductor: &dyn Conductor, end_s: f64) -> f64 {
    (end_s - conductor.elapsed_s()).min(conductor.left_s())
}

/// Conducts one step of a search. Returns `None` and notes the reason if the generators of the step were lost, or if
/// additional generators could not start. The results of earlier steps remain valid.
pub(crate) fn conduct(
    conductor: &mut dyn Conductor,
    plan: LoadPlan,
    label: String,
    kind: TrialKind,
) -> Result<Option<Trial>, LabError> {
    let (within_us, is_first) = (judge::limits(conductor.run()).p99_us, conductor.run().trials.is_empty());
    let at = label.clone();
    match conductor.trial(plan, &Point { label, kind, within_us, ..Point::default() }) {
        Ok(trial) => Ok(Some(trial)),
        Err(LabError::Lost { label, why }) => {
            conductor.note(format!("the search ended at {label:?} because its generators were lost: {why}"));
            Ok(None)
        }
        Err(error) if error.is_of_generators() && !is_first => {
            conductor.note(format!("the search ended at {at:?}, for which no generator could start: {error}"));
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Returns true if the server is alive. A dead server is reported, which ends the search.
pub(crate) fn is_alive(conductor: &mut dyn Conductor) -> Result<bool, LabError> {
    match conductor.ask() {
        Ok(_) => Ok(true),
        Err(why) => conductor.gone(&why).map(|()| false),
    }
}

#[cfg(test)]
mod tests {
    use super::whole_periods;

    #[test]
    fn a_window_has_a_whole_number_of_quota_periods_unless_it_is_short() {
        for (given, length) in [(0.457, 0.4), (1.1455, 1.1), (0.1 + 0.2, 0.3), (0.39, 0.3), (0.296, 0.296)] {
            assert!((whole_periods(given) - length).abs() < 1e-9, "{given}");
        }
    }
}
