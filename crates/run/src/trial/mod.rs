//! Trials: one load, its responses, and the counters of both sides during the load.

pub(crate) mod addresses;
pub(crate) mod answer_time;
mod answers;
pub(crate) mod axes;
pub(crate) mod blocks;
pub(crate) mod coarse;
pub(crate) mod databases;
pub(crate) mod ends_together;
pub(crate) mod errors;
pub(crate) mod first_failure;
pub(crate) mod histograms;
pub(crate) mod host_load;
pub(crate) mod incident;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod measured;
pub(crate) mod moments;
pub(crate) mod monitors;
pub(crate) mod quic_paths;
pub(crate) mod rates;
pub(crate) mod results;
pub(crate) mod side;
pub(crate) mod silent_closes;
pub(crate) mod spans;
pub(crate) mod sqlstate;
pub(crate) mod stacks;
pub(crate) mod status;
pub(crate) mod steady;
pub(crate) mod stream_counts;
pub(crate) mod summary;
pub(crate) mod tally;
pub(crate) mod tasks;
pub(crate) mod tenths;
pub(crate) mod time_figure;
pub(crate) mod traced;
pub(crate) mod unanswered_times;
pub(crate) mod upstream;
pub(crate) mod values;
pub(crate) mod waits;
pub(crate) mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{
    ClassPart, EndsTogether, FirstFailure, Hist, HostLoad, Incident, Intensity, Key, Measured, QuicPaths, RateChange,
    Rates, Results, Scope, Side, Steady, Summary, Tally, TrialKind, skip_empty,
};

/// One load on the server. The tallies (counts) cover the whole trial, from the first connect to the end of the drain.
/// Because the tallies cover the whole trial, they agree with the server's own log. Rates and latencies cover the
/// measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trial {
    /// Description of the trial: `32 connections`, `epoll`, `2048 B`.
    pub label: String,
    /// Purpose of the trial.
    pub kind: TrialKind,
    /// Index of the repeat that the trial belongs to, from 0.
    #[serde(skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// Settings of the trial.
    pub key: Key,
    /// Results besides rates and latencies.
    pub results: Results,
    /// Requested intensity, summed over all loads.
    pub intensity: Intensity,
    /// Names of the drivers that sent the requests, such as `uring`. Empty in runs of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<String>,
    /// Rates that the user set by hand during an open loop. The field `intensity` of the trial contains the mean rate
    /// in the measured window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<RateChange>,
    /// Counts of the whole trial.
    #[serde(flatten)]
    pub tally: Tally,
    /// Number of requests in `tally` that loadline sent one at a time, before or after the load, to test the server.
    /// The value is 0 in runs of earlier versions.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub test_requests: u64,
    /// Rates of the measured window.
    #[serde(flatten)]
    pub rates: Rates,
    /// Share of the offered rate that was sent: `sent_rate` divided by `offered_rate`. Absent in loads without a rate,
    /// and in runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_ratio: Option<f64>,
    /// Counts and other measurements of the measured window.
    pub measured: Measured,
    /// Response time to the last byte: from the intended start (open loop) or the send (closed loop). In a closed loop,
    /// the response time starts at the connect if each request has its own connection, or if the server closed the
    /// client's previous connection.
    pub latency_us: Summary,
    /// Time to the first byte of the answer, measured from the same start as `latency_us`. If every answer arrived in
    /// one piece, this summary equals `latency_us`, and `histograms` has no `first_byte`. The summary is absent in runs
    /// of earlier versions.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub first_byte_us: Summary,
    /// Time to the first event of a stream, measured from the same start as `latency_us`. The summary is absent if the
    /// answers are no streams.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub first_event_us: Summary,
    /// Time between an event of a stream and the next event. The gap is 0 between events that arrived in one read.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub gap_us: Summary,
    /// Number of stream events that arrived in the measured window.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub events: u64,
    /// Mean number of open streams in the measured window. A stream is open from its request to the end of its answer.
    #[serde(with = "Figure", skip_serializing_if = "skip_empty::is_zero")]
    pub streams_open: f64,
    /// Number of streams that had a gap longer than `--stall` in the measured window.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub streams_stalled: u64,
    /// Number of streams that began and ended early in the measured window. A broken stream ended with its connection,
    /// by the timeout, or without the event that ends a stream.
    #[serde(skip_serializing_if = "skip_empty::is_no_count")]
    pub streams_broken: u64,
    /// Wait: from the moment of sending to the first byte. If every answer arrived in one piece, this summary equals
    /// `service_us`, and `histograms` has neither `wait` nor `transfer`. Absent in runs of earlier versions.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub wait_us: Summary,
    /// Transfer: from the first byte of an answer to the last; 0 for an answer that arrived in one piece. Absent if
    /// every answer arrived in one piece, and in runs of earlier versions.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub transfer_us: Summary,
    /// Service time: from the moment of sending to the last byte.
    pub service_us: Summary,
    /// Time in which the generator was ready to send but could not send.
    pub blocked_us: Summary,
    /// Delay between the intended start of a request and its sending, caused by the generator itself.
    pub start_error_us: Summary,
    /// Delay between the intended start of a request and its sending, whatever the reason: the generator was late, or
    /// no connection was free. Absent in loads without a rate, and in runs of earlier versions.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub schedule_lag_us: Summary,
    /// Time from connect() to an established connection.
    pub connect_us: Summary,
    /// Time from an established connection until the connection is ready for requests; absent for protocols without a
    /// handshake.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub handshake_us: Summary,
    /// Server's limit of concurrent requests per connection, the smallest of all connections (HTTP/2:
    /// SETTINGS_MAX_CONCURRENT_STREAMS). The server's limit is absent if the server announced none. Requests beyond the
    /// server's limit wait in the generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// Figures of the paths of QUIC connections (HTTP/3): round-trip time, congestion window, lost packets. Absent for
    /// protocols other than HTTP/3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicPaths>,
    /// Shortest idle time after which the server closed a connection, seconds. If connections of this load were idle
    /// long enough, the shortest idle time is the server's keep-alive timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes_idle_after_s: Option<f64>,
    /// Connections that the server closed at one moment, if the server seems to have restarted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_together: Option<EndsTogether>,
    /// First failure of each kind with its reason.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_FIRST_FAILURES }, _, _>"
    )]
    pub first_failures: Vec<FirstFailure>,
    /// Slowest requests with a trace context in the measured window, the slowest first.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_TRACES }, _, _>"
    )]
    pub slowest_traces: Vec<crate::TracedRequest>,
    /// Results of each class in a mix of requests; empty if all requests belong to one class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassPart>,
    /// Results of each address of the server; empty if all connections went to one address.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_ADDRESSES }, _, _>"
    )]
    pub addresses: Vec<crate::AddressPart>,
    /// Parts of a long measured window, at most a few hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<crate::Moment>,
    /// Histograms of the summarized times, by name: `response` for `latency_us`, `service` for `service_us`, and so on.
    /// A file keeps two significant digits of `service`, `wait` and `transfer`, one of `blocked` and `start_error`, and
    /// three of all others.
    #[serde(serialize_with = "times::short")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, crate::schema::tests::HistText>"))]
    pub histograms: BTreeMap<String, Hist>,
    /// Result of the steady-state test before the measured window.
    pub steady: Steady,
    /// Generator side; with several generator hosts, the busiest of these hosts.
    pub client: Side,
    /// Client sides of the other generator hosts, with their counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_hosts: Vec<Side>,
    /// Results of each host's generators. The list is empty if all generators ran on the host that started the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_loads: Vec<HostLoad>,
    /// Server side; absent if its counters cannot be read.
    pub server: Option<Side>,
    /// Profiles of those databases behind the server that the plan names.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<{ crate::MAX_BEHIND }, _, _>"
    )]
    pub databases: Vec<crate::DatabaseProfile>,
    /// Spans that the server sent to loadline during the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spans: Option<Box<crate::SpanProfile>>,
    /// Incidents of the server and the generators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// Problems and unusual events, in sentences.
    pub notes: Vec<String>,
}

impl Trial {
    /// Returns the first incident that made the trial's figures useless for the server's capacity; incidents after the
    /// measured window do not count.
    pub fn broken(&self) -> Option<&Incident> {
        self.incidents.iter().find(|i| i.kind.invalidates_trial() && i.begin_s < self.measured.window.end_s)
    }

    /// Returns true if the user ended the load before its window lasted a tenth of a second. Such a trial has no rates,
    /// because a few requests more or less would change them by a multiple. A shorter window that the user planned has
    /// rates.
    pub fn is_cut_off(&self) -> bool {
        self.measured.length_s < crate::TENTH_S && self.rates == Rates::default()
    }

    /// Returns true if a failed connect does not count as a failed request. In an open loop, a due request waits for any
    /// connection, even if each request has its own connection. After a failed connect, another connect follows for the
    /// same request. In all other loads, each connect belongs to one client. If no request was sent at all, failed
    /// connects are the reason, so they count as failed requests.
    pub fn counts_connects_apart(&self) -> bool {
        matches!(self.intensity, Intensity::Open { .. }) && self.tally.sent > 0
    }

    /// Returns the number of failed requests in a tally of this trial. Failed connects count as failed requests, unless
    /// [`counts_connects_apart`](Self::counts_connects_apart) returns true.
    pub fn failures(&self, tally: &Tally) -> u64 {
        if self.counts_connects_apart() { tally.errors.requests() } else { tally.error_count() }
    }

    /// Returns the number of requests that were due but never sent, because connects failed. If fewer than half of the
    /// connects failed, an overloaded server may be another reason. The result is then at most the number of failed
    /// connects. Returns 0 if each failed connect already counts as a failed request.
    pub fn never_sent(&self) -> u64 {
        let (tally, requests) = (&self.tally, self.tally.errors.requests());
        let failed = tally.error_count() - requests;
        if !self.counts_connects_apart() || failed == 0 {
            return 0;
        }
        let ended = tally.completed.saturating_add(requests).saturating_add(tally.unanswered);
        let never_sent = tally.due.saturating_sub(ended);
        let most_failed = failed.saturating_mul(2) >= tally.attempted;
        if most_failed { never_sent } else { never_sent.min(failed) }
    }

    /// Returns true if client and server are known to use CPUs of the same machine.
    pub fn one_host(&self) -> bool {
        self.shares_scope(Scope::Machine)
    }

    /// Returns true if counters of the given scope have the same values for client and server.
    pub fn shares_scope(&self, scope: Scope) -> bool {
        self.server.as_ref().is_some_and(|server| match scope {
            Scope::Side => false,
            Scope::Machine => server.same_cpus(&self.client),
            Scope::Network => server.same_network(&self.client),
        })
    }
}

fn is_first(repeat: &u32) -> bool {
    *repeat == 0
}
