//! A rule of the verdict, and its result for a run. The decisive trial of a run is the load that represents the run.

use run::{Caveat, Evidence};

use crate::Facts;
use crate::context::view::View;
use crate::signals::Signal;

/// Result of a rule for one run.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The rule found the signs of its bottleneck.
    Binds {
        /// Probability that the bottleneck is the limit, 0 to 1.
        confidence: f64,
        /// Result of the rule in one sentence with its main figure.
        sentence: String,
        /// Evidence for the result, one line for each observation.
        evidence: Vec<Evidence>,
    },
    /// The signs of the bottleneck are absent, so the bottleneck is ruled out. The text gives the reason why the
    /// bottleneck is ruled out, with figures.
    RuledOut(String),
    /// The rule cannot decide. The list names the counters that the rule lacks.
    CannotSay(Vec<String>),
}

/// Rank of a rule. A rule that finds its signs beats all rules of lower tiers, unless its result is improbable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Client or server ran out of ports or another countable resource, or the generator worked badly, so the load was
    /// not as planned.
    Broken,
    /// Specific cause, which has its own signs.
    Cause,
    /// Explanation that applies only if no specific cause shows its signs.
    LeftOver,
}

/// Rule that recognizes one bottleneck: a row of [`RULES`](super::RULES).
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Bottleneck that the rule finds, an ID from [`run::BOTTLENECKS`].
    pub id: &'static str,
    /// Inputs that the rule needs: counters, or figures of the trials (`sweep`, `latency_us`, `errors`).
    pub needs: &'static [&'static str],
    /// Groups of counters that the rule reads and that count for the whole machine or network namespace. Programs that
    /// have nothing to do with the load change these counters, too. Each group therefore comes with a symptom that the
    /// measured load itself must show.
    pub shared: &'static [(&'static [&'static str], &'static str)],
    /// True if the bottleneck means that requests wait inside the server, perhaps for an upstream.
    pub waits: bool,
    /// True if the rule needs good answers, because failed answers do not show the server's normal work.
    pub is_of_work: bool,
    /// Function that returns true if the rule's signs in a run are exact counts, which other programs on the CPUs do
    /// not distort.
    pub is_counted: fn(&Facts<'_>) -> bool,
    /// True if the verdict describes threads or processes inside the server.
    pub looks_inside: bool,
    /// Tier of the rule.
    pub tier: Tier,
    /// Bottlenecks of the same tier whose signs may be mere symptoms of this bottleneck.
    pub explains: &'static [&'static str],
    /// Signals that the rule compares with thresholds, for the margins of its verdict.
    pub signals: fn(&Facts<'_>) -> Vec<Signal>,
    /// Function that judges a run by this rule.
    pub judge: fn(&Facts<'_>) -> Verdict,
    /// Advice to the user. Each text begins with an action, such as "Raise", and the explanation follows after a colon
    /// or in a further sentence. A narrow terminal shows only the first clauses of a text.
    pub advice: &'static [&'static str],
    /// Function that returns advice about this run. Advice from this function replaces `advice`.
    pub advise: fn(&Facts<'_>) -> Option<String>,
    /// Function that returns the reason why the rule's probability is limited, if any.
    pub caveat: fn(&Facts<'_>) -> Option<Caveat>,
    /// Signs of the bottleneck, and other bottlenecks that have similar signs.
    pub explain: &'static str,
}

impl Rule {
    /// Returns the rule's advice on a run.
    pub(crate) fn advice_on(&self, facts: &Facts<'_>) -> Vec<String> {
        match (self.advise)(facts) {
            Some(advice) => vec![advice],
            None => self.advice.iter().map(|text| (*text).to_string()).collect(),
        }
    }
}

/// Rule with default values in all fields. Each rule of the verdict starts from these defaults, and replaces some of
/// the values.
pub(super) const PLAIN: Rule = Rule {
    id: "",
    needs: &[],
    shared: &[],
    waits: false,
    is_of_work: false,
    is_counted: |_| false,
    looks_inside: false,
    tier: Tier::Cause,
    explains: &[],
    signals: |_| Vec::new(),
    judge: |_| Verdict::CannotSay(Vec::new()),
    advice: &[],
    advise: |_| None,
    caveat: |_| None,
    explain: "",
};

/// Returns the server's side of the decisive trial (which represents the run). If the server's side is unknown, returns
/// the rule's result, [`Verdict::CannotSay`], as an error.
pub(super) fn server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.server().ok_or_else(|| unseen(facts))
}

/// Returns the server's side of the trial that shows which CPU is full. If the server's side is unknown, returns the
/// rule's result, [`Verdict::CannotSay`], as an error.
pub(super) fn full_server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.full_server().ok_or_else(|| unseen(facts))
}

fn unseen(facts: &Facts<'_>) -> Verdict {
    let missing = match facts.reads_server() {
        true => "the server's counters under a load with answers",
        false => {
            "nothing of the server's side could be read: run loadline on the server's host, or name its process with \
             --server-pid"
        }
    };
    cannot_say(missing)
}

/// Returns the result of a rule that lacks one input.
pub(super) fn cannot_say(missing: impl Into<String>) -> Verdict {
    Verdict::CannotSay(vec![missing.into()])
}
