//! Judges a run: derives figures and conclusions from the run. All functions are pure functions of a [`run::Run`]. The
//! functions use no clock, file or network, and do not panic, whatever the run contains.
//!
//! [`judge`] fills in derived figures (counters of the measured window, costs per request) and conclusions (capacity,
//! knee, fits, bottleneck, trust, argument). A run that was judged before, even by an older version of loadline, can be
//! judged again.
//!
//! The method comes from R. Blake, *Optimizing Windows NT* (1993). Ratios of counters give the demand on each device
//! (the busy time per request), and the device with the largest demand is the suspect. Loads with more concurrent
//! requests confirm or refute that the suspect is the bottleneck. The argument for the verdict shows every step of
//! Blake's method.

#[cfg(test)]
mod arbitrary;
pub mod arena;
mod capacity;
mod compare;
mod conclude;
mod context;
pub mod counters_csv;
mod course;
mod estimate;
mod expect;
mod failed;
mod generator;
mod history;
mod in_flight;
mod network;
mod number;
pub mod prove;
mod rules;
mod signals;
pub mod size;
pub mod thresholds;
#[cfg(test)]
mod thresholds_page;
mod trust;
mod waits;
mod what_if;

#[cfg(any(test, feature = "planted"))]
pub mod planted;

pub use capacity::{Pooled, own_pool, pooled, served_connections, spoiled};
pub use compare::{Pairing, compare, compare_at, same_protocol, sort_by_time};
pub use conclude::principles::{PRINCIPLES, Principle};
pub use context::cost_table::{COSTS, CostSpec, Part, Rest};
pub use context::demand::{Demand, demands};
pub use context::devices::{devices, devices_of_sides};
pub use context::facts::Facts;
pub use context::other_programs::{disturbed, stolen};
pub use context::single::{failed_share, good, good_of_all, mostly_refused};
pub use context::steady::steady;
pub use context::sweep::{Plateau, lacked_connections};
pub use context::view::{Host, Task, View};
pub use estimate::fit;
pub use estimate::hot::hot;
pub use estimate::objective::{breach, late_us, limits, longest_mean_us};
pub use estimate::users::{Bracket, bracket};
pub use failed::period_limit::hold::{knows_period, may_have_period, refuses_for_a_time};
pub use history::{HistoryLimits, HistoryRuns};
pub use rules::{RULES, Rule, Tier, Verdict, may_delay};
pub use signals::{Signal, chance};
pub use stats::average;
pub use stats::number::median;
pub use stats::posterior::CapacityEstimate;
pub use thresholds::{FLAT, FLAT_STEPS, FULL};
pub use waits::{headline, waits};
pub use what_if::what_if;

use run::{Run, Trial};

/// Fills in the derived figures and conclusions of a run; see the crate documentation. Keeps `findings.checks`,
/// `findings.conclusions`, the tables, charts and fits that an experiment made, and the measured
/// `trust.generator_ceiling`. All other fields of `findings` are replaced.
pub fn judge(run: &mut Run) {
    judge_so_far(run);
    let facts = Facts::of(run);
    let what_if = what_if::to_double(&facts, run.findings.capacity.as_ref(), &run.findings.bottleneck);
    run.findings.what_if = what_if;
    run.findings.devices = run.trials.iter().map(devices).collect();
}

/// Derives the counters and the costs of the last trial. Draws no conclusion.
pub fn derive_last(run: &mut Run) {
    let Run { at_rest, trials, .. } = run;
    let Some(trial) = trials.last_mut() else { return };
    context::sides::derive_rest(at_rest);
    context::sides::derive_trial(trial);
    context::client_hosts::busiest_first_in(trial);
    context::costs::derive_trial(trial, at_rest);
}

/// Derives the counters and the costs of all trials. Draws no conclusion.
fn derive(run: &mut Run) {
    context::sides::derive(run);
    failed::unanswered::derive(run);
    context::client_hosts::busiest_first(run);
    context::costs::derive(run);
}

/// Adds to the verdict what its requests wait for. Restarts are not told while the server starts more processes.
fn explain_waits(
    run: &Run,
    bottleneck: &mut run::Bottleneck,
    waits: &[run::WaitFinding],
    known: &waits::Known<'_>,
    order: waits::WordOrder,
) {
    waits::explain(bottleneck, waits, known, order);
    if known.growing.is_none() {
        conclude::restarts::tell(bottleneck, run);
    }
    waits::explain_idle_loop(bottleneck, waits, run);
    waits::explain_connection_limit(bottleneck, waits, run, order);
}

/// Judges a run that is not finished. Leaves out two costly findings until the end: the resources for twice the
/// capacity, and the use of each device.
pub fn judge_so_far(run: &mut Run) {
    derive(run);
    let facts = Facts::of(run);
    let repeats = context::repeats::repeats(run);
    let chances = capacity::chances(&run.trials, &facts.limits);
    let mut found = capacity::capacity(&facts, &chances);
    found.iter_mut().for_each(|found| estimate::users::mark_lower_bound(&facts, &mut found.capacity));
    found.iter_mut().for_each(|found| context::repeats::together(&mut found.capacity, &repeats));
    let mut bottleneck = conclude::verdict::verdict(&facts);
    context::repeats::agree(&mut bottleneck, &repeats);
    let mut proof = run.findings.proof.clone();
    proof.iter_mut().for_each(|proof| prove::conclude(&facts, proof, &mut bottleneck));
    let growing = conclude::growing_pool::GrowingPool::of(run, &bottleneck, &facts.waits);
    if let Some(pool) = &growing {
        pool.weaken(&mut bottleneck);
        found.iter_mut().for_each(|found| pool.bound(&mut found.capacity));
    }
    conclude::confidence::tell(&mut bottleneck);
    bottleneck.next =
        Some(bottleneck.id.as_str()).filter(|id| *id != "unknown").and_then(|id| what_if::next(&facts, id));
    let waits = waits::without_refuted(facts.waits.clone(), &facts, proof.as_ref());
    let hot = estimate::hot::of_run(run);
    let order = conclude::verdict::word_order(&facts, &bottleneck);
    let places = in_flight::places::Places::of(&facts).map(|places| places.places);
    let full_cpus = in_flight::full_cpus::FullCpus::of(&facts).map(|full| full.advice());
    let collection = estimate::collection::of(&facts);
    let held = failed::overflow::held_connections(&facts).map(|held| held.answered);
    let growing = growing.map(|pool| pool.advice());
    let known = waits::Known { hot: estimate::hot::first(&facts, &hot), places, full_cpus, growing, collection, held };
    explain_waits(run, &mut bottleneck, &waits, &known, order);
    failed::connects::advise_after_the_end(run, &mut bottleneck);
    let picks = conclude::decide::picks(&facts, found.as_ref());
    let capacity = found.map(|found| found.capacity);
    let mut classes = estimate::classes::classes(&facts, &picks);
    let class_costs = estimate::class_costs::tell(run, &mut classes);
    let course = course::course(run);
    let streams = network::stream_signs::signs(&facts, &bottleneck, &waits);
    let mut findings = run::Findings {
        limits: facts.limits.clone(),
        classes,
        class_costs,
        picks,
        outcomes: conclude::decide::outcomes(&facts, &chances, course.as_ref()),
        course,
        devices: Vec::new(),
        cost_names: COSTS.iter().map(|spec| (spec.id.to_string(), spec.help)).collect(),
        state: conclude::decide::state(&facts, &bottleneck),
        hosts: context::client_hosts::findings(run, &picks),
        one_host: facts.decisive.filter(|t| t.server.is_some()).map(Trial::one_host),
        failure: None,
        capacity: capacity.clone(),
        users: estimate::users::users(&facts),
        knee: context::knee::knee(&facts),
        bottleneck,
        behind: facts.upstreams.clone(),
        proof,
        waits,
        hot,
        waiting: waits::waiting_functions(run),
        span_growth: estimate::spans::growth(run, &picks),
        what_if: Vec::new(),
        repeats,
        streams,
        expected: Vec::new(),
        drifts: estimate::drift::throughputs(&facts).into_iter().chain(estimate::drift::drifts(&facts)).collect(),
        tls_handshake_cpu_us: network::handshakes::cost(run),
        experiment: run.findings.experiment.clone(),
        checks: run.findings.checks.clone(),
        conclusions: run.findings.conclusions.clone(),
        fits: run.findings.fits.clone(),
        trust: trust::trust(&facts, capacity.as_ref()),
        argument: Vec::new(),
    };
    findings.fits.remove("usl");
    findings.fits.extend(estimate::fit::usl_of(&facts).map(|f| ("usl".to_string(), f)));
    findings.argument = conclude::argument::argument(&facts, &findings);
    findings.expected = expect::expected(run, &findings);
    findings.failure = conclude::decide::failure(&facts, &findings);
    run.findings = findings;
}
