//! Adds causes of waiting inside the processes to the text of a verdict. Causes of waiting never change which
//! bottleneck the verdict names.

use run::{Bottleneck, Evidence, HotFunction, ThreadState, WaitCause, WaitFinding};

use super::agreement::{Agreement, UNKNOWN};
use super::collectors::{GarbageCollection, is_collection};
use super::first_advice::{Known, advise};
use super::sentence::sentence;
use crate::number::percent;
use crate::thresholds::MOST;

/// Finds the cause of waiting that explains a verdict, and adds it to the verdict's sentence, evidence and advice.
/// `order` is the position of the cause in the sentence.
pub(crate) fn explain(verdict: &mut Bottleneck, findings: &[WaitFinding], known: &Known<'_>, order: WordOrder) {
    let Some(agreement) = Agreement::of(verdict) else { return };
    let cause = agreement.cause(verdict, findings);
    if let Some(finding) = cause {
        let finding = &fitting(verdict, finding);
        let order = if is_wait_for_named_upstream(verdict, finding) { WordOrder::WaitsLast } else { order };
        tell(verdict, &finding.sentence, order);
        let line = evidence(finding);
        if !verdict.evidence.contains(&line) {
            verdict.evidence.push(line);
        }
        advise(verdict, finding, known);
    } else if let Some(hot) = known.hot.filter(|_| agreement.by_function || verdict.serial) {
        add_function(verdict, hot);
    }
    let is_possible = agreement.may_be_collection() && verdict.waits_for.is_none() && !cause.is_some_and(is_collection);
    if let Some(collection) = known.collection.as_ref().filter(|_| is_possible) {
        add_collection(verdict, collection, cause.is_some());
    }
}

/// Adds garbage collection that takes a large share of the CPU time to the verdict's sentence, evidence and advice.
/// `knows_cause` is true if the sentence names a cause for which requests wait. Without such a cause, the advice to add
/// workers is removed, because the collector would stop further workers, too. The advice comes first only if the
/// collector takes most of the CPU time, or if there is no other advice.
fn add_collection(verdict: &mut Bottleneck, collection: &GarbageCollection, knows_cause: bool) {
    let words = collection.words();
    tell(verdict, &words, WordOrder::WaitsLast);
    verdict.evidence.push(line(&words, &collection.process, collection.share));
    if verdict.id == "server-concurrency" && !knows_cause {
        verdict.advice.clear();
    }
    let is_most = collection.share >= MOST && !knows_cause;
    let at = if is_most { 0 } else { verdict.advice.len().min(1) };
    verdict.advice.insert(at, collection.advice());
}

/// Returns true if threads or connections of the server only wait for the full upstream that the verdict names. The
/// upstream is the cause of such a wait, so the sentence begins with the upstream.
fn is_wait_for_named_upstream(verdict: &Bottleneck, finding: &WaitFinding) -> bool {
    let waits_for_peer = matches!(finding.cause, WaitCause::ConnectionPool | WaitCause::Peer);
    verdict.waits_for.is_some() && waits_for_peer && finding.session.is_none()
}

/// Adds the function that explains the CPU time to the verdict's sentence, evidence and advice.
fn add_function(verdict: &mut Bottleneck, hot: &HotFunction) {
    let share = hot.inclusive.unwrap_or(hot.share);
    let called = if hot.inclusive.is_some() { " and what it calls" } else { "" };
    let words = format!("{} of its user CPU time is in {}{called}", percent(share), hot.function);
    verdict.sentence = joined(&verdict.sentence, &words);
    verdict.evidence.push(line(&words, &hot.process, share));
    verdict.advice.insert(0, format!("Make {} of {} cheaper, or call it less often.", hot.function, hot.process));
}

/// Returns a finding whose text fits a verdict. If the verdict names the disk, but the lock's holder seems to compute,
/// removes the holder's activity.
///
/// A thread that flushes a file under a lock is often sampled on the CPU, just before or after the flush.
fn fitting(verdict: &Bottleneck, finding: &WaitFinding) -> WaitFinding {
    let mut told = finding.clone();
    if verdict.id == "server-disk" && told.holder.is_some_and(ThreadState::wants_cpu) {
        told.holder = None;
        told.sentence = sentence(&told);
    }
    told
}

/// Position of the requests' wait in a verdict's sentence: first or last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordOrder {
    WaitsFirst,
    WaitsLast,
}

/// Adds text about waits to the sentence of a verdict. If the verdict names no bottleneck, the sentence says that the
/// wait may not be the limit.
pub(super) fn tell(verdict: &mut Bottleneck, words: &str, order: WordOrder) {
    let sentence = &verdict.sentence;
    verdict.sentence = match order {
        WordOrder::WaitsLast => joined(sentence, words),
        WordOrder::WaitsFirst if verdict.id == UNKNOWN && !sentence.is_empty() => {
            joined(words, &format!("this need not be the limit: {sentence}"))
        }
        WordOrder::WaitsFirst => joined(words, sentence),
    };
}

fn joined(first: &str, second: &str) -> String {
    if second.is_empty() { first.into() } else { format!("{first}; {second}") }
}

/// Value of [`Evidence::counter`] for evidence from sampled threads. For evidence from counters, [`Evidence::counter`]
/// is the name of a counter.
pub(crate) const EVIDENCE: &str = "waits";

/// Returns the line of evidence for a cause.
pub(crate) fn evidence(finding: &WaitFinding) -> Evidence {
    Evidence { counter: EVIDENCE.into(), ..line(&finding.sentence, &finding.process, finding.threads) }
}

/// Returns a line of evidence from sampled threads.
pub(super) fn line(text: &str, process: &str, value: f64) -> Evidence {
    Evidence {
        text: format!("sampled threads: {text}"),
        value: Some(value),
        place: format!("server {process}"),
        ..Evidence::default()
    }
}

#[cfg(test)]
mod tests;
