//! Uses levers under an offered rate of requests. A lever is a temporary change that an experiment makes, such as
//! slowing a CPU. Only one lever is on at a time, with a dose (slowdown) that does not overload the server. Time slots
//! are so long that the queue of one time slot is empty before the next one is measured. One of the levers changes the
//! offered rate itself.

use judge::prove::{AtRate, RATE, block, fewest_requests, fewest_slots_at_a_rate, response_us};
use run::{Intensity, LeverSlots, LoadPlan, ProofMetric, ProofTrial, SlotHist, SlotPlan, Stage, Trial};

use super::operating_point::OperatingPoint;
use super::schedule::{RECOVERY_SLOTS, one_at_a_time};
use super::slots::{FIRST_S, Timetable, conduct, recovery};
use crate::levers::{Lever, LeverTargets, MAX_DOSE_AT_RATE};
use crate::{Lab, LabError, TargetSetup};

/// Dose as a share of the spare capacity of the fullest resource. With a dose of a third of the spare capacity, the
/// response time of a single queue (random arrivals and service times) grows by half.
const DOSE_SHARE: f64 = 1.0 / 3.0;
/// Minimum dose (share of its resource that a lever takes). The effect of a smaller dose would be lost in the noise.
const MIN_DOSE: f64 = 0.02;
/// Minimum ratio of completed to offered requests with which a server counts as keeping up.
const MIN_COMPLETED_RATIO: f64 = 0.97;
/// Number of standard deviations of a Poisson count by which the completed requests may be below the minimum ratio.
const MAX_DEVIATIONS: f64 = 3.0;
/// Maximum utilization of the server while an experiment slows a resource by a fixed share.
const MAX_UTILIZATION: f64 = 0.9;
/// Minimum length of a time slot, and length of the unmeasured part at its start, in relaxation times of the queue (see
/// [`relaxation_s`]).
const RELAXATION_TIMES: (f64, f64) = (6.0, 2.0);
/// Shortest and longest time slot, seconds.
const SLOT_RANGE_S: (f64, f64) = (0.1, 3.0);
/// Maximum length to which time slots are extended if there is spare time, seconds.
const MAX_STRETCHED_SLOT_S: f64 = 0.5;
/// Maximum number of blocks of time slots. In a block, each lever is on in one time slot, and in all other time slots
/// no lever is on.
const MAX_BLOCKS: usize = 48;
/// Maximum share of failed requests while the experiment slows resources.
const MAX_FAILED_SHARE: f64 = 0.01;

/// Returns the dose (slowdown) of the levers at an offered rate, or the reason why no dose is possible.
pub(super) fn dose(at: &AtRate) -> Result<f64, String> {
    if at.kept < MIN_COMPLETED_RATIO {
        return Err(format!(
            "of {:.0} requests a second that were offered {:.0} % were completed, so that the response time grows for as long as one \
             looks: give a lower --rate, or --connections",
            at.offered,
            at.kept * 100.0
        ));
    }
    let dose = ((1.0 - at.busy) * DOSE_SHARE).min(MAX_DOSE_AT_RATE);
    match dose < MIN_DOSE {
        true => Err(format!(
            "at this rate the server is {:.0} % busy: any useful slowdown would overload it; give a lower --rate",
            at.busy * 100.0
        )),
        false => Ok(dose),
    }
}

/// Checks that a lever with a fixed dose does not overload the server.
pub(super) fn leaves_room(at: &AtRate, row: &Lever) -> Result<(), String> {
    match at.busy / (1.0 - row.planned) < MAX_UTILIZATION {
        true => Ok(()),
        false => Err(format!(
            "it takes {:.0} %, which would overload a resource that is {:.0} % busy at this rate",
            row.planned * 100.0,
            at.busy * 100.0
        )),
    }
}

/// Returns the relaxation time of a queue, seconds: the time scale on which the queue's length settles after a change.
/// The queue has one server, and random arrivals and service times. The formula is `1 / (mu (1 - sqrt(rho))^2)`, with
/// the service rate mu and the utilization rho.
fn relaxation_s(at: &AtRate, dose: f64) -> f64 {
    let busy = (at.busy / (1.0 - dose)).min(0.98);
    at.alone_s / (1.0 - busy.sqrt()).powi(2)
}

/// Plans the time slots for a number of levers within `seconds`. The error gives the reason why no plan is possible.
fn slots(
    at: &AtRate,
    dose: f64,
    of: ProofMetric,
    levers: usize,
    least_s: f64,
    seconds: f64,
) -> Result<SlotPlan, String> {
    let relaxed_s = relaxation_s(at, dose);
    let wanted_s = (RELAXATION_TIMES.0 * relaxed_s).max(least_s).max(SLOT_RANGE_S.0);
    let room_s = seconds - FIRST_S;
    let blocks = (((room_s / wanted_s) as usize).saturating_sub(RECOVERY_SLOTS) / block(levers)).min(MAX_BLOCKS);
    if wanted_s > SLOT_RANGE_S.1 || blocks * block(levers) < fewest_slots_at_a_rate(levers) {
        return Err(format!(
            "{seconds:.0} s are too short for slots of {:.0} ms, in which a queue of the one before is gone: give a longer --budget or \
             a lower --rate",
            wanted_s * 1e3
        ));
    }
    let count = blocks * block(levers) + RECOVERY_SLOTS;
    let slot_s = (room_s / count as f64).clamp(wanted_s, wanted_s.max(MAX_STRETCHED_SLOT_S));
    let settle_s = (RELAXATION_TIMES.1 * relaxed_s).max(0.1 * slot_s);
    let requests = blocks as f64 * (slot_s - settle_s) * at.offered;
    if requests < fewest_requests(of) {
        let (name, needed) = (of.name(), fewest_requests(of));
        return Err(format!(
            "{requests:.0} requests with each lever are too few for {name}, which needs {needed:.0}: give a longer --budget or a lower \
             percentile as the objective (--p50)"
        ));
    }
    Ok(SlotPlan { first_s: FIRST_S, slot_s, settle_s, count: count as u32 })
}

/// Conducts one load test at the plan's rate. The error of the inner `Result` gives the reason why there is no result.
pub(super) fn trial(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    (operating_point, at, of): (&OperatingPoint, &AtRate, ProofMetric),
    rows: &[&'static Lever],
    targets: &LeverTargets,
    seconds: f64,
) -> Result<Result<ProofTrial, String>, LabError> {
    let least_s = rows.iter().map(|row| row.slot_s).fold(0.0, f64::max);
    let slots = match slots(at, targets.share, of, rows.len() + 1, least_s, seconds) {
        Ok(slots) => slots,
        Err(why) => return Ok(Err(why)),
    };
    let mut on = one_at_a_time(rows.len() + 1, slots.count, &mut fastrand::Rng::with_seed(setup.load.seed));
    let more = on.pop().unwrap_or_default();
    let load = with_steps(operating_point.load(setup), &slots, &more, 1.0 / (1.0 - targets.share));
    let table = Timetable { slots, on, load, label: format!("proof, {:.0} requests/s", at.offered) };
    let (trial, levers) = match conduct(lab, setup, rows, targets, table)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let speed = more.iter().map(|on| if *on { 1.0 - targets.share } else { 1.0 }).collect();
    let rate =
        LeverSlots { lever: RATE.into(), host: setup.host().name().into(), on: more, speed, ..LeverSlots::default() };
    Ok(proof_trial(&trial, of, slots, levers.into_iter().chain([rate]).collect(), at.offered))
}

/// Returns the load with a rate that is multiplied by `times` in the time slots in which `more` is true.
fn with_steps(load: LoadPlan, slots: &SlotPlan, more: &[bool], times: f64) -> LoadPlan {
    let Intensity::Open { rate, .. } = load.intensity else { return load };
    let stage = |seconds, rate| Stage { seconds, from: rate, to: rate };
    let steps = more.iter().map(|on| stage(slots.slot_s, if *on { rate * times } else { rate }));
    LoadPlan { stages: std::iter::once(stage(slots.first_s, rate)).chain(steps).collect(), ..load }
}

fn proof_trial(
    trial: &Trial,
    of: ProofMetric,
    slots: SlotPlan,
    levers: Vec<LeverSlots>,
    offered: f64,
) -> Result<ProofTrial, String> {
    let (completed_rate, slot_times) = (trial.measured.slot_rates.clone(), trial.measured.slot_times.clone());
    let (count, seen) = (slots.count as usize, completed_rate.len().min(slot_times.len()));
    if seen != count {
        return Err(format!("the load was seen in {seen} of {count} slots"));
    }
    let failed = judge::failed_share(trial).unwrap_or(1.0);
    if failed > MAX_FAILED_SHARE {
        return Err(format!("{:.1} % of the requests failed and have no response time", failed * 100.0));
    }
    check_no_backlog(&completed_rate, &slots, &levers, offered)?;
    let response = |slots: &[usize]| {
        let mut sum = SlotHist::default();
        slots.iter().for_each(|t| sum.merge(&slot_times[*t]));
        response_us(of, &sum)
    };
    let after = recovery(&levers, slot_times.len(), response);
    let label = trial.label.clone();
    Ok(ProofTrial { label, slot_s: slots.slot_s, levers, completed_rate, slot_times, after })
}

/// Refuses the results if fewer than [`MIN_COMPLETED_RATIO`] of the offered requests were completed under a lever. The
/// requests that remain in the queue would affect the results of the levers in the following time slots. The number of
/// completed requests varies like a Poisson count, so a shortfall that may be chance is not refused.
fn check_no_backlog(
    completed_rate: &[f64],
    slots: &SlotPlan,
    levers: &[LeverSlots],
    offered: f64,
) -> Result<(), String> {
    let seconds = slots.slot_s - slots.settle_s;
    for lever in levers {
        let with =
            lever.on.iter().zip(&lever.speed).zip(completed_rate).filter(|((on, _), rate)| **on && rate.is_finite());
        // While the lever that changes the rate is on, more requests are due.
        let due = |speed: f64| if lever.lever == RATE { offered / speed } else { offered };
        let (completed, expected) = with.fold((0.0, 0.0), |(completed, expected), ((_, speed), rate)| {
            (completed + rate * seconds, expected + due(*speed) * seconds)
        });
        if completed + MAX_DEVIATIONS * expected.sqrt() < MIN_COMPLETED_RATIO * expected {
            let percent = completed / expected * 100.0;
            return Err(format!(
                "with the lever {} only {percent:.0} % of the offered load completed: give a lower --rate",
                lever.lever
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offered: f64, busy: f64, alone_s: f64) -> AtRate {
        AtRate { offered, kept: 1.0, busy, alone_s, response_s: alone_s }
    }

    #[test]
    fn a_dose_leaves_room_or_there_is_none() {
        for (busy, expected) in [(0.1, MAX_DOSE_AT_RATE), (0.7, 0.1), (0.85, 0.05)] {
            assert!((dose(&at(100.0, busy, 0.001)).unwrap() - expected).abs() < 1e-9, "{busy}");
        }
        assert!(dose(&at(100.0, 0.96, 0.001)).unwrap_err().contains("overload"));
        let behind = AtRate { kept: 0.8, ..at(100.0, 0.5, 0.001) };
        assert!(dose(&behind).unwrap_err().contains("80 % were completed"));
    }

    #[test]
    fn slots_are_long_enough_to_drain_the_previous_queue_or_there_are_none() {
        let found = slots(&at(1500.0, 0.6, 0.0004), 0.13, ProofMetric::P99, 3, 0.06, 40.0).unwrap();
        assert!(
            found.end_s() <= 40.0 + 1e-9 && found.count as usize % block(3) == RECOVERY_SLOTS % block(3),
            "{found:?}"
        );
        assert!(found.slot_s >= 6.0 * relaxation_s(&at(1500.0, 0.6, 0.0004), 0.13), "{found:?}");
        let refused = |at: AtRate, of, seconds| slots(&at, 0.05, of, 3, 0.06, seconds).unwrap_err();
        assert!(refused(at(10.0, 0.9, 0.1), ProofMetric::P50, 40.0).contains("too short for slots"));
        assert!(refused(at(20.0, 0.5, 0.01), ProofMetric::P99, 60.0).contains("too few for p99"));
    }

    #[test]
    fn the_rate_steps_in_its_slots() {
        let intensity =
            Intensity::Open { rate: 100.0, arrival: run::Arrival::default(), max_connections: 10, pipeline: 1 };
        let slots = SlotPlan { first_s: 0.4, slot_s: 0.2, settle_s: 0.0, count: 3 };
        let load = with_steps(LoadPlan { intensity, ..LoadPlan::default() }, &slots, &[false, true, false], 1.25);
        let steps: Vec<(f64, f64)> = load.stages.iter().map(|stage| (stage.seconds, stage.to)).collect();
        assert_eq!(steps, [(0.4, 100.0), (0.2, 100.0), (0.2, 125.0), (0.2, 100.0)]);
        load.check().unwrap();
    }

    #[test]
    fn a_lever_that_left_a_queue_is_no_proof() {
        let on = vec![false, true, false, true];
        let lever = |name: &str| LeverSlots {
            lever: name.into(),
            on: on.clone(),
            speed: vec![1.0, 0.8, 1.0, 0.8],
            ..LeverSlots::default()
        };
        let slots = |slot_s| SlotPlan { first_s: 0.4, slot_s, settle_s: 0.5, count: 4 };
        assert!(check_no_backlog(&[100.0, 99.0, 100.0, 101.0], &slots(20.5), &[lever("server-cpu")], 100.0).is_ok());
        let short = check_no_backlog(&[100.0; 4], &slots(20.5), &[lever(RATE)], 100.0).unwrap_err();
        assert!(short.contains("80 %"), "{short}");
        // By chance, 94 of 100 requests may be completed, but not 18,800 of 20,000.
        let few =
            |seconds| check_no_backlog(&[100.0, 94.0, 100.0, 94.0], &slots(seconds), &[lever("server-cpu")], 100.0);
        assert!(few(1.0).is_ok() && few(100.5).unwrap_err().contains("94 %"));
    }
}
