//! Parts of the throughput: the share that each slowed resource explains, and the remainder, which no slowed resource
//! explains. A lever is a temporary change that an experiment makes, such as slowing a CPU. The decisive trial of a run
//! is the load that represents the run.

use run::{
    Bottleneck, CPU_COUNT_LEVER, Effect, Elasticity, ElasticityBasis, Estimate, LOAD_LEVER, Proof, ProofTrial, Window,
};

use super::cpu_limit::count_estimate;
use super::steadiness::steadiness;
use super::watched::{CLIENT_CPU, WatchedShare, is_of_all_servers};
use super::{Estimates, estimate, utilization};
use crate::Facts;
use crate::capacity::neighbours::UsualShare;
use crate::context::evidence::throttled;
use crate::context::single::server_of;
use crate::context::view::{Task, View};
use crate::generator::load_threads;
use crate::thresholds::{MOST, THROTTLED};

/// Name of the remainder: the part of the throughput that no slowed resource explains.
pub(super) const REMAINDER: &str = "remainder";

/// Estimates each resource's share of the throughput from the time slots of the experiment, and records the shares in
/// `proof`. Also records how steady the throughput was. Returns the effect of each lever, `None` if there are no time
/// slots, or an error if the slots allow no estimate.
pub(super) fn read(facts: &Facts<'_>, proof: &mut Proof, verdict: &Bottleneck) -> Option<Result<Vec<Effect>, String>> {
    let trial = &with_counted_use(facts, ProofTrial::of_speeds(&proof.trials)?);
    let mut found = match estimate(trial) {
        Ok(found) => found,
        Err(why) => return Some(Err(why)),
    };
    let watched = WatchedShare::of(facts.decisive);
    of_watched_server(watched, trial, &mut found);
    open_where_quotas_hold(facts, trial, &mut found);
    let effect = |(at, lever): (usize, &run::LeverSlots)| {
        let (ratio, lever) = (found.ratios[at], lever.lever.clone());
        Effect { lever, dose: found.doses[at], ratio: ratio.value, low: ratio.low, high: ratio.high, at: String::new() }
    };
    let effects: Vec<Effect> = trial.levers.iter().enumerate().map(effect).collect();
    let own = watched.own_each(&effects);
    utilization::lower(&mut found, &own, &utilization::of_levers(facts, verdict, trial, &own));
    let part = |(at, lever): (usize, &run::LeverSlots)| Elasticity {
        lever: lever.lever.clone(),
        host: lever.host.clone(),
        estimate: found.elasticities[at],
        basis: found.bases[at],
    };
    let parts = trial.levers.iter().enumerate().map(part).collect();
    (proof.steadiness, proof.elasticities) = (steadiness(trial, disturbed_slots(facts, trial)), parts);
    proof.remainder = Some(found.remainder);
    proof.runner_up.iter_mut().for_each(|next| next.measured = effect_of(&effects, &next.prediction.lever).cloned());
    Some(Ok(effects))
}

/// Returns a copy of the trial. In the copy, the server wanted a CPU for at least the share of time that the counters
/// show as its CPU use. The lever's own reading may be too low, because it leaves out processes that start during a
/// time slot.
fn with_counted_use(facts: &Facts<'_>, trial: &ProofTrial) -> ProofTrial {
    let mut trial = trial.clone();
    let Some(load) = utilization::load_of(facts, &trial) else { return trial };
    let used = server_of(load).and_then(|view| view.cpu_used()).map(|used| used.min(1.0));
    let of_server = trial.levers.iter_mut().filter(|lever| lever.lever == "server-cpu");
    of_server.filter_map(|lever| lever.wanted.as_mut()).for_each(|wanted| *wanted = wanted.max(used.unwrap_or(0.0)));
    trial
}

/// Returns a predicate on the numbers of time slots: true if other programs took an unusual share of the CPUs in the
/// slot.
fn disturbed_slots(facts: &Facts<'_>, trial: &ProofTrial) -> impl Fn(usize) -> bool + use<> {
    let load = utilization::load_of(facts, trial);
    let periods = load.map(|load| UsualShare::of(std::iter::once(load)).exceeded(load)).unwrap_or_default();
    let (begin_s, slot_s) = (load.map_or(0.0, |load| load.measured.window.begin_s), trial.slot_s);
    move |slot| {
        let [begin_s, end_s] = [slot, slot + 1].map(|slot| begin_s + slot_s * slot as f64);
        periods.iter().any(|period| period.overlaps(Window { begin_s, end_s }))
    }
}

/// Converts the shares of the watched server's resources to shares of its own throughput, if it answers only some of
/// the requests. The remainder, which no resource explains, becomes smaller by as much as these shares grow.
fn of_watched_server(watched: WatchedShare, trial: &ProofTrial, found: &mut Estimates) {
    let is_own = |at: &usize| !is_of_all_servers(&trial.levers[*at].lever);
    let measured = |at: &usize| found.bases[*at].is_measured() && is_own(at);
    for at in (0..trial.levers.len()).filter(measured).filter(|_| !watched.is_whole()).collect::<Vec<_>>() {
        let of_all = found.elasticities[at];
        let own = watched.elasticity(found.ratios[at], found.doses[at]);
        found.remainder.value -= own.value - of_all.value;
        found.remainder.low -= own.high - of_all.high;
        found.remainder.high -= own.low - of_all.low;
        found.elasticities[at] = own;
    }
}

/// Marks a small share of the generator's CPU as unknown if a CPU quota throttles the generator. The generator's CPU
/// quota may limit throughput, whatever the CPU's speed is.
fn open_where_quotas_hold(facts: &Facts<'_>, trial: &ProofTrial, found: &mut Estimates) {
    let held = facts.client().is_some_and(|view| is_throttled(&view));
    for at in (0..trial.levers.len()).filter(|at| held && trial.levers[*at].lever == CLIENT_CPU) {
        let part = found.elasticities[at];
        if part.high < MOST {
            found.remainder.low -= 1.0 - part.high;
            found.elasticities[at] = Estimate { high: 1.0, ..part };
            found.bases[at] = ElasticityBasis::Open;
        }
    }
}

/// Returns true if a CPU quota throttled the programs of `view`'s side in at least the share [`THROTTLED`] of the quota
/// periods.
fn is_throttled(view: &View<'_>) -> bool {
    throttled(view).is_some_and(|held| held.share >= THROTTLED)
}

/// Adds the share of the generator's CPU if there was no time for time slots with its lever. The share of throughput
/// that a CPU explains is at most the CPU's utilization. The upper bound is therefore the share of the decisive trial
/// in which the generator's threads ran or waited for a CPU. Adds nothing for a generator that is at its quota or on
/// several hosts.
pub(super) fn add_untried_generator(facts: &Facts<'_>, proof: &mut Proof) {
    let is_untried =
        proof.untried.iter().any(|lever| lever.lever == CLIENT_CPU) && part_of(proof, CLIENT_CPU).is_none();
    let hosts = facts.decisive.map_or(0, |trial| trial.client_hosts.len());
    let (Some(remainder), Some(view)) = (&mut proof.remainder, facts.client()) else { return };
    let threads = load_threads(facts, &view);
    let is_bound = !threads.is_empty() && hosts == 0 && !is_throttled(&view);
    if !is_untried || !is_bound {
        return;
    }
    let wanted = threads.iter().map(Task::wants).sum::<f64>().min(1.0);
    remainder.low -= wanted;
    let (host, estimate) = (view.host_name().into(), Estimate { value: 0.0, low: 0.0, high: wanted });
    proof.elasticities.push(Elasticity { lever: CLIENT_CPU.into(), host, estimate, basis: ElasticityBasis::Wanted });
}

/// Appends two elasticities of throughput to the proof: for the number of CPUs and for the load. The elasticities for
/// the number of CPUs and for the load do not count as shares of the throughput. Replaces the two elasticities of an
/// earlier judgement of the same experiment.
pub(super) fn add_others(proof: &mut Proof) {
    let host = |lever: &str| {
        let trial = ProofTrial::of_lever(&proof.trials, lever).and_then(|trial| trial.lever(lever));
        let turns = proof.switched.iter().rfind(|turns| turns.lever == lever);
        trial.map(|lever| lever.host.clone()).or(turns.map(|turns| turns.host.clone())).unwrap_or_default()
    };
    let other = |lever: &str, estimate| Elasticity {
        lever: lever.into(),
        host: host(lever),
        estimate,
        basis: ElasticityBasis::Measured,
    };
    let count = count_estimate(proof).map(|(elasticity, ..)| other(CPU_COUNT_LEVER, elasticity));
    let load = proof.effect(LOAD_LEVER).and_then(of_load).map(|elasticity| other(LOAD_LEVER, elasticity));
    let others: Vec<Elasticity> = count.into_iter().chain(load).collect();
    proof.elasticities.retain(Elasticity::is_part);
    proof.elasticities.extend(others);
}

/// Returns the elasticity of throughput for the load: d ln(throughput) / d ln(load).
fn of_load(effect: &Effect) -> Option<Estimate> {
    let more = (1.0 - effect.dose).ln();
    let of = |ratio: f64| ratio.ln() / more;
    let found = Estimate { value: of(effect.ratio), low: of(effect.low), high: of(effect.high) };
    (more > 0.0 && [found.value, found.low, found.high].iter().all(|x| x.is_finite())).then_some(found)
}

/// Returns the shares of throughput of all resources, and of the remainder that no resource explains. The largest share
/// comes first.
pub(super) fn shares(proof: &Proof) -> Vec<(String, Estimate)> {
    let mut shares: Vec<(String, Estimate)> = proof.parts().map(|e| (e.lever.clone(), e.estimate)).collect();
    shares.extend(proof.remainder.map(|r| (REMAINDER.into(), r)));
    shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    shares
}

/// Returns the lever (or the remainder) whose share of the throughput is certainly the largest, if any. A share is
/// certainly the largest if even the lower end of its interval is at least half. A share is also certainly the largest
/// if its estimate is at least half and its interval lies above all other intervals.
pub(super) fn largest(proof: &Proof) -> Option<String> {
    let shares = shares(proof);
    let above_others = |(lever, e): &&(String, Estimate)| {
        e.low >= MOST || e.value >= MOST && shares.iter().all(|(other, o)| other == lever || e.low > o.high)
    };
    shares.iter().find(above_others).map(|(lever, _)| lever.clone())
}

/// Returns the part (share of throughput) of the resource that a lever slows.
pub(super) fn part_of<'a>(proof: &'a Proof, lever: &str) -> Option<&'a Elasticity> {
    proof.parts().find(|part| part.lever == lever)
}

/// Returns the measured effect of one lever.
pub(super) fn effect_of<'a>(effects: &'a [Effect], lever: &str) -> Option<&'a Effect> {
    effects.iter().find(|effect| effect.lever == lever)
}

/// Returns the effect of the lever that has a prediction. If no lever has a prediction, returns the effect of the lever
/// whose resource explains most of the throughput. A resource whose share of the throughput is only bounded comes after
/// all resources with a measured share.
pub(super) fn measured(proof: &Proof, effects: &[Effect]) -> Option<Effect> {
    let predicted = proof.prediction.as_ref().and_then(|p| effect_of(effects, &p.lever));
    let size = |part: &&Elasticity| (part.basis.is_measured(), part.estimate.value);
    let by_size = |a: &&Elasticity, b: &&Elasticity| {
        let ((measured_a, a), (measured_b, b)) = (size(a), size(b));
        measured_a.cmp(&measured_b).then(a.total_cmp(&b))
    };
    let largest = || effect_of(effects, &proof.parts().max_by(by_size)?.lever);
    predicted.or_else(largest).cloned()
}

/// Returns the smallest dose (share of its resource that a lever took) of all levers whose elasticity is known.
pub(super) fn least_dose(proof: &Proof, effects: &[Effect]) -> Option<f64> {
    let acted = |effect: &&Effect| part_of(proof, &effect.lever).is_some_and(|p| p.basis != ElasticityBasis::Open);
    effects.iter().filter(acted).map(|effect| effect.dose).reduce(f64::min)
}
