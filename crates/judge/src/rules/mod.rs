//! The rules of the verdict, one file each, and the table that holds them.
//!
//! A rule looks for the signs of one bottleneck in the [`Facts`] and answers [`Verdict::Binds`] with its evidence, or why
//! it is ruled out, or what it would have to know. The table is in causal order: what stands further up explains the
//! signs of what stands below (a full processor makes the accept queue overflow, not the other way round), so the first
//! rule that binds is the verdict. Precision matters more than reach: a rule that does not know says so.
//!
//! To add a rule, write a file here, add a line to [`RULES`], and plant a run in `planted/` that it must win.

mod accept_queue;
mod client_cpu;
mod client_fds;
mod client_ports;
mod network_loss;
mod network_medium;
mod not_saturated;
mod server_concurrency;
mod server_cpu;
mod server_cpu_quota;
mod server_disk;
mod server_fds;
mod server_memory;
mod server_rate_limit;
mod server_single_thread;
mod signs;
mod tcp_delayed_ack;
mod tcp_window;
mod unknown;
mod waiting;

pub(crate) use network_medium::medium_use;
pub(crate) use signs::{client_limit, client_limit_threads};

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

/// One row of [`RULES`].
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The bottleneck that it finds, one id of [`run::BOTTLENECKS`].
    pub id: &'static str,
    /// What it cannot do without: counters, or figures of the trials (`sweep`, `latency_us`, `errors`).
    pub needs: &'static [&'static str],
    /// The rule.
    pub judge: fn(&Facts<'_>) -> Verdict,
    /// What a person can do about it.
    pub advice: &'static [&'static str],
    /// How it is recognised, and what it is often mistaken for.
    pub explain: &'static str,
}

/// The table, causes before their symptoms.
pub const RULES: &[Rule] = &[
    client_fds::RULE,
    client_ports::RULE,
    client_cpu::RULE,
    server_rate_limit::RULE,
    server_cpu_quota::RULE,
    server_memory::RULE,
    server_fds::RULE,
    tcp_delayed_ack::RULE,
    server_cpu::RULE,
    server_single_thread::RULE,
    server_disk::RULE,
    network_medium::RULE,
    network_loss::RULE,
    tcp_window::RULE,
    accept_queue::RULE,
    server_concurrency::RULE,
    not_saturated::RULE,
    unknown::RULE,
];

/// Builds a line of evidence.
pub(crate) fn line(view: &View<'_>, counter: &str, instance: &str, text: String) -> Evidence {
    Evidence { text, counter: counter.into(), place: view.place(instance), ..Evidence::default() }
}

/// The same with a value, its unit, and what it is held against.
pub(crate) fn measured(
    view: &View<'_>,
    (counter, instance): (&str, &str),
    (value, unit): (f64, &str),
    limit: Option<f64>,
    text: String,
) -> Evidence {
    let value = Some(value).filter(|v| v.is_finite());
    let limit = limit.filter(|v| v.is_finite());
    Evidence { value, unit: unit.into(), limit, ..line(view, counter, instance, text) }
}

/// The server's side of the decisive trial, or why a rule cannot go on.
pub(crate) fn server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.server().ok_or_else(unseen)
}

/// The server's side of the trial that shows which processor is full, or why a rule cannot go on.
pub(crate) fn full_server<'a>(facts: &Facts<'a>) -> Result<View<'a>, Verdict> {
    facts.full_server().ok_or_else(unseen)
}

fn unseen() -> Verdict {
    Verdict::CannotSay(vec![
        "nothing of the server's side could be read: run loadline on the server's host, or name its process with --server-pid"
            .into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bottleneck_has_one_rule_and_every_need_is_known() {
        for b in run::BOTTLENECKS {
            assert_eq!(RULES.iter().filter(|r| r.id == b.id).count(), 1, "{}", b.id);
        }
        assert_eq!(RULES.len(), run::BOTTLENECKS.len());
        for need in RULES.iter().flat_map(|r| r.needs).filter(|n| n.contains('.')) {
            assert!(run::counter(need).is_some(), "{need}");
        }
    }

    #[test]
    fn every_rule_explains_itself() {
        for rule in RULES {
            assert!(rule.explain.len() > 80 && !rule.advice.is_empty(), "{}", rule.id);
        }
    }
}
