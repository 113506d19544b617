//! Whether the generator was at its own limit: then no figure is the server's.

use run::{Evidence, FigureUnit};

use crate::Facts;
use crate::client_hosts;
use crate::evidence::{measured, thread_line, throttled};
use crate::number::{percent, positive, rate, ratio};
use crate::overflow::Overflow;
use crate::thresholds::{AGENT_WORKS, BUSY, FULL, KEEPS_UP, NEAR_CEILING, OUTWEIGHS, STARVED_WAIT, THROTTLED};
use crate::view::{Task, View};
use crate::waiting::Waiting;

/// How the generator was at its own limit.
pub(crate) struct ClientLimit {
    pub(crate) confidence: f64,
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<Evidence>,
}

/// The threads of the generator that make load: as many of the busiest as the plan has.
pub(crate) fn load_threads(facts: &Facts<'_>, view: &View<'_>) -> Vec<Task> {
    let agents = view.processes().iter().filter(|p| p.busy > AGENT_WORKS).count().max(1);
    let wanted = (facts.run.plan.load.threads.max(1) as usize).saturating_mul(agents.max(1));
    let mut threads = view.workers();
    // Agents that idle bring threads that idle: only those that could matter are taken.
    threads.truncate(wanted.min(threads.iter().filter(|t| t.wants() > AGENT_WORKS).count().max(1)));
    threads
}

/// Whether the generator was at its own limit in the decisive trial. It is no limit where the server refuses whatever is
/// asked for beyond a rate of its own.
pub(crate) fn client_limit(facts: &Facts<'_>) -> Option<ClientLimit> {
    let view = facts.client().filter(|_| !(facts.run.asked() && facts.refusals.keep_one_rate()))?;
    let mut limit = by_threads(facts, &view).or_else(|| by_ceiling(facts, &view)).or_else(|| by_quota(&view))?;
    if let Some((on, others)) = client_hosts::among(facts) {
        limit.sentence = format!("{on}{}{others}", limit.sentence);
    }
    Some(limit)
}

fn by_threads(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let threads = load_threads(facts, view);
    let n = positive(threads.len() as f64)?;
    let busy = threads.iter().map(|t| t.busy).sum::<f64>() / n;
    let wants = threads.iter().map(Task::wants).sum::<f64>() / n;
    let full = busy >= FULL;
    // A thread that waits for a processor as good as all the time it does not run never rests.
    let always = wants >= FULL;
    // One that waits longer than it runs is starved too, even if it also waits for a server that is starved itself; beside
    // one that is full it has time left, and that one has none.
    let mostly = wants - busy >= STARVED_WAIT && wants - busy >= busy && !server_full(facts);
    // One that hardly rests while the answers pile up before it is what they wait for.
    let piled_up = Waiting::of(facts).filter(|w| wants >= BUSY && w.at_client() && !facts.shared());
    // Connects that a full accept queue dropped came faster than the server takes them, however little the generator ran.
    // Clients that wait for nothing but a CPU and do not keep their own pace are another matter.
    let behind =
        |t: &run::Trial| t.intensity.waits_for_cpu_alone() && t.rates.sent_rate < KEEPS_UP * t.rates.offered_rate;
    let too_fast = Overflow::worst(facts).is_some_and(|o| o.counts()) && !facts.decisive.is_some_and(behind);
    let starved = ((always || mostly) && !too_fast || piled_up.is_some()) && !server_takes_it(facts, busy);
    if !full && !starved {
        return None;
    }
    let mut evidence: Vec<Evidence> = threads.iter().take(4).map(|t| thread_line(view, t)).collect();
    let completed = view.trial.rates.completed_rate;
    let with_that = format!("it completed {} meanwhile", rate(completed));
    evidence.push(measured(view, ("completed_rate", ""), (completed, FigureUnit::PerSecond), None, with_that));
    evidence.extend(piled_up.and_then(|w| w.line(facts)));
    let ran =
        format!("its threads were on CPU {} of the time and waited for one {}", percent(busy), percent(wants - busy));
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
    facts.shared() && full && s >= OUTWEIGHS * c && client_busy < BUSY
}

/// What the decisive trial completed, as a share of what the generator reaches with no network.
pub(crate) fn ceiling_used(facts: &Facts<'_>) -> Option<f64> {
    ratio(facts.decisive?.rates.completed_rate, positive(facts.run.findings.trust.generator_ceiling?)?)
}

fn by_ceiling(facts: &Facts<'_>, view: &View<'_>) -> Option<ClientLimit> {
    let ceiling = facts.run.findings.trust.generator_ceiling.and_then(positive)?;
    let (reached, share) = (facts.decisive?.rates.completed_rate, ceiling_used(facts)?);
    if share < NEAR_CEILING {
        return None;
    }
    let evidence = vec![measured(
        view,
        ("completed_rate", ""),
        (reached, FigureUnit::PerSecond),
        Some(ceiling),
        format!("{} of the {} that the generator reaches with no network at all", percent(share), rate(ceiling)),
    )];
    let sentence = format!("the generator was at {} of its own ceiling", percent(share));
    Some(ClientLimit { confidence: 0.8, sentence, evidence })
}

fn by_quota(view: &View<'_>) -> Option<ClientLimit> {
    let throttled = throttled(view)?;
    let sentence = "the generator's own control group ran out of its CPU quota".to_string();
    (throttled.share >= THROTTLED).then(|| ClientLimit {
        confidence: 0.85,
        sentence,
        evidence: vec![throttled.evidence],
    })
}

/// Mean share of a processor that the generator's load threads used.
pub(crate) fn client_limit_threads(facts: &Facts<'_>) -> Option<f64> {
    let threads = load_threads(facts, &facts.client()?);
    ratio(threads.iter().map(|t| t.busy).sum(), threads.len() as f64)
}
