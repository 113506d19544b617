//! Time slots for a server that completes few requests per second. The experiment uses only the lever of the suspected
//! bottleneck, in rounds. A lever is a temporary change that an experiment makes, such as slowing a CPU. A lever that
//! slows CPUs takes half of each CPU instead of a quarter.
//!
//! - One lever needs half as many time slots as three levers, so each time slot can be long enough for a few requests.
//! - If half of a CPU is taken instead of a quarter, the logarithm of throughput changes 2.4 times as much. A larger
//!   dose does not change the noise of a time slot. With a dose of one half instead of a quarter, an equally narrow
//!   confidence interval takes a sixth of the time. If requests are frequent, the small dose is better, because a
//!   resource that is slowed strongly may itself become the bottleneck.
//! - After each round, all time slots so far are judged, and the experiment ends once the result is certain. Each early
//!   judgement requires a clearer result than a single judgement at the end would require. All judgements together are
//!   therefore wrong no more often than a single judgement would be (`judge::prove::is_known`).

use run::number::prose::whole_rate;
use run::{LeverSlots, ProofTrial, SlotPlan};

use super::operating_point::OperatingPoint;
use super::schedule::{self, SPARSE, SPARSE_LONG, slots_of};
use super::slots::{FIRST_S, needs, one};
use super::untried;
use crate::levers::{Lever, LeverTargets};
use crate::{Lab, LabError, TargetSetup};

/// Share of a CPU, 0 to 1, that the experiment takes away.
const DOSE: f64 = 0.5;
/// Maximum number of rounds of time slots in an experiment.
const MAX_ROUNDS: usize = judge::prove::MAX_LOOKS;
/// Time for starting and ending the load of a round, seconds.
const OVERHEAD_S: f64 = 0.3;

/// Conducts the rounds under the first load of `operating_points` that fits into the time. The error of the inner
/// `Result` gives the reason why there is no result.
pub(super) fn trial(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_points: &[OperatingPoint],
    row: &'static Lever,
    targets: &LeverTargets,
    seconds: f64,
) -> Result<Result<ProofTrial, String>, LabError> {
    let needs = needs(setup, &[row]);
    let fitting = |point: &OperatingPoint| rounds(point.speed(), needs, seconds);
    let Some((point, (rounds, slots))) = operating_points.iter().find_map(|point| Some((point, fitting(point)?)))
    else {
        return Ok(Err(too_short(operating_points, needs.least_s, lab.run.plan.search.budget_s, seconds)));
    };
    let targets = LeverTargets { share: DOSE, ..targets.clone() };
    let end_s = lab.elapsed_s() + seconds + lab.clock.overhead_s();
    let mut whole: Option<ProofTrial> = None;
    for round in 1..=rounds {
        let is_late = slots.end_s() + lab.clock.overhead_s() > end_s - lab.elapsed_s();
        if round > 1 && (lab.stopped() || is_late) {
            break;
        }
        match one(lab, setup, point, &[row], &targets, slots)? {
            Ok(trial) => whole = Some(whole.map_or_else(|| trial.clone(), |before| joined(before, &trial))),
            Err(why) if whole.is_none() => return Ok(Err(why)),
            Err(_) => break,
        }
        if whole.as_ref().is_some_and(|trial| judge::prove::is_known(trial, round, rounds)) {
            break;
        }
    }
    note_longer(lab, (whole.as_ref(), rounds), point.speed(), seconds);
    Ok(whole.ok_or_else(|| "it was interrupted".into()))
}

/// Returns the largest number of rounds that fits into the time, and the time slots of a round. Longer time slots are
/// preferred to more rounds.
fn rounds(speed: (f64, f64), needs: schedule::SlotNeeds, seconds: f64) -> Option<(usize, SlotPlan)> {
    let of_density = |density| {
        (1..=MAX_ROUNDS).rev().find_map(|rounds| {
            let each_s = (seconds - (rounds - 1) as f64 * OVERHEAD_S) / rounds as f64;
            Some((rounds, slots_of(density, speed, needs, FIRST_S, each_s)?))
        })
    };
    [SPARSE_LONG, SPARSE].into_iter().find_map(of_density)
}

/// If the experiment decided nothing, tells the user a budget that is probably sufficient. With the advised budget, the
/// experiment has at least twice the time, and enough requests in each time slot.
fn note_longer(lab: &mut Lab<'_>, (trial, rounds): (Option<&ProofTrial>, usize), speed: (f64, f64), seconds: f64) {
    if trial.is_none_or(|trial| judge::prove::is_known(trial, rounds, rounds)) {
        return;
    }
    let longer_s = 2.0 * schedule::least_seconds_of(SPARSE_LONG, speed, 0.0, FIRST_S).max(seconds);
    let budget_s = longer_budget_s(lab.run.plan.search.budget_s, seconds, longer_s);
    lab.note(format!("the server completes too few requests for a sure experiment in {seconds:.0} s: give a --budget of {budget_s:.0} s"));
}

/// Returns the budget, in whole seconds, with which an experiment gets `needed_s` seconds. With a budget of `budget_s`,
/// the experiment got `seconds`.
fn longer_budget_s(budget_s: f64, seconds: f64, needed_s: f64) -> f64 {
    let in_proportion = if seconds > 0.0 { budget_s * needed_s / seconds } else { 0.0 };
    in_proportion.max(needed_s / schedule::MAX_BUDGET_SHARE).ceil()
}

/// Returns a sentence which tells the user that the time is too short, and which budget would be enough.
pub(super) fn too_short(operating_points: &[OperatingPoint], slot_s: f64, budget_s: f64, seconds: f64) -> String {
    let all = operating_points.iter().map(|point| schedule::least_seconds(point.speed(), slot_s, FIRST_S));
    let (rate, least_s) = (operating_points.first().map_or(0.0, |point| point.rate), all.fold(f64::MAX, f64::min));
    let budget_s = longer_budget_s(budget_s, seconds, least_s);
    untried::no_time(&format!("slots at {}", whole_rate(rate)), least_s, (seconds, budget_s))
}

/// Joins the time slots of two rounds into one load test.
fn joined(before: ProofTrial, next: &ProofTrial) -> ProofTrial {
    let (first, second) = (before.completed_rate.len() as f64, next.completed_rate.len() as f64);
    let mean = |a: Option<f64>, b: Option<f64>| Some((a? * first + b? * second) / (first + second));
    let lever = |(a, b): (&LeverSlots, &LeverSlots)| LeverSlots {
        on: [&a.on[..], &b.on].concat(),
        speed: [&a.speed[..], &b.speed].concat(),
        taken: mean(a.taken, b.taken),
        wanted: mean(a.wanted, b.wanted),
        work: mean(a.work, b.work),
        ..a.clone()
    };
    ProofTrial {
        completed_rate: [&before.completed_rate[..], &next.completed_rate].concat(),
        levers: before.levers.iter().zip(&next.levers).map(lever).collect(),
        after: None,
        ..before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_server_has_more_rounds() {
        let needs = schedule::SlotNeeds { least_s: 0.015, settle_s: 0.0, fewest: 18, is_alone: false };
        let of = |rate: f64| rounds((rate, 2.0 / rate), needs, 13.0).map(|(rounds, _)| rounds);
        assert_eq!((of(1.0), of(5.0), of(100.0)), (None, Some(1), Some(MAX_ROUNDS)));
    }

    /// One experiment got 3 s of a budget of 16 s, and another experiment 2 s of a budget of 20 s. An earlier version
    /// of loadline advised budgets of 16 s and 11 s, although the given budgets were at least that long.
    #[test]
    fn the_advised_budget_is_longer_than_the_one_that_was_too_short() {
        assert_eq!((longer_budget_s(16.0, 3.0, 6.0), longer_budget_s(20.0, 2.0, 4.8)), (32.0, 48.0));
        assert_eq!(longer_budget_s(30.0, 13.5, 27.0), 60.0);
        assert_eq!(longer_budget_s(10.0, 0.0, 4.5), 10.0);
    }

    #[test]
    fn rounds_are_joined_slot_by_slot() {
        let trial = |rate: f64, on: bool, taken| {
            let lever = LeverSlots { on: vec![on], speed: vec![0.5], taken: Some(taken), ..LeverSlots::default() };
            ProofTrial { completed_rate: vec![rate], levers: vec![lever], after: Some(1.0), ..ProofTrial::default() }
        };
        let whole = joined(trial(5.0, true, 0.5), &trial(9.0, false, 0.3));
        assert_eq!((&whole.completed_rate[..], &whole.levers[0].on[..]), (&[5.0, 9.0][..], &[true, false][..]));
        assert_eq!((whole.levers[0].taken, whole.after), (Some(0.4), None));
    }
}
