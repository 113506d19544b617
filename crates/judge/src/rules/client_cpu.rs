//! Rule for a generator that has no CPU time left. The generator's threads are full or wait for a CPU, or the
//! generator's rate is close to its highest rate without a network.

use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::generator::{client_limit, is_starved_by_its_clock, load_threads};
use crate::in_flight::waiting::Waiting;
use crate::number::{figure, percent};
use crate::signals::Signal;
use crate::signals::cpu::ServerCpu;
use crate::thresholds::{HINT, LIKELY};

pub(super) const RULE: Rule = Rule {
    id: "client-cpu",
    needs: &["thread.cpu", "process.cpu"],
    signals,
    shared: &[(
        &["cpu.idle"],
        "the generator does most of the known work, or its own threads run or wait all the time",
    )],
    is_of_work: true,
    is_counted: is_starved_by_its_clock,
    judge,
    advice: &[
        "Give the generator more threads (--threads) or its own CPUs, or run it on another machine (--client-hosts HOST).",
        "Take the figures as the generator's limit until then: the server may take more.",
    ],
    explain: "A generator at its own limit measures itself. Five signs show this limit. First, each of its threads \
              uses all of a CPU. Second, its threads wait for a CPU nearly all the time that they do not run, or \
              longer than they run and for most of the response time. In an open loop, the generator's own clock shows \
              how late it sends. Third, its control group is throttled. Fourth, the rate is near the rate that the \
              generator reaches without a network (`loadline selftest`). Fifth, server and generator together fill the \
              CPUs that they share, and the generator uses most of them. Answers that wait unread at the generator \
              support this verdict, and requests that wait unread at the server speak against it.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Some(limit) = client_limit(facts).filter(|limit| limit.chance >= HINT) {
        let sentence = limit.sentence + &beside_server(facts);
        return Verdict::Binds { confidence: limit.chance, sentence, evidence: limit.evidence };
    }
    let Some(view) = facts.full_client() else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    match load_threads(facts, &view).first() {
        Some(t) => Verdict::RuledOut(format!("the generator's busiest thread used {} of a CPU", percent(t.busy))),
        None => Verdict::CannotSay(vec!["CPU time of the generator's threads (thread.cpu)".into()]),
    }
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    client_limit(facts).map_or(Vec::new(), |limit| limit.signals)
}

/// Returns a clause that says that the server's CPU is full, too. Returns an empty text if the server's CPU is not
/// full, or if messages wait mostly for the generator.
fn beside_server(facts: &Facts<'_>) -> String {
    let full =
        ServerCpu::of(facts).filter(|cpu| cpu.own() >= LIKELY && !Waiting::of(facts).is_some_and(|w| w.at_client()));
    full.and_then(|cpu| cpu.used).map_or(String::new(), |(used, allowed)| {
        format!("; the server's CPU is full too ({} of {})", figure(used), figure(allowed))
    })
}
