//! Further levers (changes that an experiment makes), in addition to the usual levers. The experiment tries the lever
//! with more source addresses before the usual levers, and the lever with fewer CPUs after them. The experiment tries
//! the lever with more load either before or after the usual levers.

use run::{CPU_COUNT_LEVER, LOAD_LEVER, SOURCES_LEVER};

use super::choose::{allowed, load_pair, switchable};
use super::lever_targets::lever_targets;
use super::operating_point::OperatingPoint;
use crate::levers::{LEVERS, Lever};
use crate::{Lab, TargetSetup};

/// Usual time for a load test with fewer CPUs, seconds. The time covers 18 time slots of 150 ms and the start of the
/// load. Another 1.5 s are a reserve, because the time slots of the other levers may end late.
const COUNT_S: f64 = 4.6;
/// Shortest time for the load test with fewer CPUs, seconds.
const MIN_COUNT_S: f64 = 3.1;
/// Share of the experiment's remaining time for the load test with fewer CPUs, if that is more time than [`COUNT_S`].
const COUNT_SHARE: f64 = 0.2;
/// Factor by which the planned time of the time slots is multiplied. The time slots may take longer than planned,
/// because agents must start first.
const SLOTS_MARGIN: f64 = 1.1;
/// Minimum time that must remain for time slots of other levers, seconds. If less would remain, there is no load test
/// with fewer CPUs.
const MIN_SLOTS_S: f64 = 3.5;

/// Reason why a further lever (change of the experiment) was not used.
pub(super) const NO_TIME: &str = "the other levers left no time for it: give a longer --budget";

/// Returns the lever that adds load, if this lever tests the verdict (the named bottleneck). The lever tests every
/// verdict about a full resource, as long as a larger load may still raise throughput. If a counter shows that
/// throughput has reached its limit, and the verdict names an upstream service, another lever tests the verdict.
pub(super) fn more_load(lab: &Lab<'_>) -> Option<&'static Lever> {
    row(LOAD_LEVER).filter(|row| tests_verdict(lab, row) || judge::prove::may_be_unsaturated(&lab.run))
}

/// Returns the lever that adds source addresses, if a limit per address could also explain the verdict and more
/// addresses exist. If throughput has stopped growing with the load, an even larger load would show nothing new, so
/// more addresses are the better test.
pub(super) fn more_sources(lab: &Lab<'_>, setup: &TargetSetup, point: &OperatingPoint) -> Option<&'static Lever> {
    let can = |row: &&Lever| load_pair(lab, setup, row, &point.load(setup)).is_ok();
    row(SOURCES_LEVER).filter(|_| judge::prove::may_be_rate_limit(&lab.run)).filter(can)
}

/// Returns the lever that takes whole CPUs, and the load for it with at most `most` connections. The error gives the
/// reason why the lever cannot be used.
pub(super) fn fewer_cpus(
    lab: &Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
    most: u32,
) -> Result<(&'static Lever, OperatingPoint), String> {
    let row = row(CPU_COUNT_LEVER).ok_or("there is no such lever")?;
    let targets = lever_targets(lab, setup);
    allowed(lab, row)?;
    switchable(lab, setup, (row, operating_point), &targets)?;
    let cpus = u32::try_from(targets.server_cpus.len()).unwrap_or(u32::MAX);
    Ok((row, operating_point.for_cpus(cpus, most)?))
}

/// Returns true if throughput may depend on the speed of the server's CPUs, so that a load test with fewer CPUs is
/// useful. If the effect of the CPUs' speed was not measured, the result follows from the verdict (the named
/// bottleneck).
pub(super) fn count_matters(lab: &Lab<'_>) -> bool {
    judge::prove::may_follow_server_cpu(&lab.run)
        .unwrap_or_else(|| row(CPU_COUNT_LEVER).is_some_and(|row| tests_verdict(lab, row)))
}

/// Checks that enough time is left for the load test with fewer CPUs.
pub(super) fn enough_time(left_s: f64) -> Result<(), String> {
    match left_s >= MIN_COUNT_S {
        true => Ok(()),
        false => Err(NO_TIME.into()),
    }
}

/// Returns the time for the load test with fewer CPUs, seconds. Returns 0 if the time slots of the other levers (at
/// least `slots_s`) leave less than [`MIN_COUNT_S`]. The time slots come first, because a load test with fewer CPUs
/// shows nothing if the effect of the CPUs' speed is unknown.
pub(super) fn count_seconds(left_s: f64, slots_s: f64) -> f64 {
    let rest_s = left_s - needed_for_slots(slots_s);
    if rest_s >= MIN_COUNT_S { COUNT_S.max(left_s * COUNT_SHARE).min(rest_s) } else { 0.0 }
}

/// Returns the time to reserve for turns with more load or more source addresses, seconds. The result is slightly more
/// than `least_s`, the minimum for the turns, because the time slots before the turns may end late. Returns 0 if too
/// little time for the time slots of the other levers would remain.
pub(super) fn turns_seconds(left_s: f64, slots_s: f64, least_s: f64) -> f64 {
    let least_s = SLOTS_MARGIN * least_s;
    if left_s - least_s >= needed_for_slots(slots_s) { least_s } else { 0.0 }
}

fn needed_for_slots(slots_s: f64) -> f64 {
    MIN_SLOTS_S.max(SLOTS_MARGIN * slots_s)
}

fn row(id: &str) -> Option<&'static Lever> {
    LEVERS.iter().find(|row| row.id == id)
}

fn tests_verdict(lab: &Lab<'_>, row: &Lever) -> bool {
    let verdict = &lab.run.findings.bottleneck;
    row.tests.contains(&verdict.id.as_str()) && verdict.waits_for.is_none()
}

/// Records the predicted effect of a further lever, if the effect can be predicted.
pub(super) fn predict(lab: &mut Lab<'_>, row: &Lever) {
    let Some(mut prediction) = judge::prove::predicted_further(&lab.run, row.id, row.planned) else { return };
    prediction.at = jiff::Timestamp::now().to_string();
    lab.run.findings.proof.iter_mut().for_each(|proof| proof.predictions.push(prediction.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::turns;

    #[test]
    fn the_trial_with_fewer_cpus_uses_only_time_that_the_other_slots_leave() {
        let count_seconds_of = |left_s| count_seconds(left_s, 0.5);
        assert_eq!((count_seconds_of(5.0), count_seconds_of(9.0), count_seconds_of(60.0)), (0.0, COUNT_S, 12.0));
        assert_eq!((count_seconds_of(6.0), count_seconds_of(7.0)), (0.0, 3.5), "a short trial is better than none");
        assert_eq!((turns_seconds(8.4, 0.5, 4.5), turns_seconds(8.6, 0.5, 4.5)), (0.0, SLOTS_MARGIN * 4.5));
    }

    /// The time slots ended 20 ms late. An earlier version of loadline reserved exactly the shortest time for the
    /// turns, so the turns no longer fitted.
    #[test]
    fn turns_fit_their_reserved_time_although_the_slots_before_them_end_late() {
        for (response_s, overhead_s) in [(0.001, 0.0), (0.04, 0.3), (0.2, 0.5)] {
            let reserved_s = turns_seconds(20.0, 0.5, turns::least_seconds(response_s, overhead_s));
            assert!(turns::pairs(response_s, reserved_s - 0.02, overhead_s).is_some(), "{response_s}: {reserved_s}");
        }
    }

    /// With responses of 0.13 s, the time slots of all levers except `fewer CPUs` need 7.3 s (the second argument). An
    /// earlier version of loadline left only 5.5 s for time slots that need 7.3 s.
    #[test]
    fn the_own_slots_of_a_slow_server_come_before_fewer_cpus() {
        assert_eq!(count_seconds(10.1, 7.3), 0.0);
        assert_eq!(count_seconds(14.0, 7.3), COUNT_S);
    }
}
