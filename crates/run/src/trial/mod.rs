//! One operating point: what was offered, what came back, and what both sides' counters said meanwhile.

pub(crate) mod axes;
pub(crate) mod behind;
pub(crate) mod blocks;
pub(crate) mod coarse;
pub(crate) mod hist;
pub(crate) mod host_load;
pub(crate) mod incident;
pub(crate) mod key;
pub(crate) mod measured;
pub(crate) mod moments;
pub(crate) mod results;
pub(crate) mod side;
pub(crate) mod status;
pub(crate) mod tally;
pub(crate) mod tenths;
pub(crate) mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{
    ClassPart, Hist, HostLoad, Incident, IncidentKind, Intensity, Key, Measured, Results, Scope, Side, Summary, Tally,
};

/// What a trial was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// One fixed intensity that the user asked for.
    #[default]
    Fixed,
    /// A step of the closed-loop sweep.
    Sweep,
    /// A step of the open-loop search for the capacity.
    Search,
    /// Past the capacity on purpose.
    Overload,
    /// A point of an experiment.
    Experiment,
    /// Levers were switched on and off in slots of it: its rates are of no one state.
    Proof,
    /// Counters of a server that somebody else loaded: there is no generator's side.
    Watched,
    /// Kept connections, or a connection for each request, in turns: to tell what a handshake costs.
    Handshakes,
    /// A class of requests was asked for more than the mix has it, each in turns: to tell what a class costs the server.
    Classes,
}

impl TrialKind {
    /// Whether an incident is the end of such a trial: one that only watches ends with its observer.
    pub const fn ends_with(self, kind: IncidentKind) -> bool {
        kind.breaks() || matches!((self, kind), (Self::Watched, IncidentKind::ObserverLost))
    }

    /// Whether it was made to see something else than what the server takes: a search does not look at it.
    pub const fn apart(self) -> bool {
        matches!(self, Self::Proof | Self::Handshakes | Self::Classes)
    }
}

/// One operating point. The counts at the top are of the whole trial, from the first connect to the end of the
/// drain, so they equal what the server's own log says; rates and latencies are of the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Trial {
    /// What it stands for, in words: `32 connections`, `epoll`, `2048 B`.
    pub label: String,
    /// What it was for.
    pub kind: TrialKind,
    /// Which repeat of the run it belongs to, from 0.
    #[serde(skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// What was set.
    pub key: Key,
    /// What came out besides rates and latencies.
    pub results: Results,
    /// The intensity that was asked for, of all loads together.
    pub intensity: Intensity,
    /// Where somebody changed the rate of an open loop by hand, all rates that it had: `intensity` has their mean over the
    /// measured window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<RateByHand>,
    /// Counts of the whole trial.
    #[serde(flatten)]
    pub tally: Tally,
    /// Rates of the measured window.
    #[serde(flatten)]
    pub rates: Rates,
    /// Counts of the measured window alone.
    pub measured: Measured,
    /// Response time: from the intended start (open loop) or the send (closed loop) to the last byte.
    pub latency_us: Summary,
    /// Service time: from the actual send to the last byte.
    pub service_us: Summary,
    /// Time the generator wanted to send and could not.
    pub blocked_us: Summary,
    /// How late requests left against their intended start by the generator's own doing.
    pub start_error_us: Summary,
    /// Time from connect() to an established connection.
    pub connect_us: Summary,
    /// Time from an established connection to one that is ready for requests; absent where connections begin with none.
    #[serde(skip_serializing_if = "Summary::is_empty")]
    pub handshake_us: Summary,
    /// Most requests that the server takes at once on a connection, as it said when the connection began, the least of all
    /// connections (HTTP/2: SETTINGS_MAX_CONCURRENT_STREAMS); absent where it said nothing of it. What is beyond waits in
    /// the generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// What came of each class of a mix of requests; empty where all requests are of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassPart>,
    /// A long measured window in stretches; at most some hundreds, however long it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<crate::Moment>,
    /// The full histograms behind the summaries, by the same names without unit (`response`, `service`, …).
    pub histograms: BTreeMap<String, Hist>,
    /// Whether the measured window was steady.
    pub steady: Steady,
    /// The generator's side; with several hosts of generators, that of the busiest.
    pub client: Side,
    /// The other hosts of generators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_hosts: Vec<Side>,
    /// What the generators of each host did; empty where all ran on one that started them itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_loads: Vec<HostLoad>,
    /// The server's side; absent when nothing of it can be read.
    pub server: Option<Side>,
    /// What happened to the server and the generators meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incidents: Vec<Incident>,
    /// What went wrong or was unusual, in sentences.
    pub notes: Vec<String>,
}

impl Trial {
    /// What made its figures those of something else than a server under this load, if that happened before the measured
    /// window was over.
    pub fn broken(&self) -> Option<&Incident> {
        self.incidents.iter().find(|i| i.kind.breaks() && i.begin_s < self.measured.window.end_s)
    }

    /// Whether client and server use processors of one machine, as far as both are known.
    pub fn one_host(&self) -> bool {
        self.in_common(Scope::Machine)
    }

    /// Whether counters of this are the same figures on both sides.
    pub fn in_common(&self, scope: Scope) -> bool {
        self.server.as_ref().is_some_and(|server| match scope {
            Scope::Side => false,
            Scope::Machine => server.same_processors(&self.client),
            Scope::Network => server.same_network(&self.client),
        })
    }
}

fn is_first(repeat: &u32) -> bool {
    *repeat == 0
}

/// A rate that an open loop was given by hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateByHand {
    /// From when on, seconds since the load began.
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// Requests per second.
    #[serde(with = "Figure")]
    pub rate: f64,
}

impl RateByHand {
    /// The rate that was given and held so many seconds after the begin of the load.
    pub fn rate_at(given: &[Self], at_s: f64) -> f64 {
        given.iter().rev().find(|given| given.t_s <= at_s).map_or(0.0, |given| given.rate)
    }
}

/// Rates and levels of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rates {
    /// What the plan wanted, requests per second (closed loop: what it sent; S-Clients: connection attempts).
    #[serde(with = "Figure")]
    pub offered_rate: f64,
    /// What left, requests per second (S-Clients: connection attempts that left).
    #[serde(with = "Figure")]
    pub sent_rate: f64,
    /// What came back complete and well-formed, per second.
    #[serde(with = "Figure")]
    pub completed_rate: f64,
    /// Completed within the limit asked for and of an expected status, per second.
    #[serde(with = "Figure")]
    pub goodput: f64,
    /// Mean number of requests in flight.
    #[serde(with = "Figure")]
    pub concurrency: f64,
}

/// Whether the rate had settled when measuring began, by the test that `docs/method.md` states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steady {
    /// The test's answer.
    pub steady: bool,
    /// Seconds of warm-up that it took.
    #[serde(with = "Figure")]
    pub warmup_s: f64,
    /// The reason, in words with figures.
    pub reason: String,
}
