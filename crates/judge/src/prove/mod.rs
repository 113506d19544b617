//! Experiments that test verdicts. An experiment divides a load into short time slots, and slows a resource in some of
//! these slots (with a "lever"). The experiment estimates the share of throughput that each resource explains, and
//! compares this share with a prediction. See `docs/explanation/experiment.md`.

mod against;
#[cfg(test)]
mod arrivals;
mod at_a_rate;
mod conclude;
mod cpu_limit;
mod decision;
mod decision_inputs;
mod estimate;
mod full_disk;
mod further;
mod heavier_load;
mod looks;
#[cfg(test)]
mod network;
mod nonlinearity;
mod observed;
mod part_text;
mod parts;
mod replaced;
mod request_way;
mod response;
mod same_cpus;
mod saturated;
mod shares_text;
mod steadiness;
mod suspects;
mod turns;
mod utilization;
mod watched;
mod words;

pub use at_a_rate::{AtRate, answer_of, at_rate, predicted_at_rate};
pub use conclude::{predicted, runner_up};
pub use estimate::estimate;
pub use estimate::regression::Estimates;
pub use estimate::slots::fewest_slots;
pub use full_disk::full_disk;
pub use further::{load_comes_first, may_be_rate_limit, may_follow_server_cpu, predicted_further};
pub use heavier_load::heavier_load;
pub use looks::{MAX_LOOKS, is_known};
pub use request_way::{RequestWay, request_way};
pub use response::RATE;
pub use response::blocks::{block, fewest_slots_at_a_rate};
pub use response::figure::{fewest_requests, response_us};
pub use saturated::may_be_unsaturated;
pub use suspects::{SUSPECTS, Suspect, suspects_of};
pub use turns::effect;

/// Evaluates the trials of an experiment on the throughput or on the response time.
pub(crate) fn conclude(facts: &crate::Facts<'_>, proof: &mut run::Proof, verdict: &mut run::Bottleneck) {
    match proof.of.is_throughput() {
        true => conclude::conclude(facts, proof, verdict),
        false => at_a_rate::conclude(facts, proof, verdict),
    }
}
