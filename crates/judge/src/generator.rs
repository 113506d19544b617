//! Limits of the generator itself. At such a limit no figure is the server's.

use run::{Evidence, FigureUnit};

use crate::Facts;
use crate::client_hosts;
use crate::evidence::{measured, thread_line, throttled};
use crate::number::{percent, positive, rate, ratio};
use crate::overflow::Overflow;
use crate::thresholds::{AGENT_WORKS, BUSY, FULL, KEEPS_UP, NEAR_CEILING, OUTWEIGHS, STARVED_WAIT, THROTTLED};
use crate::view::{Task, View};
use crate::waiting::Waiting;

/// Limit that the generator reached.
pub(crate) struct ClientLimit {
    pub(crate) confidence: f64,
    pub(crate) sentence: String,
    pub(crate) evidence: Vec<Evidence>,
}

/// Returns the threads of the generator that make load: the busiest, as many as the plan has.
pub(crate) fn load_threads(facts: &Facts<'_>, view: &View<'_>) -> Vec<Task> {
    let agents = view.processes().iter().filter(|p| p.busy > AGENT_WORKS).count().max(1);
    let wanted = (facts.run.plan.load.threads.max(1) as usize).saturating_mul(agents.max(1));
    let mut threads = view.workers();
    // Idle agents have idle threads; only those that could matter count.
    threads.truncate(wanted.min(threads.iter().filter(|t| t.wants() > AGENT_WORKS).count().max(1)));
    threads
}

/// Returns the limit that the generator reached in the decisive trial. There is none where the server refuses everything beyond a rate of its
/// own.
pub(crate) fn client_limit(facts: &Facts<'_>) -> Option<ClientLimit> {
    let view = facts.client().filter(|_| !(facts.run.sent_requests() && facts.refusals.keep_one_rate()))?;
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
    // A thread that waits for a CPU nearly whenever it does not run never rests.
    let always = wants >= FULL;
    // A thread that waits longer than it runs is starved, even if it also waits for a starved server. Beside a full server it has time left,
    // and the server has none.
    let mostly = wants - busy >= STARVED_WAIT && wants - busy >= busy && !server_full(facts);
    // A thread that hardly rests while answers pile up before it is what they wait for.
    let piled_up = Waiting::of(facts).filter(|w| wants >= BUSY && w.at_client() && !facts.shared());
    // Connects that a full accept queue dropped came faster than the server accepts, however little the generator ran. Clients that wait for
    // nothing but a CPU and do not keep their own pace are another matter.
    let behind =
        |t: &run::Trial| t.intensity.waits_for_cpu_alone() && t.rates.sent_rate < KEEPS_UP * t.rates.offered_rate;
    let too_fast = Overflow::worst(facts).is_some_and(|o| o.counts()) && !facts.decisive.is_some_and(behind);
    let starved = ((always || mostly) && !too_fast || piled_up.is_some()) && !server_takes_it(facts, busy);
    if !full && !starved {
        return None;
    }
    let mut evidence: Vec<Evidence> = threads.iter().take(4).map(|t| thread_line(view, t)).collect();
    let completed = view.trial.rates.completed_rate;
    let with_that = format!("{} completed", rate(completed));
    evidence.push(measured(view, ("completed_rate", ""), (completed, FigureUnit::PerSecond), None, with_that));
    evidence.extend(piled_up.and_then(|w| w.line(facts)));
    let ran = format!("its threads ran {} of the time and waited {} for a CPU", percent(busy), percent(wants - busy));
    let sentence = if full {
        format!(
            "the generator's CPU is full: its threads were {} busy, so the server's limit was not reached",
            percent(busy)
        )
    } else if let Some(waiting) = piled_up {
        format!("the generator is too slow: {ran}, and {} of the answers waited for it", percent(waiting.client))
    } else {
        format!("the generator gets too little CPU: {ran}")
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

/// Returns whether the server uses all of CPUs that are its own.
fn server_full(facts: &Facts<'_>) -> bool {
    let used = facts.server().and_then(|server| ratio(server.cpu_used()?, server.cpu_allowed()?));
    !facts.shared() && used.is_some_and(|used| used >= FULL)
}

/// Returns whether the server's work on shared CPUs keeps the generator waiting. It does when it is clearly the larger part and the generator
/// still got the CPU time that it needs.
fn server_takes_it(facts: &Facts<'_>, client_busy: f64) -> bool {
    let (Some(client), Some(server)) = (facts.client(), facts.server()) else { return false };
    let (Some(c), Some(s)) = (client.cpu_used(), server.cpu_used()) else { return false };
    let full = server.processors_busy().is_some_and(|b| b >= FULL);
    facts.shared() && full && s >= OUTWEIGHS * c && client_busy < BUSY
}

/// Returns the rate of the decisive trial as a share of the generator's rate without a network.
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
        format!("{} of the {} that the generator reaches without a network", percent(share), rate(ceiling)),
    )];
    let sentence = format!(
        "the generator is near its own limit: {} of the rate that it reaches without a network",
        percent(share)
    );
    Some(ClientLimit { confidence: 0.8, sentence, evidence })
}

fn by_quota(view: &View<'_>) -> Option<ClientLimit> {
    let throttled = throttled(view)?;
    let sentence = "the generator's CPU quota is used up".to_string();
    (throttled.share >= THROTTLED).then(|| ClientLimit {
        confidence: 0.85,
        sentence,
        evidence: vec![throttled.evidence],
    })
}

/// Returns the mean CPU use of the generator's load threads.
pub(crate) fn client_limit_threads(facts: &Facts<'_>) -> Option<f64> {
    let threads = load_threads(facts, &facts.client()?);
    ratio(threads.iter().map(|t| t.busy).sum(), threads.len() as f64)
}
