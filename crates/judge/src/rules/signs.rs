//! Questions that several rules ask.

use run::{ErrorKind, Evidence, Trial};

use crate::Facts;
use crate::number::{figure, percent, positive, rate, ratio};
use crate::rules::waiting::Waiting;
use crate::rules::{Verdict, measured};
use crate::view::{Task, View};

/// Share of a processor from which a thread counts as full.
pub(crate) const FULL: f64 = 0.95;
/// The same for the generator.
const CLIENT_FULL: f64 = 0.95;
/// Share of the time that a side is at work, or wants to be, from which messages that pile up before it wait for it.
pub(crate) const HARDLY_RESTS: f64 = 0.8;
/// Share of the generator's own ceiling from which the server is no longer blamed.
const NEAR_CEILING: f64 = 0.8;

/// How the generator was at its own limit.
pub(crate) struct ClientLimit {
    pub(crate) confidence: f64,
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<Evidence>,
}

/// The threads of the generator that make load: as many of the busiest as the plan has.
pub(crate) fn load_threads(facts: &Facts<'_>, view: &View<'_>) -> Vec<Task> {
    let agents = view.processes().iter().filter(|p| p.busy > 0.02).count().max(1);
    let wanted = (facts.run.plan.load.threads.max(1) as usize).saturating_mul(agents.max(1));
    let mut threads = view.workers();
    // Agents that idle bring threads that idle: only those that could matter are taken.
    threads.truncate(wanted.min(threads.iter().filter(|t| t.wants() > 0.02).count().max(1)));
    threads
}

/// Whether the generator was at its own limit in the decisive trial.
pub(crate) fn client_limit(facts: &Facts<'_>) -> Option<ClientLimit> {
    let view = facts.client()?;
    by_threads(facts, &view).or_else(|| by_ceiling(facts, &view)).or_else(|| by_quota(&view))
}

fn by_threads(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let threads = load_threads(facts, view);
    let n = positive(threads.len() as f64)?;
    let busy = threads.iter().map(|t| t.busy).sum::<f64>() / n;
    let wants = threads.iter().map(Task::wants).sum::<f64>() / n;
    let full = busy >= CLIENT_FULL;
    // A thread that waits for a processor as good as all the time it does not run never rests.
    let always = wants >= CLIENT_FULL;
    // One that waits longer than it runs is starved too, even if it also waits for a server that is starved itself; beside
    // one that is full it has time left, and that one has none.
    let mostly = wants - busy >= 0.3 && wants - busy >= busy && !server_full(facts);
    // One that hardly rests while the answers pile up before it is what they wait for.
    let piled_up = Waiting::of(facts).filter(|w| wants >= HARDLY_RESTS && w.at_client() && !facts.shared());
    let starved = (always || mostly || piled_up.is_some()) && !server_takes_it(facts, busy);
    if !full && !starved {
        return None;
    }
    let mut evidence: Vec<Evidence> = threads.iter().take(4).map(|t| thread_line(view, t)).collect();
    evidence.push(Evidence {
        text: format!("it completed {} with that", rate(view.trial.rates.completed_rate)),
        counter: "completed_rate".into(),
        value: Some(view.trial.rates.completed_rate),
        unit: "1/s".into(),
        place: view.place(""),
        limit: None,
    });
    evidence.extend(piled_up.and_then(|w| w.line(facts)));
    let ran = format!(
        "its threads ran {} of the time and waited for a processor {} of it",
        percent(busy),
        percent(wants - busy)
    );
    let sentence = if full {
        format!("the generator's own threads were {} busy, so the server was not taken to its limit", percent(busy))
    } else if let Some(waiting) = piled_up {
        format!("the generator was too slow: {ran}, and {} of the answers waited for it", percent(waiting.client))
    } else {
        format!("the generator was starved: {ran}")
    };
    let confidence = match (full || always, piled_up.is_some()) {
        (true, true) => 0.95,
        (true, false) if full => 0.9,
        (true, false) => 0.85,
        (false, true) => 0.7,
        (false, false) => 0.5,
    };
    Some(ClientLimit { confidence, sentence, evidence })
}

/// Whether the server uses all of processors that are its own.
fn server_full(facts: &Facts<'_>) -> bool {
    let used = facts.server().and_then(|server| ratio(server.cpu_used()?, server.cpu_allowed()?));
    !facts.shared() && used.is_some_and(|used| used >= FULL)
}

/// On shared processors a generator may wait because the server's work fills them. That is the server's limit when the
/// server's work is clearly the larger part, and the generator still got what it needs for itself.
fn server_takes_it(facts: &Facts<'_>, client_busy: f64) -> bool {
    let (Some(client), Some(server)) = (facts.client(), facts.server()) else { return false };
    let (Some(c), Some(s)) = (client.cpu_used(), server.cpu_used()) else { return false };
    let full = server.processors_busy().is_some_and(|b| b >= FULL);
    facts.shared() && full && s >= 1.5 * c && client_busy < 0.8
}

pub(crate) fn thread_line(view: &View<'_>, task: &Task) -> Evidence {
    let waited =
        task.wait.filter(|w| *w >= 0.01).map_or(String::new(), |w| format!(" and waited for one {} of it", percent(w)));
    measured(
        view,
        (if task.name.contains('/') { "thread.cpu" } else { "process.cpu" }, &task.name),
        (task.busy, "processors"),
        Some(1.0),
        format!("{} had a processor {} of the time{waited}", task.name, percent(task.busy)),
    )
}

fn by_ceiling(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let ceiling = facts.run.findings.trust.generator_ceiling.and_then(positive)?;
    let reached = facts.decisive?.rates.completed_rate;
    if reached < NEAR_CEILING * ceiling {
        return None;
    }
    let share = reached / ceiling;
    let evidence = vec![measured(
        view,
        ("completed_rate", ""),
        (reached, "1/s"),
        Some(ceiling),
        format!("{} of the {} that the generator reaches with no network at all", percent(share), rate(ceiling)),
    )];
    let sentence = format!("the generator was at {} of its own ceiling", percent(share));
    Some(ClientLimit { confidence: 0.8, sentence, evidence })
}

fn by_quota(view: &View<'_>) -> Option<ClientLimit> {
    let throttled = throttled(view)?;
    let sentence = "the generator's own control group ran out of its processor quota".to_string();
    (throttled.share >= 0.2).then(|| ClientLimit { confidence: 0.85, sentence, evidence: vec![throttled.evidence] })
}

/// Throttling of a side's control group.
pub(crate) struct Throttled {
    /// Share of the enforcement periods in which the quota ran out.
    pub(crate) share: f64,
    pub(crate) evidence: Evidence,
}

/// How much a side was throttled; absent when there is no quota or nothing could be read.
pub(crate) fn throttled(view: &View<'_>) -> Option<Throttled> {
    let periods = view.value("cgroup.cpu_periods").and_then(positive)?;
    let held = view.value("cgroup.cpu_throttled_periods")?;
    let share = (held / periods).clamp(0.0, 1.0);
    let quota = view.value("cgroup.cpu_quota").map_or(String::new(), |q| format!(" of {} processors", figure(q)));
    let text = format!("the quota{quota} ran out in {} of {} periods", figure(held), figure(periods));
    let evidence = measured(view, ("cgroup.cpu_throttled_periods", ""), (held, ""), Some(periods), text);
    Some(Throttled { share, evidence })
}

/// The rule of both limits of the generator's host: connects that failed before anything was sent.
pub(crate) fn failed_locally(
    facts: &Facts<'_>,
    kind: ErrorKind,
    counter: &'static str,
    thing: &str,
    limit: &'static str,
) -> Verdict {
    let count = |t: &Trial| t.tally.errors.0.get(&kind).copied().unwrap_or(0);
    let Some(trial) = facts.focus().into_iter().max_by_key(|t| count(t)) else {
        return Verdict::CannotSay(vec!["no trial completed anything".into()]);
    };
    let (n, attempted) = (count(trial), trial.tally.attempted);
    if n == 0 && facts.focus().into_iter().all(|t| t.tally.attempted == 0) {
        // Counters that somebody else collected.
        return Verdict::CannotSay(vec!["errors: no connect was counted".into()]);
    }
    if n == 0 {
        return Verdict::RuledOut(format!(
            "none of {} connects failed for want of a {thing}",
            figure(attempted as f64)
        ));
    }
    let view = View::new("client", trial, &trial.client);
    let sentence = format!(
        "{} of {} connects failed because the generator had no {thing} left",
        figure(n as f64),
        figure(attempted as f64)
    );
    let mut evidence = vec![measured(&view, ("errors", ""), (n as f64, ""), Some(attempted as f64), sentence.clone())];
    if let Some(v) = view.max(counter) {
        let bound = view.max(limit);
        let of = bound.map_or(String::new(), |b| format!(" (the limit is {})", figure(b)));
        evidence.push(measured(&view, (counter, ""), (v, ""), bound, format!("{counter} reached {}{of}", figure(v))));
    }
    Verdict::Binds { confidence: 0.95, sentence, evidence }
}

/// Mean share of a processor that the generator's load threads used.
pub(crate) fn client_limit_threads(facts: &Facts<'_>) -> Option<f64> {
    let threads = load_threads(facts, &facts.client()?);
    ratio(threads.iter().map(|t| t.busy).sum(), threads.len() as f64)
}
