//! Laws that the figures of a run must obey: Little's law, the utilization law, and the bounds of a closed loop.

use run::Trial;

use super::report::Severity::{Imprecise, Unreliable};
use super::report::TrustReport;
use crate::context::laws::{beyond_bound, little};
use crate::context::single::{clients, good, mostly_refused, r1_us, server_of, sides_of};
use crate::context::view::View;
use crate::number::{counted, cpus, duration, figure, percent, rate, ratio};
use crate::thresholds::{CHARGED_APART, DEMAND_CHANGES, LITTLE_DIFFERS, MORE_THAN_ALL};
use crate::{Facts, context::knee, context::ticks};

/// Checks Little's law: the rate times the response time is the number of requests in flight. The caller leaves out
/// loads with a changing rate. Little's law does not apply to such loads, because requests in flight at the beginning
/// and at the end differ.
pub(super) fn little_law(trial: &Trial, report: &mut TrustReport) {
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
    // Requests at the window's edges may explain a difference that exceeds `LITTLE_DIFFERS` by at most `edges`. If
    // requests at the window's edges may explain the difference, the check neither fails nor passes.
    if difference > LITTLE_DIFFERS + edges {
        report.warn(Unreliable, format!("Little's law fails, so a count or a time is wrong: {text}"));
    } else if difference <= LITTLE_DIFFERS {
        report.hold(format!("Little's law holds: {text}"));
    }
}

/// Checks the CPU use of both sides.
pub(super) fn utilisation(facts: &Facts<'_>, trial: &Trial, report: &mut TrustReport) {
    sides_of(trial).iter().for_each(|view| possible_cpu_use(view, report));
    predicted_cpu_use(facts, trial, report);
}

/// Checks that one side's CPU use is possible. No host can use more CPUs than it has, and no process more than its
/// host.
fn possible_cpu_use(view: &View<'_>, report: &mut TrustReport) {
    let Some(host) = view.host() else { return };
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
        report.warn(
            Imprecise,
            format!(
                "{}: its processes used {}, but only {} of the host's were busy: the kernel counts the two differently",
                view.place(""),
                cpus(own),
                figure(host.busy)
            ),
        );
    }
}

/// Checks that the server's CPU use at the limit is what lighter loads predict: U = X D (utilization = rate times
/// demand).
fn predicted_cpu_use(facts: &Facts<'_>, trial: &Trial, report: &mut TrustReport) {
    // A refusal costs less than a good answer, so a load of refusals does not show the cost of a request.
    let demand = |t: &Trial| {
        let view = server_of(t).filter(|_| !mostly_refused(t))?;
        ratio(view.cpu_used()?, t.rates.completed_rate)
    };
    let middle = facts.sweep.get(facts.sweep.len() / 2).copied().filter(|t| !std::ptr::eq(*t, trial));
    let (Some(at_limit), Some(before)) = (demand(trial), middle.and_then(demand)) else { return };
    let foretold = before * trial.rates.completed_rate;
    let used = at_limit * trial.rates.completed_rate;
    let text = format!(
        "{} per request at half load predicts {} busy CPUs at the limit, and {} were busy",
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
pub(super) fn bounds(facts: &Facts<'_>, report: &mut TrustReport) {
    let Some(r1) = facts.unloaded.filter(|_| facts.sweep.len() >= 2).and_then(r1_us) else {
        return;
    };
    match beyond_bound(facts) {
        Some(t) => report.warn(Imprecise, format!(
            "R1 is too high, so no knee is given: {} clients did more than {} times the work of one client, because each request of a single client also waits for a wake-up",
            figure(clients(t)),
            figure(clients(t))
        )),
        None => report.hold(format!("no step of the sweep exceeds its bound N / R1 (R1 {})", duration(r1))),
    }
}

/// Checks Xmax, the highest rate of the closed loop. If an open loop completed clearly more requests per second, the
/// knee that follows from Xmax is too low.
pub(super) fn ceiling(facts: &Facts<'_>, report: &mut TrustReport) {
    if let Some(text) = facts.outgrown_text() {
        report.warn(Unreliable, format!("{text}; run `loadline find` again, now that it is warm"));
    }
    let Some(knee) = knee::of_sweep(facts) else { return };
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
