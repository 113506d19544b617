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

mod ack_timer;
mod addresses;
#[cfg(test)]
mod arbitrary;
pub mod arena;
mod argument;
mod capacity;
mod chain;
mod choose;
mod class_costs;
mod classes;
mod client_hosts;
mod compare;
mod confidence;
mod connects;
mod costs;
pub mod counters_csv;
mod course;
mod decide;
mod delayed;
mod demand;
mod devices;
mod disks;
mod drift;
mod evidence;
mod expect;
mod facts;
mod failed_stretch;
mod failed_upstream;
mod failures;
pub mod fit;
mod full_cpus;
mod generator;
mod handshakes;
mod history;
mod hot;
mod inside;
mod knee;
mod laws;
mod lighter;
mod link_queue;
mod link_speed;
mod long_polls;
mod margins;
mod number;
mod objective;
mod other_programs;
mod overflow;
mod own_rate;
mod phantoms;
mod places;
mod principles;
mod process_locks;
pub mod prove;
mod quota;
mod refusals;
mod repeats;
mod rules;
mod serial;
mod serial_words;
mod server_queue;
mod sides;
mod signals;
mod silence;
mod single;
pub mod size;
mod spans;
mod standstill;
mod steady;
mod stream_signs;
mod sweep;
pub mod thresholds;
#[cfg(test)]
mod thresholds_page;
mod ticks;
mod trust;
mod unanswered;
mod unopened;
mod upstreams;
mod users;
mod verdict;
mod view;
mod waiting;
mod waits;
mod what_if;

#[cfg(any(test, feature = "planted"))]
pub mod planted;

pub use capacity::{Pooled, own_pool, pooled, spoiled};
pub use compare::{Pairing, compare, compare_at, same_protocol};
pub use costs::{COSTS, CostSpec, Part, Rest};
pub use demand::{Demand, demands};
pub use devices::{devices, devices_of_sides};
pub use facts::Facts;
pub use history::{HistoryLimits, HistoryRuns};
pub use hot::hot;
pub use objective::{breach, late_us, limits, longest_mean_us};
pub use other_programs::{disturbed, stolen};
pub use principles::{PRINCIPLES, Principle};
pub use rules::{RULES, Rule, Tier, Verdict, may_delay};
pub use signals::{Signal, chance};
pub use single::{failed_share, good, good_of_all, mostly_refused};
pub use stats::average;
pub use stats::number::median;
pub use stats::posterior::CapacityEstimate;
pub use steady::steady;
pub use sweep::{Plateau, lacked_connections};
pub use thresholds::{FLAT, FLAT_STEPS, FULL};
pub use users::{Bracket, bracket};
pub use view::{Host, Task, View};
pub use waits::{headline, waits};
pub use what_if::what_if;

use run::{Run, Trial};

/// Fills in the derived figures and conclusions of a run; see the crate documentation. Keeps `findings.checks`,
/// `findings.conclusions`, the tables, charts and fits that an experiment made, and the measured
/// `trust.generator_ceiling`. Replaces all other fields of `findings`.
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
    sides::derive_rest(at_rest);
    sides::derive_trial(trial);
    client_hosts::busiest_first_in(trial);
    costs::derive_trial(trial, at_rest);
}

/// Derives the counters and the costs of all trials. Draws no conclusion.
fn derive(run: &mut Run) {
    sides::derive(run);
    unanswered::derive(run);
    client_hosts::busiest_first(run);
    costs::derive(run);
}

/// Judges a run that is not finished. Leaves out two costly findings until the end: the resources for twice the
/// capacity, and the use of each device.
pub fn judge_so_far(run: &mut Run) {
    derive(run);
    let facts = Facts::of(run);
    let repeats = repeats::repeats(run);
    let chances = capacity::chances(&run.trials, &facts.limits);
    let mut found = capacity::capacity(&facts, &chances);
    found.iter_mut().for_each(|found| repeats::together(&mut found.capacity, &repeats));
    let mut bottleneck = verdict::verdict(&facts);
    repeats::agree(&mut bottleneck, &repeats);
    let mut proof = run.findings.proof.clone();
    proof.iter_mut().for_each(|proof| prove::conclude(&facts, proof, &mut bottleneck));
    confidence::tell(&mut bottleneck);
    bottleneck.next =
        Some(bottleneck.id.as_str()).filter(|id| *id != "unknown").and_then(|id| what_if::next(&facts, id));
    let waits = waits::without_refuted(facts.waits.clone(), &facts, proof.as_ref());
    let hot = hot::of_run(run);
    let order = verdict::word_order(&facts, &bottleneck);
    let places = places::Places::of(&facts).map(|places| places.places);
    let full_cpus = full_cpus::FullCpus::of(&facts).map(|full| full.advice());
    let known = waits::Known { hot: hot::first(&facts, &hot), places, full_cpus };
    waits::explain(&mut bottleneck, &waits, &known, order);
    waits::explain_idle_loop(&mut bottleneck, &waits, run);
    waits::explain_connection_limit(&mut bottleneck, &waits, run, order);
    let picks = decide::picks(&facts, found.as_ref());
    let capacity = found.map(|found| found.capacity);
    let mut classes = classes::classes(&facts, &picks);
    let class_costs = class_costs::tell(run, &mut classes);
    let course = course::course(run);
    let streams = stream_signs::signs(&facts, &bottleneck, &waits);
    let mut findings = run::Findings {
        limits: facts.limits.clone(),
        classes,
        class_costs,
        picks,
        outcomes: decide::outcomes(&facts, &chances, course.as_ref()),
        course,
        devices: Vec::new(),
        cost_names: COSTS.iter().map(|spec| (spec.id.to_string(), spec.help)).collect(),
        state: decide::state(&facts, &bottleneck),
        hosts: client_hosts::findings(run, &picks),
        one_host: facts.decisive.filter(|t| t.server.is_some()).map(Trial::one_host),
        failure: None,
        capacity: capacity.clone(),
        users: users::users(&facts),
        knee: knee::knee(&facts),
        bottleneck,
        behind: facts.upstreams.clone(),
        proof,
        waits,
        hot,
        waiting: waits::waiting_functions(run),
        span_growth: spans::growth(run, &picks),
        what_if: Vec::new(),
        repeats,
        streams,
        expected: Vec::new(),
        drifts: drift::throughputs(&facts).into_iter().chain(drift::drifts(&facts)).collect(),
        tls_handshake_cpu_us: handshakes::cost(run),
        experiment: run.findings.experiment.clone(),
        checks: run.findings.checks.clone(),
        conclusions: run.findings.conclusions.clone(),
        fits: run.findings.fits.clone(),
        trust: trust::trust(&facts, capacity.as_ref()),
        argument: Vec::new(),
    };
    findings.fits.remove("usl");
    findings.fits.extend(fit::usl_of(&facts).map(|f| ("usl".to_string(), f)));
    findings.argument = argument::argument(&facts, &findings);
    findings.expected = expect::expected(run, &findings);
    findings.failure = decide::failure(&facts, &findings);
    run.findings = findings;
}
