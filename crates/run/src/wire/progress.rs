//! Progress reports of a load agent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{CoarseHist, Errors, Summary, TimeFigure, skip_empty};

/// Phase of an agent's load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// The agent sends requests, but discards the results.
    #[default]
    WarmUp = 0,
    /// The agent sends requests and records the results.
    Measure = 1,
    /// The agent sends no new requests and waits for responses.
    Drain = 2,
}

/// Interval between progress reports of a load agent.
pub const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between two progress reports with details: failures, statuses and response times.
pub const DETAIL_INTERVAL: Duration = Duration::from_millis(200);

/// Progress report of a load agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds since the load started.
    pub t_s: f64,
    /// Phase of the load at the time `t_s`.
    pub phase: Phase,
    /// Number of requests sent so far.
    pub sent: u64,
    /// Number of responses completed so far.
    pub completed: u64,
    /// Number of failures so far.
    pub errors: u64,
    /// Number of responses with an unexpected status so far.
    #[serde(default, skip_serializing_if = "skip_empty::is_no_count")]
    pub refused: u64,
    /// Number of connections that are established now.
    pub open: u64,
    /// Number of requests in flight.
    pub in_flight: u64,
    /// Details for a live display; absent in most progress reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<TickDetail>>,
}

/// Details of a load agent's progress, for a live display.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickDetail {
    /// Failures so far, by kind.
    pub errors: Errors,
    /// Number of responses with an unexpected status so far.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub unexpected: u64,
    /// Number of responses among `unexpected`, by status. For gRPC, the key is the status plus [`crate::GRPC_STATUS`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty", with = "super::pairs")]
    pub unexpected_statuses: BTreeMap<u16, u64>,
    /// Response times so far, including the warm-up.
    pub responses: CoarseHist,
    /// Times until the failure of the requests that were never answered so far, including the warm-up. An agent of an
    /// earlier version of loadline sends no such times.
    #[serde(skip_serializing_if = "CoarseHist::is_empty")]
    pub unanswered: CoarseHist,
}

impl TickDetail {
    /// Returns the number of requests that failed: all failures except failures of connects.
    pub fn failed_requests(&self) -> u64 {
        self.errors.requests()
    }

    /// Adds the counts and times of another agent.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.errors.0, &other.errors.0);
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        add(&mut self.unexpected_statuses, &other.unexpected_statuses);
        self.responses.merge(&other.responses);
        self.unanswered.merge(&other.unanswered);
    }

    /// Returns the `q` quantile (0 to 1) of the response times. A request that was never answered counts as taking at
    /// least the time until its failure.
    pub fn percentile(&self, q: f64) -> TimeFigure {
        self.responses.percentile(q, &self.unanswered, self.failed_requests())
    }

    /// Returns the share of the ended requests that were never answered, 0 to 1.
    pub fn unanswered_share(&self) -> f64 {
        let unanswered = self.failed_requests().max(self.unanswered.len());
        Summary { count: self.responses.len(), unanswered, ..Summary::default() }.unanswered_share()
    }

    /// Returns the summary of the response times, in which unanswered requests count as in [`TickDetail::percentile`].
    pub fn summary(&self) -> Summary {
        self.responses.summary(&self.unanswered, self.failed_requests())
    }

    /// Returns how much each count has grown since `earlier`, an earlier copy of these details.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            errors: Errors(grown(&self.errors.0, &earlier.errors.0)),
            unexpected: self.unexpected.saturating_sub(earlier.unexpected),
            unexpected_statuses: grown(&self.unexpected_statuses, &earlier.unexpected_statuses),
            responses: self.responses.since(&earlier.responses),
            unanswered: self.unanswered.since(&earlier.unanswered),
        }
    }
}

/// Adds each count of `other` to the count with the same key.
fn add<K: Ord + Copy>(counts: &mut BTreeMap<K, u64>, other: &BTreeMap<K, u64>) {
    for (key, n) in other {
        let sum = counts.entry(*key).or_default();
        *sum = sum.saturating_add(*n);
    }
}

/// Returns how much each count has grown. Leaves out counts that did not grow.
fn grown<K: Ord + Copy>(now: &BTreeMap<K, u64>, earlier: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let before = |key: &K| earlier.get(key).copied().unwrap_or(0);
    now.iter().map(|(key, n)| (*key, n.saturating_sub(before(key)))).filter(|(_, n)| *n > 0).collect()
}
