//! Trust in the figures of a run: laws that must hold, counts that must agree, and disturbances. The most serious
//! warnings come first.

mod busy_hosts;
mod counts;
mod disturbance;
mod generator;
mod laws;
mod report;
mod time_spent;

use run::{Capacity, Run, Trial, TrialKind, Trust};

use self::busy_hosts::{busy_machine, hypervisor, probe, probe_share};
use self::counts::{counts, stood_at_the_end};
use self::generator::generator;
use self::laws::{bounds, ceiling, little_law, utilisation};
use self::report::Severity::{Imprecise, Misleading, SetUp, Unreliable};
use self::report::TrustReport;
use self::time_spent::{measured_share, spent};
use crate::context::recurring_stops::RecurringStops;
use crate::course::changes_rate;
use crate::estimate::cost_drift::CostDrift;
use crate::failed::failures::Failures;
use crate::generator::{ceiling_used, is_limited};
use crate::number::{counted, cpus, figure, percent, ratio};
use crate::thresholds::COMPETE;
use crate::{Facts, estimate::drift};

/// Checks the figures of a run for contradictions and disturbances. Returns the warnings, and the checks that passed.
pub(crate) fn trust(facts: &Facts<'_>, capacity: Option<&Capacity>) -> Trust {
    let mut report = TrustReport::default();
    failing_everywhere(facts, &mut report);
    let loads: Vec<&Trial> = facts.loaded().collect();
    let stops = RecurringStops::of(&loads, &facts.limits).filter(|_| !facts.run.is_of_chosen_loads());
    stops.into_iter().for_each(|stops| report.warn(Misleading, stops.sentence()));
    CostDrift::of(facts).into_iter().for_each(|drift| report.warn(Misleading, drift.sentence()));
    crate::failed::refused_connects::sentence(facts).into_iter().for_each(|text| report.warn(Unreliable, text));
    let has_changed = throughput(facts, &mut report);
    busy_machine(facts, &mut report);
    let silence = facts.decisive.and_then(crate::failed::silence::sentence);
    silence.into_iter().for_each(|text| report.warn(Unreliable, text));
    drift::drifts(facts).into_iter().for_each(|drift| report.warn(Unreliable, drift.sentence));
    let limited = is_limited(facts);
    let probe_share = facts.decisive.and_then(probe_share);
    generator(facts, (limited, capacity.is_some_and(|c| c.held)), &mut report);
    if let Some(trial) = facts.decisive {
        of_decisive_trial(facts, trial, has_changed, &mut report);
        left_out(capacity, &mut report);
    }
    placement(facts, &mut report);
    bounds(facts, &mut report);
    ceiling(facts, &mut report);
    probe(facts.decisive, probe_share, &mut report);
    whole(facts.run, &mut report);
    let (warnings, held) = report.sorted();
    Trust {
        generator_ceiling: facts.run.findings.trust.generator_ceiling.filter(|c| c.is_finite()),
        ceiling_used: ceiling_used(facts),
        generator_limited: limited,
        warnings,
        held,
        probe_share,
        measured_share: measured_share(facts.run),
        spent: spent(facts.run),
    }
}

/// Checks the figures of the trial that represents the run. `has_changed` is true if a throughput changed during its
/// window.
fn of_decisive_trial(facts: &Facts<'_>, trial: &Trial, has_changed: bool, report: &mut TrustReport) {
    trial.incidents.iter().for_each(|incident| report.warn(Unreliable, incident.text.clone()));
    if !changes_rate(facts.run, trial) {
        little_law(trial, report);
    }
    utilisation(facts, trial, report);
    counts(trial, report);
    crate::network::addresses::difference(trial, facts.limits.errors)
        .into_iter()
        .for_each(|text| report.warn(Unreliable, text));
    window(trial, has_changed, report);
    hypervisor(facts, trial, report);
}

fn placement(facts: &Facts<'_>, report: &mut TrustReport) {
    let host = facts.client().and_then(|v| v.host());
    let busy = host.and_then(|host| ratio(host.busy, host.online));
    if facts.shared() {
        let online = host.map_or_else(|| "CPUs".into(), |host| cpus(host.online));
        let share = format!("client and server share the {online} of one host");
        match busy.filter(|busy| *busy <= COMPETE) {
            Some(busy) => {
                report.hold(format!("{share}, which were {} busy: neither takes CPU from the other", percent(busy)))
            }
            None => {
                report.warn(Unreliable, format!("{share} and compete for CPU: the figures are those of both together"))
            }
        }
    } else if facts.server().zip(facts.client()).is_some_and(|(s, c)| s.side.same_cpus(c.side)) {
        report.warn(
            SetUp,
            "client and server run on one machine, each on its own CPUs, but with shared memory and caches".into(),
        );
    }
    if facts.server().is_some() && crate::context::facts::loopback(facts.run) {
        report.warn(
            SetUp,
            "on loopback the kernel bills receive work to the sender, so CPU cost per side is approximate".into(),
        );
    }
}

/// Adds the warnings about loads whose throughput changed during their windows, and returns true if there are any. No
/// single value describes a rate that changed, so the largest change is among the most serious warnings.
fn throughput(facts: &Facts<'_>, report: &mut TrustReport) -> bool {
    let changed = drift::throughputs(facts);
    for (at, drift) in changed.iter().enumerate() {
        report.warn(if at == 0 { Misleading } else { Imprecise }, drift.sentence.clone());
    }
    !changed.is_empty()
}

/// Adds a warning about failures that do not depend on the load.
fn failing_everywhere(facts: &Facts<'_>, report: &mut TrustReport) {
    match Failures::of(facts) {
        Some(failures) if failures.stretch.is_some() => report.warn(Misleading, failures.sentence()),
        Some(failures) if failures.at_every_load => report.warn(
            Misleading,
            format!(
                "{}{}: mend them, or allow them (--errors)",
                failures.sentence(),
                if facts.run.is_of_chosen_loads() { "" } else { ", so no rate holds the objective" }
            ),
        ),
        _ => {}
    }
}

fn window(trial: &Trial, changed: bool, report: &mut TrustReport) {
    let n = trial.measured.tally.completed;
    // If the longest response time is unknown, another tool collected the figures. Figures of another tool need no
    // warning about p99.
    if n < 1000 && trial.latency_us.max > 0.0 {
        report.warn(
            Imprecise,
            format!(
                "only {} measured{}: p99 depends on {} of them",
                counted(n as f64, "request"),
                if trial.kind == TrialKind::Fixed { "" } else { " at the limit" },
                figure((n as f64 / 100.0).ceil())
            ),
        );
    }
    if let Some(text) = stood_at_the_end(trial) {
        report.warn(Unreliable, text);
    }
    // A load that the user chose gets no warning about a short warm-up, because the user may have wanted none.
    if trial.steady.too_short && trial.kind != TrialKind::Fixed {
        report.warn(Imprecise, "the warm-up was too short to show that throughput had settled".into());
    } else if !trial.steady.steady && !trial.steady.too_short && !trial.steady.reason.is_empty() {
        report.warn(Unreliable, format!("throughput had not settled when measuring began: {}", trial.steady.reason));
    } else if trial.steady.steady && !changed {
        report.hold(format!("throughput had settled: {}", trial.steady.reason));
    }
}

/// Adds a warning about time of the search that was left out, because something other than the server disturbed it.
fn left_out(capacity: Option<&Capacity>, report: &mut TrustReport) {
    let Some((capacity, left_out)) = capacity.and_then(|capacity| Some((capacity, capacity.left_out.as_ref()?))) else {
        return;
    };
    // Time that could not be left out is part of the figures.
    let severity = if left_out.rate.is_some() { Imprecise } else { Unreliable };
    report.warn(severity, disturbance::warning(capacity.rate, left_out));
}

fn whole(run: &Run, report: &mut TrustReport) {
    // A run that only times function calls has no server and no verdict, so it gets no warning about missing counters
    // of the server.
    if run.sent_requests() && run.trials.iter().all(|t| t.server.is_none()) {
        report.warn(
            Unreliable,
            "no counter of the server was read: the verdict depends on the client's side alone".into(),
        );
    }
}
