//! Experiment that tests the verdict, which names the bottleneck. The experiment makes temporary changes that are
//! called levers, such as slowing a CPU, and observes how throughput reacts.
//!
//! The predicted effect is recorded before the experiment, and `judge::prove` interprets the result. The experiment
//! first uses the lever that tests the verdict. If the lever that tests the verdict needs a different load, that load
//! takes turns with the plain load ([`turns`]). If the lever that tests the verdict can act during a load, it is
//! switched on and off in time slots of one load ([`slots`]). The levers that every experiment uses are switched on and
//! off during the same load as the lever that tests the verdict. If the levers cover every bottleneck, their
//! elasticities add up to 1. If nothing shows that a resource is full, a load with more connections comes first,
//! because throughput then follows the speed of every resource. If throughput may depend on the server's CPU, the
//! experiment takes away whole CPUs last, in a separate load test. If throughput does not depend on the server's CPU,
//! and the verdict names no device, the experiment last tries a load with more connections.

mod active_levers;
mod choose;
mod further;
mod host_questions;
mod lever_targets;
mod offered_rate;
mod operating_point;
mod prove_all;
mod prove_target;
mod schedule;
mod slot_levers;
mod slot_trial;
mod slots;
mod sparse;
mod turns;
mod untried;

pub use prove_target::prove_target;
pub(crate) use schedule::{BUDGET_SHARE, MAX_BUDGET_SHARE};

use self::choose::{allowed, load_pair, own};
use self::operating_point::{OperatingPoint, most_served, unrefused};
use self::slot_levers::{in_slots, note_no_slots};
use crate::levers::{LEVERS, Lever};
use crate::trial::put_back;
use crate::{Lab, LabError, TargetSetup};

/// Share of an experiment's time for the lever that tests the verdict, if loads with and without this lever alternate.
const TURNS_SHARE: f64 = 0.6;
/// Minimum share of an experiment's time for testing whether more source addresses change the throughput. In this test,
/// a load from some addresses and a load from about twice as many addresses take turns.
const SOURCES_SHARE: f64 = 0.5;

/// Tests the verdict (the named bottleneck) with `connections` connections, in about `seconds` seconds. If a lever
/// cannot be used, the run's `proof` gives the reason. The crate `judge` judges the result of the experiment at the end
/// of the run.
pub(crate) fn prove(lab: &mut Lab<'_>, setup: &TargetSetup, connections: u32, seconds: f64) -> Result<(), LabError> {
    let end_s = lab.elapsed_s() + seconds;
    let operating_point = OperatingPoint::busy(&lab.run, connections);
    let (own, others) = own(lab, setup, &operating_point);
    predict(lab, setup, own, &operating_point);
    others.into_iter().for_each(|(row, why)| untried::note(lab, row, why));
    if let Some(row) = own.filter(|row| row.pull.in_turns()) {
        let turns_s = seconds * TURNS_SHARE;
        let limits_rate = lab.run.findings.bottleneck.id == "server-rate-limit";
        let fewer = operating_point.clone().or_fewer(&lab.run);
        let points = if limits_rate { &fewer[..] } else { std::slice::from_ref(&operating_point) };
        in_turns(lab, setup, fitting(lab, points, turns_s), row, turns_s)?;
        if lab.run.findings.proof.as_ref().is_some_and(|proof| proof.outcome == run::ProofOutcome::Proven) {
            return Ok(());
        }
    }
    let observed = OperatingPoint::observed(&lab.run, connections);
    let is_other = |row: &&'static Lever| own.is_none_or(|own| own.id != row.id);
    // The time slots count all answers. A load that is mostly refused would therefore show the rate of refusals.
    let served = unrefused(&lab.run, connections);
    let of_slots = if served == connections { operating_point } else { OperatingPoint::busy(&lab.run, served) };
    let operating_points = of_slots.or_fewer(&lab.run);
    let sources = further::more_sources(lab, setup, &observed).filter(is_other);
    if let Some(row) = sources {
        let turns_s = turns_seconds(lab, seconds, least_seconds_for(&operating_points), &observed);
        let (turns_s, points) = (turns_s.max(seconds * SOURCES_SHARE), observed.clone().or_fewer(&lab.run));
        further_turns(lab, setup, fitting(lab, &points, turns_s), row, turns_s)?;
    }
    let load = further::more_load(lab).filter(is_other).filter(|_| sources.is_none());
    let first = load.filter(|_| judge::prove::load_comes_first(&lab.run));
    if let Some(row) = first {
        let least_s = least_turns_s(lab, &observed);
        further_turns(lab, setup, &observed, row, least_s.min(end_s - lab.elapsed_s()))?;
    }
    let load = load.filter(|_| first.is_none()).map(|row| (row, &observed));
    let wanted = |row: &Lever| row.always || Some(row.id) == own.map(|own| own.id);
    let most = most_served(&lab.run);
    slots_and_more(lab, setup, (&operating_points, own), wanted, load, (most, end_s))
}

/// Slows resources while one load runs. Switches each lever on and off in short time slots of the load. If throughput
/// may depend on the server's CPUs, takes whole CPUs away afterwards, under another load with at most `most`
/// connections. If throughput does not depend on the CPUs, uses the lever `load`, which adds connections. The
/// experiment ends at `end_s`, in seconds since the start of the run.
fn slots_and_more(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    (operating_points, own): (&[OperatingPoint], Option<&'static Lever>),
    wanted: impl Fn(&Lever) -> bool,
    load: Option<(&'static Lever, &OperatingPoint)>,
    (most, end_s): (u32, f64),
) -> Result<(), LabError> {
    let Some(first) = operating_points.first() else { return Ok(()) };
    let fewer = further::fewer_cpus(lab, setup, first, most);
    let left_s = end_s - lab.elapsed_s();
    let is_planned = fewer.is_ok() && further::count_matters(lab);
    let least_s = least_seconds_for(operating_points);
    let count_s = if is_planned { further::count_seconds(left_s, least_s) } else { 0.0 };
    let load_s = load.map_or(0.0, |(_, point)| turns_seconds(lab, left_s, least_s, point));
    in_slots(lab, setup, (operating_points, own), |row| !row.is_alone() && wanted(row), end_s - count_s.max(load_s))?;
    if !further::count_matters(lab) {
        let Some((row, point)) = load else { return Ok(()) };
        if load_s <= 0.0 {
            untried::note(lab, row, further::NO_TIME.into());
            return Ok(());
        }
        return further_turns(lab, setup, point, row, end_s - lab.elapsed_s());
    }
    let left_s = end_s - lab.elapsed_s();
    match fewer.and_then(|found| further::enough_time(left_s).map(|()| found)) {
        Ok((row, point)) => {
            further::predict(lab, row);
            in_slots(lab, setup, (&[point], Some(row)), Lever::is_alone, end_s)
        }
        Err(why) => {
            LEVERS.iter().filter(|row| row.is_alone()).for_each(|row| untried::note(lab, row, why.clone()));
            Ok(())
        }
    }
}

/// Returns the shortest time for turns under a load, seconds. Returns 0 if the turns would leave less than `slots_s` of
/// the remaining `left_s` seconds for the time slots.
fn turns_seconds(lab: &Lab<'_>, left_s: f64, slots_s: f64, point: &OperatingPoint) -> f64 {
    further::turns_seconds(left_s, slots_s, least_turns_s(lab, point))
}

/// Returns the first load whose turns fit into the given seconds. If the turns of no load fit, returns the first load
/// of the list. Under a rate limit, the response time grows with the number of connections, but the rate stays the
/// same. Under a rate limit, fewer connections therefore need shorter turns.
fn fitting<'a>(lab: &Lab<'_>, points: &'a [OperatingPoint], seconds: f64) -> &'a OperatingPoint {
    points.iter().find(|point| least_turns_s(lab, point) <= seconds).unwrap_or(&points[0])
}

/// Returns the shortest time for all turns of a lever under a load, seconds.
fn least_turns_s(lab: &Lab<'_>, point: &OperatingPoint) -> f64 {
    turns::least_seconds(point.turn_response_s, lab.clock.overhead_with_drain_s(point.turn_response_s))
}

/// Returns the minimum length of an experiment, seconds, for a server that answers one request at a time, each in
/// `response_s` seconds.
pub(crate) fn least_seconds(response_s: f64) -> f64 {
    schedule::least_seconds((1.0 / response_s.max(1e-6), 2.0 * response_s), 0.0, slots::FIRST_S)
}

/// Returns the shortest time for the time slots of one lever, seconds, under the load that needs the least time.
fn least_seconds_for(points: &[OperatingPoint]) -> f64 {
    points.iter().map(|point| schedule::least_seconds(point.speed(), 0.0, slots::FIRST_S)).fold(f64::MAX, f64::min)
}

/// Returns the reason why an experiment on a run's server does not fit into the given seconds. The experiment uses the
/// same load as the test on which the verdict relies, or a smaller load. Returns `None` if the experiment fits into the
/// time, or if the verdict does not yet rely on a closed-loop test.
pub(crate) fn too_short(run: &run::Run, seconds: f64) -> Option<String> {
    let decisive = run.trials.get(run.findings.picks.decisive?)?;
    let run::Intensity::Closed { connections, .. } = decisive.intensity else { return None };
    let points = OperatingPoint::busy(run, connections).or_fewer(run);
    let has_turns =
        |point: &OperatingPoint| turns::pairs(point.turn_response_s, seconds * SOURCES_SHARE, 0.0).is_some();
    let fits = least_seconds_for(&points) <= seconds || points.iter().any(has_turns);
    (!fits).then(|| sparse::too_short(&points, 0.0, run.plan.search.budget_s, seconds))
}

/// Returns the reason why an experiment on a run's server would show nothing. Either the experiment does not fit into
/// the given seconds, or the server refuses all requests for a time.
pub(crate) fn untestable(run: &run::Run, seconds: f64) -> Option<String> {
    refuses_for_a_time(run).or_else(|| too_short(run, seconds))
}

/// Returns the reason why there is no experiment on a server that refuses all requests for a time. The levers are
/// switched within fractions of a second, but the server's answers depend on the time since its period began.
pub(crate) fn refuses_for_a_time(run: &run::Run) -> Option<String> {
    let refuses = judge::refuses_for_a_time(run) || judge::knows_period(run);
    refuses.then(|| {
        "the server refuses all requests for a time, whatever the load, which hides the effect of a lever".into()
    })
}

/// Records the reason why the experiment changes nothing.
pub(crate) fn not_tried(lab: &mut Lab<'_>, why: String) {
    let answer = judge::prove::answer_of(&lab.run.plan.objective);
    lab.run.findings.proof = Some(run::Proof { of: answer, why, ..run::Proof::default() });
}

/// Message for an experiment that an error ended.
pub(crate) const ENDED_EARLY: &str = "the experiment ended early, because generators were lost or could not start";

/// Records the error that ended the experiment, and undoes changes that remained.
pub(crate) fn ended_early(lab: &mut Lab<'_>, setup: &TargetSetup, error: &LabError) {
    put_back(lab, setup.server_host());
    lab.run.findings.proof.iter_mut().for_each(|proof| note_no_slots(proof, &format!("{ENDED_EARLY}: {error}")));
}

/// Records the predicted effect of the experiment. With an offered rate, the recorded effect is that of the
/// experiment's dose (slowdown). Under a closed loop, the recorded effect is that of `own`, the lever that tests the
/// verdict. If no lever tests the verdict, the recorded effect is that of the first lever in the table.
fn predict(lab: &mut Lab<'_>, setup: &TargetSetup, own: Option<&Lever>, operating_point: &OperatingPoint) {
    put_back(lab, setup.server_host());
    let row = own.unwrap_or(&LEVERS[0]);
    let mut proof = match operating_point.at_rate {
        Some(at_rate) => {
            let (of, dose) =
                (judge::prove::answer_of(&lab.run.plan.objective), offered_rate::dose(&at_rate).unwrap_or(0.0));
            judge::prove::predicted_at_rate(&lab.run, of, dose)
        }
        None => judge::prove::predicted(&lab.run, row.id, row.planned),
    };
    if operating_point.at_rate.is_none() {
        let others = LEVERS.iter().filter(|other| other.always && other.id != row.id);
        proof.runner_up = others.filter_map(|other| judge::prove::runner_up(&lab.run, other.id, other.planned)).next();
    }
    let second = proof.runner_up.iter_mut().map(|second| &mut second.prediction);
    proof.prediction.iter_mut().chain(second).for_each(|p| p.at = jiff::Timestamp::now().to_string());
    lab.run.findings.proof = Some(proof);
}

/// Records the predicted effect of a further lever, and then uses this lever in turns.
fn further_turns(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    point: &OperatingPoint,
    row: &'static Lever,
    seconds: f64,
) -> Result<(), LabError> {
    further::predict(lab, row);
    in_turns(lab, setup, point, row, seconds)
}

/// Compares the plain load with the load of a lever, in turns.
fn in_turns(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
    row: &'static Lever,
    seconds: f64,
) -> Result<(), LabError> {
    let made = allowed(lab, row).and_then(|()| load_pair(lab, setup, row, &operating_point.load(setup)));
    match made {
        Ok(load_pair) => {
            let found = turns::trial(lab, setup, operating_point, (row, &load_pair), seconds)?;
            if load_pair.change.is_some() {
                put_back(lab, setup.server_host());
            }
            match found {
                Ok(trial) => {
                    lab.run.findings.proof.iter_mut().for_each(|proof| proof.switched.push(trial.clone()));
                }
                Err(why) => untried::note(lab, row, why),
            }
            lab.save()?;
        }
        Err(why) => untried::note(lab, row, why),
    }
    Ok(())
}
