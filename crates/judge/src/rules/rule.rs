//! What a rule is and what it answers.

use run::Evidence;

use crate::Facts;
use crate::view::View;

/// What a rule answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Its signs are there.
    Binds {
        /// 0 (a guess) to 1 (every condition shown by counters of the right side).
        confidence: f64,
        /// The answer in one sentence with its main figure.
        sentence: String,
        /// Line by line.
        evidence: Vec<Evidence>,
    },
    /// Its signs are not there; why, with figures.
    RuledOut(String),
    /// It cannot be told: what is missing, counter by counter.
    CannotSay(Vec<String>),
}

/// One row of [`RULES`](super::RULES).
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The bottleneck that it finds, one id of [`run::BOTTLENECKS`].
    pub id: &'static str,
    /// What it cannot do without: counters, or figures of the trials (`sweep`, `latency_us`, `errors`).
    pub needs: &'static [&'static str],
    /// Whether it speaks of a server that waits, for something behind it perhaps.
    pub waits: bool,
    /// The rule.
    pub judge: fn(&Facts<'_>) -> Verdict,
    /// What a person can do about it.
    pub advice: &'static [&'static str],
    /// How it is recognised, and what it is often mistaken for.
    pub explain: &'static str,
}

/// The server's side of the decisive trial, or why a rule cannot go on.
pub(super) fn server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.server().ok_or_else(unseen)
}

/// The server's side of the trial that shows which processor is full, or why a rule cannot go on.
pub(super) fn full_server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.full_server().ok_or_else(unseen)
}

fn unseen() -> Verdict {
    Verdict::CannotSay(vec![
        "nothing of the server's side could be read: run loadline on the server's host, or name its process with --server-pid"
            .into(),
    ])
}
