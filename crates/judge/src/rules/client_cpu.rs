//! The generator has no CPU time left: its threads are full or starved, or its rate is close to what it reaches without a network.

use super::rule::{Rule, Tier, Verdict, none};
use crate::Facts;
use crate::generator::{ClientLimit, client_limit, load_threads};
use crate::number::{figure, percent};
use crate::thresholds::FULL;
use crate::waiting::Waiting;

pub(super) const RULE: Rule = Rule {
    id: "client-cpu",
    needs: &["thread.cpu", "process.cpu"],
    waits: false,
    tier: Tier::Cause,
    explains: &[],
    signals: none,
    judge,
    advice: &[
        "Give the generator more threads (--threads) or its own CPUs, or run it on another machine (--client-hosts HOST).",
        "Until then the figures are a lower bound: the server can take at least this rate.",
    ],
    explain: "A generator at its own limit measures itself. Five signs show it. Its threads use 95 % of a CPU each. They \
              wait for a CPU nearly all the time that they do not run. They hardly rest while answers wait unread at the \
              generator, not requests at the server. Its control group is throttled. Or the rate is within 20 % of the \
              rate that the generator reaches without a network (`loadline selftest`). As long as one of these holds, \
              loadline does not blame the server, however busy it is.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Some(limit) = client_limit(facts) {
        return beside_server(facts, limit);
    }
    let Some(view) = facts.full_client() else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    let threads = load_threads(facts, &view);
    match threads.first() {
        Some(t) => Verdict::RuledOut(format!("the generator's busiest thread used {} of a CPU", percent(t.busy))),
        None => Verdict::CannotSay(vec!["CPU time of the generator's threads (thread.cpu)".into()]),
    }
}

/// Adds the server's part. If the server is full, too, the generator is the limit alone only where the messages wait for it.
fn beside_server(facts: &Facts<'_>, limit: ClientLimit) -> Verdict {
    let ClientLimit { confidence, mut sentence, evidence } = limit;
    let used = facts.full_server().and_then(|s| Some((s.cpu_used()?, s.cpu_allowed()?)));
    let binds = !facts.shared() && matches!((super::server_cpu::RULE.judge)(facts), Verdict::Binds { .. });
    let full = used.filter(|(used, allowed)| binds || *used >= FULL * allowed);
    let Some((used, allowed)) = full.filter(|_| !Waiting::of(facts).is_some_and(|w| w.at_client())) else {
        return Verdict::Binds { confidence, sentence, evidence };
    };
    let too = if used >= FULL * allowed { "is full too" } else { "is nearly full too" };
    sentence += &format!("; the server's CPU {too} ({} of {})", figure(used), figure(allowed));
    Verdict::Binds { confidence: confidence.min(0.5), sentence, evidence }
}
