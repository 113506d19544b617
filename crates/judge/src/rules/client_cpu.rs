//! The generator has no processor time left: its threads are full or starved, or it is near what it reaches with no
//! network at all.

use super::signs::{client_limit, load_threads};
use super::{Rule, Verdict};
use crate::Facts;
use crate::number::percent;

pub(super) const RULE: Rule = Rule {
    id: "client-cpu",
    needs: &["thread.cpu", "process.cpu"],
    judge,
    advice: &[
        "Give the generator more threads (--threads) or processors of its own, or generate from another machine.",
        "Until then the figures are a lower bound: the server takes at least this much.",
    ],
    explain: "A generator that is at its own limit measures itself. It is when its load threads use 95 % of a processor each; \
              when they wait for one as good as all the time that they do not run (others took it); when its control group \
              is throttled; or when the rate is within 20 % of what the generator reaches with the null driver \
              (`loadline selftest`). As long as one of these holds the server is not blamed, however busy it is.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Some(limit) = client_limit(facts) {
        let server_full =
            facts.full_server().and_then(|s| Some(s.cpu_used()? / s.cpu_allowed()?)).is_some_and(|u| u >= 0.95);
        // Both are full: that it is not the server's limit alone is sure, that it is the generator's alone is not.
        let confidence = if server_full { 0.5 } else { limit.confidence };
        return Verdict::Binds { confidence, sentence: limit.sentence, evidence: limit.evidence };
    }
    let Some(view) = facts.full_client() else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    let threads = load_threads(facts, &view);
    match threads.first() {
        Some(t) => Verdict::RuledOut(format!("the generator's busiest thread used {} of a processor", percent(t.busy))),
        None => Verdict::CannotSay(vec!["processor time of the generator's threads (thread.cpu)".into()]),
    }
}
