//! The rules of the verdict, one file each, and the table of all rules.
//!
//! A rule looks for the signs of one bottleneck in the [`Facts`](crate::Facts). A rule that finds the signs of its
//! bottleneck returns [`Verdict::Binds`] with its evidence. A rule that does not find the signs returns the reason, or
//! the counters that are missing. If a rule cannot decide, it says so, because a wrong cause does more harm than a
//! missed cause. No rule calls another.
//!
//! Each rule has a [`Tier`] and names the bottlenecks whose signs the rule explains. For example, a full CPU makes the
//! accept queue overflow, not the other way round. The verdict follows from tiers, explanations and the probabilities
//! of the results: see `choose.rs` and `docs/reference/rule-matrix.md`.
//!
//! To add a rule, write a file in this folder, and add a line to [`RULES`]. To test the rule, add a made-up run to
//! `planted/`. The new rule must give the verdict on this made-up run.

mod accept_queue;
mod at_a_time;
mod busiest_cpus;
mod client_connects;
mod client_cpu;
mod client_fds;
mod client_ports;
mod concurrency_words;
mod delaying_limit;
mod failed_connections;
mod handshakes;
mod limit_kind;
mod network_loss;
mod network_medium;
mod not_saturated;
mod per_period;
mod queue_signs;
mod refaults;
mod retransmissions;
mod rule;
mod server_concurrency;
mod server_cpu;
mod server_cpu_quota;
mod server_disk;
mod server_fds;
mod server_interrupts;
mod server_memory;
mod server_rate_limit;
mod server_single_thread;
mod signs;
mod slow_without_load;
mod streams;
mod tcp_delayed_ack;
mod tcp_window;
mod unknown;
mod waited;
mod withheld;

pub use delaying_limit::may_delay;
pub use rule::{Rule, Tier, Verdict};
pub(crate) use server_rate_limit::refuses_for_workers;
pub(crate) use unknown::no_good_answers;
pub(crate) use withheld::lack_of_cpus;

/// All rules of the verdict. Of equally probable results, the first rule in this table wins.
pub const RULES: &[Rule] = &[
    client_fds::RULE,
    client_ports::RULE,
    client_connects::RULE,
    client_cpu::RULE,
    server_fds::RULE,
    server_rate_limit::RULE,
    server_cpu_quota::RULE,
    server_memory::RULE,
    tcp_delayed_ack::RULE,
    server_cpu::RULE,
    server_single_thread::RULE,
    server_interrupts::RULE,
    server_disk::RULE,
    network_medium::RULE,
    network_loss::RULE,
    tcp_window::RULE,
    accept_queue::RULE,
    server_concurrency::RULE,
    not_saturated::RULE,
    unknown::RULE,
];

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
