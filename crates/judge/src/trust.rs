//! Whether the figures can be relied on: laws that must hold, counts that must agree, and what makes them weaker than
//! they look. The most weighty warnings come first.

use run::{Intensity, Run, Trial, Trust};

use crate::Facts;
use crate::facts::{server_of, sides_of};
use crate::laws::{little, think_us};
use crate::number::{duration, figure, percent, positive, rate, ratio};
use crate::rules::{client_limit, client_limit_threads};

/// Difference that Little's law may show: counts in flight are kept exactly, so only the edges of the window differ.
const LITTLE: f64 = 0.05;

#[derive(Default)]
struct Said {
    warnings: Vec<String>,
    held: Vec<String>,
}

impl Said {
    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    fn hold(&mut self, text: String) {
        self.held.push(text);
    }
}

/// Checks a run.
pub(crate) fn trust(facts: &Facts<'_>) -> Trust {
    let mut said = Said::default();
    let limited = client_limit(facts);
    let probe_share = facts.decisive.and_then(probe_share);
    placement(facts, &mut said);
    generator(facts, limited.as_ref().map(|l| l.sentence.as_str()), &mut said);
    if let Some(trial) = facts.decisive {
        trial.incidents.iter().for_each(|incident| said.warn(incident.text.clone()));
        little_law(trial, &mut said);
        utilisation(facts, trial, &mut said);
        counts(trial, &mut said);
        window(trial, &mut said);
        strangers(facts, trial, &mut said);
    }
    bounds(facts, &mut said);
    probe(facts.decisive, probe_share, &mut said);
    whole(facts.run, &mut said);
    Trust {
        generator_ceiling: facts.run.findings.trust.generator_ceiling.filter(|c| c.is_finite()),
        generator_limited: limited.is_some(),
        warnings: said.warnings,
        held: said.held,
        probe_share,
    }
}

fn placement(facts: &Facts<'_>, said: &mut Said) {
    let online = facts.client().and_then(|v| v.online()).map_or(String::new(), |n| format!(" {}", figure(n)));
    if facts.shared() {
        said.warn(format!(
            "client and server share the{online} processors of one host: what one uses the other cannot have, and the capacity is that of both together"
        ));
    } else if facts.server().zip(facts.client()).is_some_and(|(s, c)| s.side.same_processors(c.side)) {
        said.warn(
            "client and server are on one machine, each on processors of its own; memory and caches are shared".into(),
        );
    }
    if facts.server().is_some() && crate::facts::loopback(facts.run) {
        said.warn("on loopback the kernel does the receiver's network work on the sender's account: costs of both sides lean towards who sends more".into());
    }
}

fn generator(facts: &Facts<'_>, limited: Option<&str>, said: &mut Said) {
    if let Some(how) = limited {
        said.warn(format!("{how}: the rates are those of the generator, the server takes at least as much"));
    } else if let Some(busy) = client_limit_threads(facts) {
        let text = format!("the generator's threads used {} of a processor each at the limit", percent(busy));
        if busy > 0.8 { said.warn(format!("{text}: little is left")) } else { said.hold(text) }
    }
    if let Some(ceiling) = facts.run.findings.trust.generator_ceiling.and_then(positive)
        && let Some(trial) = facts.decisive
    {
        let share = trial.rates.completed_rate / ceiling;
        said.hold(format!(
            "the rate is {} of what the generator reaches with no network ({})",
            percent(share),
            rate(ceiling)
        ));
    }
    let late = facts.run.trials.iter().filter(|t| matches!(t.intensity, Intensity::Open { .. }));
    let late = late.filter(|t| t.start_error_us.count > 0 && t.start_error_us.p99 > 1000.0);
    if let Some(worst) = late.max_by(|a, b| a.start_error_us.p99.total_cmp(&b.start_error_us.p99)) {
        said.warn(format!(
            "the generator sent late by its own doing: p99 {} at {} (response times count from the intended start, so they hold it)",
            duration(worst.start_error_us.p99),
            rate(worst.rates.offered_rate)
        ));
    }
}

fn little_law(trial: &Trial, said: &mut Said) {
    let Some((seen, law)) = little(trial) else { return };
    let difference = (law - seen).abs() / seen;
    // Requests under way at the edges of the window count on one side only: few against many, or short against long.
    let few = ratio(seen, trial.measured.tally.completed as f64).unwrap_or(0.0);
    let long = ratio(trial.latency_us.p99 / 1e6, trial.measured.length_s).unwrap_or(0.0);
    let edges = few.max(long);
    let text = format!(
        "Little's law: {} in flight, rate times service time gives {} ({} apart)",
        figure(seen),
        figure(law),
        percent(difference)
    );
    if difference > LITTLE + edges { said.warn(format!("{text}: a count or a time is wrong")) } else { said.hold(text) }
}

/// U = X D for the server's processors: the demand measured at lighter loads must foretell the use at the limit, and no
/// device can be busier than all the time.
fn utilisation(facts: &Facts<'_>, trial: &Trial, said: &mut Said) {
    for view in sides_of(trial) {
        let Some(host) = view.host() else { continue };
        // The kernel counts in ticks of 10 ms, two of which may fall on the wrong side of each edge.
        let ticks = view.span_s.map_or(0.0, |s| 0.04 / s);
        if host.busy > (1.02 + ticks) * host.online {
            said.warn(format!(
                "{}: {} processors' worth of work on {} processors: the counters contradict themselves",
                view.place(""),
                figure(host.busy),
                figure(host.online)
            ));
        }
        let own = view.cpu_used().unwrap_or(0.0);
        if own > 1.05 * host.busy + 0.05 {
            said.warn(format!(
                "{}: its processes used {} processors, the host says only {} were busy: time is charged in different ways",
                view.place(""),
                figure(own),
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
        "utilisation law: the demand of {} a request half-way foretells {} busy processors at the limit, {} were",
        duration(before * 1e6),
        figure(foretold),
        figure(used)
    );
    if (foretold - used).abs() <= 0.25 * used {
        said.hold(text)
    } else {
        said.warn(format!("{text}: the cost of a request changes with the load"))
    }
}

/// The first step of the sweep that did more than its number of clients allows by the first one's response time. Then
/// R1 is no service time: one client pays for waking up what several share.
pub(crate) fn beyond_bound<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    let r1 = crate::knee::r1_us(facts.unloaded?)?;
    let over = |t: &&&Trial| {
        let bound = crate::laws::bound(crate::facts::clients(t), r1, think_us(t), None);
        bound.is_some_and(|b| t.rates.completed_rate > 1.1 * b)
    };
    facts.sweep.iter().find(over).copied()
}

/// The bounds of a closed system: X <= N / (R1 + Z).
fn bounds(facts: &Facts<'_>, said: &mut Said) {
    let Some(r1) = facts.unloaded.filter(|_| facts.sweep.len() >= 2).and_then(crate::knee::r1_us) else { return };
    match beyond_bound(facts) {
        Some(t) => said.warn(format!(
            "{} clients did more than {} clients' worth of the first one's work: one client pays for waking up what several share, so R1 and the knee are too high",
            figure(crate::facts::clients(t)),
            figure(crate::facts::clients(t))
        )),
        None => said.hold(format!("no step of the sweep exceeds its bound N / R1 (R1 {})", duration(r1))),
    }
}

fn counts(trial: &Trial, said: &mut Said) {
    let t = &trial.tally;
    let known = t.completed.saturating_add(t.error_count()).saturating_add(t.unanswered);
    if t.sent > known {
        said.warn(format!(
            "{} requests were sent and neither answered nor counted as failed",
            figure((t.sent - known) as f64)
        ));
    }
    let ours = trial.measured.tally.connected as f64;
    let seen = server_of(trial).and_then(|server| server.value("tcp.passive_opens"));
    if let Some(text) = crate::phantoms::unanswered(t.phantom, ours, seen) {
        said.warn(text);
    }
    let Some(seen) = seen.filter(|seen| ours.max(*seen) >= 20.0) else { return };
    let text = format!("the client counts {} new connections, the server's host {}", figure(ours), figure(seen));
    // Both sides are read one after the other, some 10 ms apart, with connections under way at either edge.
    let edges = 5.0 + trial.rates.concurrency + 0.01 * ratio(ours, trial.measured.length_s).unwrap_or(0.0);
    if (seen - ours).abs() <= 0.02 * ours.max(seen) + edges {
        said.hold(text);
    } else {
        said.warn(format!("{text}: others connect too, or connections were lost on the way"));
    }
}

fn window(trial: &Trial, said: &mut Said) {
    let n = trial.measured.tally.completed;
    // Without a longest response time there was no histogram: the figures were collected elsewhere.
    if n < 1000 && trial.latency_us.max > 0.0 {
        said.warn(format!(
            "only {} requests were measured at the limit: p99 rests on {} of them",
            figure(n as f64),
            figure((n as f64 / 100.0).ceil())
        ));
    }
    if !trial.steady.steady && !trial.steady.reason.is_empty() {
        said.warn(format!("the rate had not settled when measuring began: {}", trial.steady.reason));
    } else if trial.steady.steady {
        said.hold(format!("the rate had settled: {}", trial.steady.reason));
    }
}

/// Work on the hosts that is neither the client's nor the server's.
fn strangers(facts: &Facts<'_>, trial: &Trial, said: &mut Said) {
    for view in sides_of(trial) {
        let Some(host) = view.host() else { continue };
        if host.steal > 0.02 * host.online {
            said.warn(format!("{}: the hypervisor took {} processors away", view.place(""), figure(host.steal)));
        }
    }
    if let Some(share) = facts.failing.map(crate::stolen).filter(|share| *share > 0.0) {
        said.warn(format!(
            "the hypervisor took a processor away for {} of the step that broke the objective: what the server holds \
             on a machine of its own may be higher",
            percent(share)
        ));
    }
    if let Some(failing) = facts.failing.filter(|t| crate::paused(t, &facts.limits)) {
        said.warn(format!(
            "a pause broke the objective, not a queue: at {} offered nine answers in ten took less than {}, the slowest of \
             a hundred {}",
            rate(failing.rates.offered_rate),
            duration(failing.latency_us.p90),
            duration(failing.latency_us.p99)
        ));
    }
    if let Some((taken, online)) = facts.strangers() {
        said.warn(format!(
            "other programs used {} of {} processors meanwhile: measure again on a quiet machine",
            figure(taken),
            figure(online)
        ));
    }
}

fn probe_share(trial: &Trial) -> Option<f64> {
    let shares = sides_of(trial).into_iter().filter_map(|v| v.share_of_time("probe.cpu"));
    shares.reduce(f64::max)
}

fn probe(decisive: Option<&Trial>, share: Option<f64>, said: &mut Said) {
    match share {
        Some(s) if s > 0.01 => said.warn(format!("reading the counters cost {} of a processor", percent(s))),
        Some(s) => said.hold(format!("reading the counters cost {} of a processor", percent(s))),
        None => {}
    }
    let late = decisive.map(sides_of).unwrap_or_default();
    let late = late.iter().filter_map(|v| v.value("probe.late")).reduce(f64::max);
    if let Some(n) = late.filter(|n| *n >= 1.0) {
        said.warn(format!("{} samples were taken late: the host was too busy to read its own counters", figure(n)));
    }
}

fn whole(run: &Run, said: &mut Said) {
    if run.interrupted {
        said.warn("the run was ended early: what is here was measured, the rest is not known".into());
    }
    // Trials that time a library send no requests: no server is there to be read, and no verdict rests on anything.
    if run.asked() && run.trials.iter().all(|t| t.server.is_none()) {
        said.warn("nothing of the server's side was read: the verdict rests on the client's side alone".into());
    }
}
