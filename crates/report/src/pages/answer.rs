//! Summary of a search or an experiment in a few lines: the rate, its limit, the test of this limit, and advice.

use run::{Capacity, Failure, OwnLimit, ProofOutcome, Run, TrialKind, UsersFinding, WaitCause, WaitsFor};

use super::answered::{has_answer, is_of_search, searched};
use super::limited::{advice, limited_by};
use super::{answered, load, pick, proof, rate, streams, warned};
use crate::{AnswerLine, Block, Section, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let lines = lines(run);
    let mut blocks = warned::alerts(run);
    match (lines.is_empty(), load::answer(run)) {
        (false, _) => blocks.push(Block::Answer(lines)),
        (true, Some(of_load)) => blocks.extend(of_load),
        (true, None) => return Vec::new(),
    }
    vec![Section::new("answer", "", Weight::Answer, blocks)]
}

/// Returns the last section of the summary, which the HTML page shows below the main chart. The last section contains
/// the stages of the load, the recommended next command, and warnings.
pub(super) fn end(run: &Run) -> Vec<Section> {
    let mut blocks = if is_of_search(run) { Vec::new() } else { load::end_of_answer(run) };
    blocks.extend(warned::warnings(run).filter(|_| has_answer(run)));
    if blocks.is_empty() { Vec::new() } else { vec![Section::new("answer-end", "", Weight::Answer, blocks)] }
}

fn lines(run: &Run) -> Vec<AnswerLine> {
    if !is_of_search(run) {
        return Vec::new();
    }
    let found = &run.findings;
    let beyond = searched(run).filter(|_| found.users.is_none()).and_then(|capacity| beyond(run, capacity));
    let rest = [limited_by(run), seen(run), tested(run), advice(run)].into_iter().flatten();
    [capacity(run), beyond].into_iter().flatten().chain(streams::of_search(run)).chain(rest).collect()
}

/// Returns the summary lines with the capacity and the bottleneck that a search found.
pub(crate) fn so_far(run: &Run) -> Vec<AnswerLine> {
    let Some(found) = searched(run) else { return Vec::new() };
    let mut capacity = capacity(run);
    if let Some(line) = capacity.as_mut().filter(|_| found.low.is_none() && run.findings.users.is_none()) {
        line.value += " (no interval yet)";
    }
    [capacity, limited_by(run)].into_iter().flatten().collect()
}

/// Returns the summary line with the capacity, as a rate or as a number of users.
fn capacity(run: &Run) -> Option<AnswerLine> {
    let found = searched(run);
    run.findings.users.as_ref().map(|users| of_users(run, users)).or_else(|| found.map(|c| of_rate(run, c)))
}

fn of_rate(run: &Run, c: &Capacity) -> AnswerLine {
    let broken = if c.held { None } else { failure(c) };
    let broken = broken.map_or(String::new(), |broken| format!(": {broken}"));
    let tone = if c.held { Tone::Plain } else { Tone::Bad };
    let source = rate::unusual_source(c).map_or(String::new(), |source| format!(" ({source})"));
    AnswerLine::new("Rate", rate::capacity(c, &rate::unit(run)), format!("with {}{source}{broken}", c.objective))
        .toned(tone)
}

/// Returns the summary line about loads above the capacity. If the capacity is only a lower bound, the line also
/// contains the reason.
fn beyond(run: &Run, c: &Capacity) -> Option<AnswerLine> {
    let bound = c.own_limit.as_ref().map(own_limit);
    let bound = bound.or_else(|| c.at_least.then(|| ended_early(run, c)));
    let failure = failure(c).filter(|_| c.held);
    let is_bound = (failure.is_none() || c.at_least) && bound.is_some();
    let bound = bound.filter(|_| is_bound);
    let parts: Vec<String> = failure.into_iter().chain(bound).chain(peak(run)).collect();
    let line = AnswerLine::new("Beyond it", "", parts.join("; "));
    (!parts.is_empty()).then(|| if is_bound { line } else { line.optional() })
}

/// Describes the loads that a search did not try, and the `--budget` that would be enough to try these loads. If the
/// search tried higher loads only while every request failed, the text states this fact instead of a `--budget`. If the
/// server still started processes, the text says so, because its capacity grows with them.
fn ended_early(run: &Run, c: &Capacity) -> String {
    if let Some(growing) = &c.growing {
        return format!("{} still started processes: a longer --budget measures more of them", growing.program);
    }
    let budget = c.needed_s.map_or("a longer --budget".into(), |s| format!("--budget {:.0}s", s.ceil()));
    match (run.findings.failure, c.failed_at) {
        (Some(Failure::FailedStretch), _) => "higher loads were tried only while every request failed".into(),
        _ if run.was_ended_by_user() => "the search was interrupted before it tried more loads".into(),
        (_, None) => match c.bound_windows.map_or(0, |windows| windows.all.saturating_sub(windows.held)) {
            0 => format!("no load failed: {budget} tries higher ones"),
            1 => format!("one open-loop window failed, probably by a disturbance: {budget} tries more"),
            n => format!("{n} open-loop windows failed, probably by disturbances: {budget} tries more"),
        },
        (_, Some(_)) => format!("too few rates between were tried: {budget} tries more"),
    }
}

/// Returns the rate at which the objective failed, and the limit that was exceeded.
fn failure(c: &Capacity) -> Option<String> {
    let rate = quantity(c.failed_at?, Unit::PerSecond);
    Some(match &c.failed_why {
        Some(why) => format!("at {rate} {why}"),
        None => format!("the objective failed at {rate}"),
    })
}

/// Describes the limit of the load generator itself (its number of connections), and the flag that raises it.
fn own_limit(limit: &OwnLimit) -> String {
    format!(
        "at {} all of the load's {} were in use, {} per request as without load: raise --connections",
        quantity(limit.offered_rate, Unit::PerSecond),
        counted(f64::from(limit.connections), "connection"),
        quantity(limit.response_us, Unit::Micros)
    )
}

/// Returns the highest rate of good answers of any trial; `None` if it is not above the capacity.
fn peak(run: &Run) -> Option<String> {
    let (trial, rate) = answered::beyond(run)?;
    let rate = quantity(rate, Unit::PerSecond);
    Some(match trial.kind {
        TrialKind::Sweep => format!("peak {rate} (closed loop, {})", pick::name(trial)),
        _ => format!("peak {rate}"),
    })
}

/// Returns the summary line with the capacity in users or in open streams. The line states two numbers of users: the
/// largest one with which the server met the objective, and the smallest one with which it missed the objective.
fn of_users(run: &Run, users: &UsersFinding) -> AnswerLine {
    let objective = searched(run).map_or(String::new(), |c| format!(" with {}", c.objective));
    let mean = quantity(users.think.mean_ms * 1e3, Unit::Micros);
    let word = streams::user_word(run);
    let think = match word {
        streams::USER => format!("who think {mean}{}", if users.think.exponential { " on average" } else { "" }),
        _ => "one after the other for each client".into(),
    };
    let why = users.failed_why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    let failed = users
        .failed
        .map_or("; more were not tried".into(), |n| format!("; {} did not hold it{why}", number(f64::from(n))));
    let all = users.capacity.as_ref().map_or(String::new(), |c| {
        let [value, low, high] = [c.value, c.low, c.high].map(|n| number(n.round()));
        format!("; the limit is about {value} ({low} to {high})")
    });
    let value = match users.held {
        Some(n) => {
            let least = if users.failed.is_none() { "at least " } else { "" };
            format!("{least}{}, {} {},", counted(f64::from(n), word), number(users.rate), rate::unit(run))
        }
        None => format!("fewer than {}", counted(f64::from(users.failed.unwrap_or(1)), word)),
    };
    let tone = if users.held.is_some() { Tone::Plain } else { Tone::Bad };
    AnswerLine::new(
        if word == streams::USER { "Users" } else { "Streams" },
        value,
        format!("{think}{objective}{failed}{all}"),
    )
    .toned(tone)
}

/// Returns the summary line about the cause of the server's waits. The cause is an upstream service, or an object for
/// which the server's threads wait, such as a lock.
fn seen(run: &Run) -> Option<AnswerLine> {
    let chain = run.findings.bottleneck.waits_for.as_ref().map(|waits| chain(run, waits));
    let threads = || {
        let said = &run.findings.bottleneck.sentence;
        // If the bottleneck is `server-single-thread`, the verdict already names the thread that uses the CPU.
        let is_named = run.findings.bottleneck.id == "server-single-thread";
        let first = run.findings.waits.first().filter(|first| !said.contains(&first.sentence))?;
        if is_named && first.cause == WaitCause::SerialCpu {
            return None;
        }
        Some(AnswerLine::new("Threads", "", first.sentence.clone()).leading("waits"))
    };
    chain.or_else(threads).map(AnswerLine::optional)
}

/// Returns the summary line with the path from the client to the upstream service for which the server waits.
fn chain(run: &Run, waits: &WaitsFor) -> AnswerLine {
    let mut path = vec![waits.address.clone()];
    let found = |address: &str| run.findings.behind.iter().find(|load| load.behind.address == address);
    let mut before = found(&waits.address).map(|load| load.behind.from.clone());
    // In a damaged file, upstream services may connect to each other in a circle.
    while let Some(from) = before.filter(|from| !from.is_empty() && !path.contains(from)) {
        before = found(&from).map(|load| load.behind.from.clone());
        path.push(from);
    }
    path.extend(["server".into(), "client".into()]);
    path.reverse();
    let processes = match waits.processes.as_slice() {
        [] => String::new(),
        [one] => format!(" ({one})"),
        [one, more @ ..] => format!(" ({one} and {} more)", more.len()),
    };
    AnswerLine::new("Chain", "", format!("{}{processes}", path.join(" -> "))).leading("behind")
}

/// Returns the summary line with the outcome of the experiment that tested the verdict.
fn tested(run: &Run) -> Option<AnswerLine> {
    let proof = run.findings.proof.as_ref()?;
    if proof.outcome == ProofOutcome::NotTested {
        let why = if proof.why.is_empty() { "no experiment was made" } else { &proof.why };
        return Some(AnswerLine::new("Not tested", "", why).leading("proof"));
    }
    let value = if proof.why.is_empty() { proof::word(proof).into() } else { format!("{}:", proof::word(proof)) };
    let tone = if proof.outcome == ProofOutcome::Refuted { Tone::Warn } else { Tone::Plain };
    Some(AnswerLine::new("Tested", value, proof.why.clone()).toned(tone).leading("proof"))
}

#[cfg(test)]
mod tests;
