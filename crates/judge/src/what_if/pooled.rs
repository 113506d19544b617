//! Demands, averaged over all trials near the highest rate.
//!
//! A single window contains too few quota periods and disk bursts for a mean. Counters are read slightly before or
//! after the edges of the window, while answers are counted exactly between these edges.

use run::{Trial, TrialKind};

use super::model::{CONCURRENCY, CPUS, Model};
use crate::Facts;
use crate::context::single::{good, highest_rate};
use crate::context::sweep::Plateau;
use crate::in_flight::upstreams;
use crate::number::ratio;
use crate::thresholds::{FLAT, KEEPS_UP, LOADED};

/// Returns the ID of the resource that a verdict means. If the server waits for an upstream that fills shared CPUs,
/// these CPUs are full, and the number of workers is not the limit.
pub(super) fn resource_of<'v>(facts: &Facts<'_>, verdict: &'v str) -> &'v str {
    let shares = || facts.server().is_some_and(|view| !upstreams::on_server_cpus(&view).is_empty());
    let is_of_upstream = verdict == CONCURRENCY && upstreams::fills_cpus(facts) && shares();
    if is_of_upstream { CPUS } else { verdict }
}

/// Returns the queueing networks of a run's trials under load, for a run with this verdict.
pub(super) fn loaded(facts: &Facts<'_>, verdict: &str) -> Vec<Model> {
    let trials = || facts.sweep.iter().chain(&facts.search);
    let most = highest_rate(trials().copied());
    trials().filter(|t| good(t) >= LOADED * most).filter_map(|t: &&Trial| Model::of(facts, t, verdict)).collect()
}

/// Returns the queueing network of a trial of a run with this verdict, before any change. The demands are means over
/// all trials under load, and the resources' limits are adjusted to the highest rate.
pub(super) fn today(facts: &Facts<'_>, trial: &Trial, verdict: &str, loaded: &[Model]) -> Option<Model> {
    let model = with_demands_of(&Model::of(facts, trial, verdict)?, &loaded.iter().collect::<Vec<_>>());
    let full = model.resources().into_iter().map(|part| part.id).find(|id| is_bottleneck(facts, verdict, id));
    let mut model = model.calibrated(at_the_limit(facts), full.filter(|_| reached(facts)));
    // If the number of workers is known, the model already agrees with the highest rate.
    if model.one_level && model.places.is_none() {
        model.leave_elsewhere();
    }
    Some(model)
}

/// Returns the highest rate of good answers of all trials.
pub(super) fn highest(facts: &Facts<'_>) -> f64 {
    highest_rate(facts.loaded())
}

/// Returns the mean rate of good answers of the trials near the highest rate, weighted by their length.
///
/// The highest rate of a single trial is too high by chance. The window of the trial with the highest rate may contain
/// one more answer than usual, or one more burst of a server with a quota.
fn at_the_limit(facts: &Facts<'_>) -> f64 {
    let least = (1.0 - FLAT) * highest(facts);
    let near = || facts.loaded().filter(|t| good(t) >= least);
    let length_s: f64 = near().map(|t| t.measured.length_s).sum();
    ratio(near().map(|t| good(t) * t.measured.length_s).sum(), length_s).unwrap_or_else(|| highest(facts))
}

/// Returns true if a verdict names a resource. If both sides share the CPUs, the generator's CPUs are the server's
/// CPUs, too.
fn is_bottleneck(facts: &Facts<'_>, verdict: &str, resource: &str) -> bool {
    verdict == resource || facts.shared() && verdict == "client-cpu" && resource == "server-cpu"
}

/// Returns true if a run does not show the capacity of the server. The trials of a run without a capacity have a fixed
/// load, at which no resource was the limit.
pub(super) fn without_capacity(facts: &Facts<'_>, now: &Model, verdict: &str) -> bool {
    let fixed = facts.loaded().all(|trial| trial.kind == TrialKind::Fixed);
    fixed && !now.resources().iter().any(|part| is_bottleneck(facts, verdict, part.id)) && !reached(facts)
}

/// Returns true if the run reached saturation: more clients did not raise the rate, or some arrivals were not answered
/// in time.
fn reached(facts: &Facts<'_>) -> bool {
    let behind = |t: &&Trial| t.rates.completed_rate < KEEPS_UP * t.rates.offered_rate;
    matches!(facts.plateau, Plateau::Flat { .. }) || facts.search.iter().any(behind)
}

/// Returns a queueing network with the mean demands of the networks `drawn`, weighted by their requests.
pub(super) fn with_demands_of(now: &Model, drawn: &[&Model]) -> Model {
    let mean = |of: &dyn Fn(&Model) -> Option<f64>, otherwise: f64| {
        let known: Vec<(f64, f64)> = drawn.iter().filter_map(|m| Some((of(m)?, m.requests))).collect();
        let all: f64 = known.iter().map(|(_, requests)| requests).sum();
        ratio(known.iter().map(|(value, requests)| value * requests).sum(), all).unwrap_or(otherwise)
    };
    let mut model = now.clone();
    if let Some(cpu) = &mut model.server_cpu {
        cpu.work_s = mean(&|m| Some(m.server_cpu?.work_s), cpu.work_s);
        cpu.behind_s = mean(&|m| Some(m.server_cpu?.behind_s), cpu.behind_s);
        cpu.beside_s = mean(&|m| Some(m.server_cpu?.beside_s), cpu.beside_s);
    }
    for part in &mut model.others {
        part.work_s = mean(&|m| m.others.iter().find(|p| p.id == part.id).map(|p| p.work_s), part.work_s);
    }
    model.leave_elsewhere();
    model
}
