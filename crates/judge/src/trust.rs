//! Trust in the figures of a run: laws that must hold, counts that must agree, and disturbances. The most serious
//! warnings come first.

mod disturbance;
mod report;

use run::{Capacity, Intensity, Run, Summary, TimeSpent, Trial, TrialKind, Trust};

use self::report::Severity::{Imprecise, Misleading, SetUp, Unreliable};
use self::report::TrustReport;
use crate::context::laws::little;
use crate::context::single::{good, server_of, sides_of};
use crate::course::changes_rate;
use crate::estimate::cost_drift::CostDrift;
use crate::failed::failures::Failures;
use crate::generator::{ceiling_used, client_limit_threads, is_limited, refuses_the_rest};
use crate::number::{counted, cpus, duration, figure, percent, positive, rate, ratio};
use crate::thresholds::{
    BUSY, CHARGED_APART, COMPETE, DEMAND_CHANGES, LITTLE_DIFFERS, MORE_THAN_ALL, OLD_US, OLDER, PROBE_COSTS,
    SENT_LATE_US, STOLEN_SHARE,
};
use crate::{Facts, context::ticks, estimate::drift};

/// Checks the figures of a run for contradictions and disturbances. Returns the warnings, and the checks that passed.
pub(crate) fn trust(facts: &Facts<'_>, capacity: Option<&Capacity>) -> Trust {
    let mut report = TrustReport::default();
    failing_everywhere(facts, &mut report);
    CostDrift::of(facts).into_iter().for_each(|drift| report.warn(Misleading, drift.sentence()));
    let has_changed = throughput(facts, &mut report);
    busy_machine(facts, &mut report);
    let silence = facts.decisive.and_then(crate::failed::silence::sentence);
    silence.into_iter().for_each(|text| report.warn(Unreliable, text));
    drift::drifts(facts).into_iter().for_each(|drift| report.warn(Unreliable, drift.sentence));
    let limited = is_limited(facts);
    let probe_share = facts.decisive.and_then(probe_share);
    generator(facts, (limited, capacity.is_some_and(|c| c.held)), &mut report);
    if let Some(trial) = facts.decisive {
        trial.incidents.iter().for_each(|incident| report.warn(Unreliable, incident.text.clone()));
        if !changes_rate(facts.run, trial) {
            little_law(trial, &mut report);
        }
        utilisation(facts, trial, &mut report);
        counts(trial, &mut report);
        crate::network::addresses::difference(trial, facts.limits.errors)
            .into_iter()
            .for_each(|text| report.warn(Unreliable, text));
        window(trial, has_changed, &mut report);
        hypervisor(facts, trial, &mut report);
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

/// Returns the share of a run's time in which trials were measured. Returns `None` if the length of the whole run is
/// unknown.
fn measured_share(run: &Run) -> Option<f64> {
    let measured_s: f64 = run.trials.iter().map(|t| t.measured.window.length_s()).filter(|s| s.is_finite()).sum();
    ratio(measured_s, positive(run.elapsed_s)?).filter(|share| (0.0..=1.0).contains(share))
}

/// Returns how many seconds of a run were spent on measurement, on starts, on waiting for late answers, and on the
/// rest. Returns `None` if the total time is unknown, or if the run's trials record only their measured windows.
fn spent(run: &Run) -> Option<TimeSpent> {
    let elapsed_s = positive(run.elapsed_s)?;
    let around: Vec<_> = run.trials.iter().filter_map(|t| t.measured.around).collect();
    let at_rest = run.at_rest.iter().map(|side| side.recording.length_s());
    let spent = TimeSpent {
        measured_s: run.trials.iter().map(|t| t.measured.window.length_s()).sum(),
        at_rest_s: at_rest.reduce(f64::max).unwrap_or(0.0),
        start_s: around.iter().map(|a| a.start_s).sum(),
        settle_s: run.trials.iter().map(|t| t.measured.window.begin_s).sum(),
        drain_s: around.iter().map(|a| a.drain_s).sum(),
        other_s: 0.0,
    };
    let known_s = spent.measured_s + spent.at_rest_s + spent.start_s + spent.settle_s + spent.drain_s;
    (!around.is_empty() && known_s.is_finite()).then(|| TimeSpent { other_s: (elapsed_s - known_s).max(0.0), ..spent })
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

fn generator(facts: &Facts<'_>, (limited, held): (bool, bool), report: &mut TrustReport) {
    if limited {
        // If no rate met the objective, the run does not show a rate that the server can sustain.
        let shown = if held { "the server can take at least this rate" } else { "the figures are the generator's" };
        report.warn(Misleading, format!("the generator was at its limit: {shown}"));
    } else if let Some(busy) = client_limit_threads(facts).filter(|_| !refuses_the_rest(facts)) {
        let text = format!("the generator's threads used {} of a CPU each at the limit", percent(busy));
        if busy > BUSY { report.warn(Imprecise, format!("{text}: little headroom is left")) } else { report.hold(text) }
    }
    crate::context::client_hosts::uneven(facts).into_iter().for_each(|text| report.warn(Unreliable, text));
    if let Some((ceiling, share)) = facts.run.findings.trust.generator_ceiling.zip(ceiling_used(facts)) {
        report.hold(format!(
            "the rate is {} of the {} that the generator reaches without a network",
            percent(share),
            rate(ceiling)
        ));
    }
    let late = facts.run.trials.iter().filter(|t| matches!(t.intensity, Intensity::Open { .. }));
    let late = late.filter(|t| t.start_error_us.count > 0 && t.start_error_us.p99 > SENT_LATE_US);
    if let Some(worst) = late.max_by(|a, b| a.start_error_us.p99.total_cmp(&b.start_error_us.p99)) {
        report.warn(
            Unreliable,
            format!(
                "the generator sent requests late (p99 {} at {}); response times include this delay",
                duration(worst.start_error_us.p99),
                crate::course::offered(facts.run, worst)
            ),
        );
    }
}

/// Checks Little's law: the rate times the response time is the number of requests in flight. The caller leaves out
/// loads with a changing rate. Little's law does not apply to such loads, because requests in flight at the beginning
/// and at the end differ.
fn little_law(trial: &Trial, report: &mut TrustReport) {
    let Some((seen, law)) = little(trial) else { return };
    let difference = (law - seen).abs() / seen;
    // A request at an edge of the window may be in only one of the two compared numbers: requests in flight, or rate
    // times service time.
    let few = ratio(seen, trial.measured.tally.completed as f64).unwrap_or(0.0);
    let long = ratio(trial.latency_us.p99 / 1e6, trial.measured.length_s).unwrap_or(0.0);
    let edges = few.max(long);
    let text = format!(
        "{} in flight, and rate × service time gives {} ({} apart)",
        counted(seen, "request"),
        figure(law),
        percent(difference)
    );
    // Such requests may explain a difference that exceeds `LITTLE_DIFFERS` by at most `edges`. If requests at the
    // window's edges may explain the difference, the check neither fails nor passes.
    if difference > LITTLE_DIFFERS + edges {
        report.warn(Unreliable, format!("Little's law fails, so a count or a time is wrong: {text}"));
    } else if difference <= LITTLE_DIFFERS {
        report.hold(format!("Little's law holds: {text}"));
    }
}

/// Checks the CPU use of both sides. No host can use more CPUs than it has, and no process more than its host. At the
/// limit, the CPU use must be what lighter loads predict: U = X D (utilization = rate times demand).
fn utilisation(facts: &Facts<'_>, trial: &Trial, report: &mut TrustReport) {
    for view in sides_of(trial) {
        let Some(host) = view.host() else { continue };
        let ticks = view.span_s.map_or(0.0, |s| ticks::error_s(&ticks::OF_HOST) / s);
        if host.busy > (1.0 + MORE_THAN_ALL + ticks) * host.online {
            report.warn(
                Unreliable,
                format!(
                    "{}: the counters contradict each other: {} of {} were busy",
                    view.place(""),
                    figure(host.busy),
                    cpus(host.online)
                ),
            );
        }
        let own = view.cpu_used().unwrap_or(0.0);
        if own > (1.0 + CHARGED_APART) * host.busy + CHARGED_APART {
            report.warn(Imprecise, format!(
                "{}: its processes used {}, but only {} of the host's were busy: the kernel counts the two differently",
                view.place(""),
                cpus(own),
                figure(host.busy)
            ));
        }
    }
    let demand = |t: &Trial| server_of(t).and_then(|v| ratio(v.cpu_used()?, t.rates.completed_rate));
    let middle = facts.sweep.get(facts.sweep.len() / 2).copied().filter(|t| !std::ptr::eq(*t, trial));
    let (Some(at_limit), Some(before)) = (demand(trial), middle.and_then(demand)) else { return };
    let foretold = before * trial.rates.completed_rate;
    let used = at_limit * trial.rates.completed_rate;
    let text = format!(
        "{} per request at half load predicts {} busy CPUs at the limit, {} were",
        duration(before * 1e6),
        figure(foretold),
        figure(used)
    );
    if (foretold - used).abs() <= DEMAND_CHANGES * used {
        report.hold(format!("the CPU cost per request stays the same: {text}"))
    } else {
        report.warn(Imprecise, format!("the CPU cost per request changes with the load: {text}"))
    }
}

/// Checks that the measured rates of a closed loop are possible: X <= N / (R1 + Z). The rate X of N clients is at most
/// N, divided by the sum of the response time R1 with one client and the think time Z.
fn bounds(facts: &Facts<'_>, report: &mut TrustReport) {
    let Some(r1) = facts.unloaded.filter(|_| facts.sweep.len() >= 2).and_then(crate::context::single::r1_us) else {
        return;
    };
    match crate::context::laws::beyond_bound(facts) {
        Some(t) => report.warn(Imprecise, format!(
            "R1 is too high, so no knee is given: {} clients did more than {} times the work of one client, because each request of a single client also waits for a wake-up",
            figure(crate::context::single::clients(t)),
            figure(crate::context::single::clients(t))
        )),
        None => report.hold(format!("no step of the sweep exceeds its bound N / R1 (R1 {})", duration(r1))),
    }
}

/// Checks Xmax, the highest rate of the closed loop. If an open loop completed clearly more requests per second, the
/// knee that follows from Xmax is too low.
fn ceiling(facts: &Facts<'_>, report: &mut TrustReport) {
    if let Some(text) = facts.outgrown_text() {
        report.warn(Unreliable, format!("{text}; run `loadline find` again, now that it is warm"));
    }
    let Some(knee) = crate::context::knee::of_sweep(facts) else { return };
    if let Some(most) = facts.beyond_closed_loop() {
        report.warn(Imprecise, format!(
            "the closed loop did not reach the highest rate: the open loop completed {} (offered: {}), the closed loop {}; the knee is above {}",
            rate(good(most)),
            rate(most.rates.offered_rate),
            rate(knee.x_max),
            figure(knee.concurrency)
        ));
    }
}

fn counts(trial: &Trial, report: &mut TrustReport) {
    let t = &trial.tally;
    let known = t.completed.saturating_add(t.error_count()).saturating_add(t.unanswered);
    if t.sent > known {
        report.warn(
            Unreliable,
            format!(
                "unaccounted for: {} sent, but neither answered nor failed",
                counted((t.sent - known) as f64, "request")
            ),
        );
    }
    crate::failed::unopened::unopened(trial).into_iter().for_each(|text| report.warn(Unreliable, text));
    let ours = trial.measured.tally.connected as f64;
    let seen = server_of(trial).and_then(|server| server.value("tcp.passive_opens"));
    if let Some(text) = crate::failed::phantoms::unanswered(t.phantom, ours, seen) {
        report.warn(Unreliable, text);
    }
    let Some(seen) = seen.filter(|seen| ours.max(*seen) >= 20.0) else { return };
    // The counters of the two sides are read up to about 10 ms apart. Some connections are in progress at the beginning
    // or the end of the window.
    let edges = 5.0 + trial.rates.concurrency + 0.01 * ratio(ours, trial.measured.length_s).unwrap_or(0.0);
    if (seen - ours).abs() <= 0.02 * ours.max(seen) + edges {
        report.hold(format!(
            "client and server's host agree on new connections: {} and {}",
            figure(ours),
            figure(seen)
        ));
    } else if seen > ours {
        report.warn(
            Unreliable,
            format!("not ours on the server's host: {}", counted((seen - ours).round(), "connection")),
        );
    } else {
        let (lost, ours) = (figure((ours - seen).round()), figure(ours));
        report.warn(Unreliable, format!("{lost} of our {ours} new connections did not reach the server's host"));
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

/// Returns a sentence if requests were still unanswered at the end of the window and had waited far longer than any
/// answered request.
fn stood_at_the_end(trial: &Trial) -> Option<String> {
    let ages = Summary::of(trial.histograms.get("under_way").filter(|ages| !ages.is_empty())?);
    let longest = positive(trial.latency_us.max)?;
    (ages.max > OLDER * longest && ages.max > OLD_US).then(|| {
        format!(
            "something stalled: {} without an answer when measuring ended, the oldest for {} (longest answer: {})",
            counted(ages.count as f64, "request"),
            duration(ages.max),
            duration(longest)
        )
    })
}

/// Adds warnings about CPU time that the hypervisor took.
fn hypervisor(facts: &Facts<'_>, trial: &Trial, report: &mut TrustReport) {
    for view in sides_of(trial) {
        let Some(host) = view.host() else { continue };
        if host.steal > STOLEN_SHARE * host.online {
            report.warn(Unreliable, format!("{}: the hypervisor took {} away", view.place(""), cpus(host.steal)));
        }
    }
    if let Some(share) = facts.failing.map(crate::stolen).filter(|share| *share > 0.0) {
        report.warn(Unreliable, format!(
            "the hypervisor took a CPU away for {} of the step that failed the objective: the capacity may be higher on \
             dedicated hardware",
            percent(share)
        ));
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

fn busy_machine(facts: &Facts<'_>, report: &mut TrustReport) {
    if let Some((taken, online)) = facts.other_processes_cpu() {
        report.warn(
            Unreliable,
            format!(
                "other programs used {} of {}: measure again on a quiet machine",
                figure(taken.min(online)),
                cpus(online)
            ),
        );
    }
}

fn probe_share(trial: &Trial) -> Option<f64> {
    let shares = sides_of(trial).into_iter().filter_map(|v| v.share_of_time("probe.cpu"));
    shares.reduce(f64::max)
}

fn probe(decisive: Option<&Trial>, share: Option<f64>, report: &mut TrustReport) {
    match share {
        Some(s) if s > PROBE_COSTS => {
            report.warn(Imprecise, format!("reading the counters cost {} of a CPU", percent(s)))
        }
        Some(s) => report.hold(format!("reading the counters cost {} of a CPU", percent(s))),
        None => {}
    }
    let late = decisive.map(sides_of).unwrap_or_default();
    let late = late.iter().filter_map(|v| v.value("probe.late")).reduce(f64::max);
    if let Some(n) = late.filter(|n| *n >= 1.0) {
        report.warn(
            Imprecise,
            format!("{} counter samples were late: the host was too busy to read them in time", figure(n)),
        );
    }
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
