//! Requests of a run, and their timing.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::{
    ArrivalTimes, Blocks, Intensity, Protocol, RecordedTimes, RequestSet, Secrets, SlotPlan, Stage, StreamPlan,
    TlsPlan, skip_empty,
};

/// Requests to send, and their timing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LoadPlan {
    /// Protocol and its settings.
    pub protocol: Protocol,
    /// Requests that replace the request in the protocol's settings. Each request of the set also gets the headers in
    /// the protocol's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSet>,
    /// Times at which requests are due, read from a file. If a file gives the times of requests, the rate in
    /// `intensity` is their mean rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalTimes>,
    /// TLS settings; absent for plain connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPlan>,
    /// Settings for reading answers as streams of events; absent for plain answers. If answers are streams, the
    /// response timeout is the longest wait for the next event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamPlan>,
    /// Amount of load that the plan asks for.
    pub intensity: Intensity,
    /// Rate changes of an open loop from the start of the load. After the last stage, the final rate of that stage
    /// continues. The rate in `intensity` is the mean rate over all stages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// True if each request has its own connection, which the client opens and closes.
    pub new_connections: bool,
    /// Number of connects per second of a closed loop. No connection sends requests before the last connection is open
    /// or the measured window begins. With a rate of 0, all clients connect at once, or at times spread over the first
    /// think time.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub connect_rate: f64,
    /// Settings of a closed loop that opens its connections once and sends blocks of bytes over them; absent for other
    /// loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Number of generator threads per agent.
    pub threads: u32,
    /// System interface that the client uses for its connections.
    pub io: Io,
    /// Length of the measured window, seconds.
    pub duration_s: f64,
    /// Maximum length of the warm-up, seconds. The warm-up ends earlier, once the rate is steady.
    pub warmup_s: f64,
    /// Minimum length of the warm-up, seconds.
    pub least_warmup_s: f64,
    /// Maximum wait for responses after the last request, seconds.
    pub drain_s: f64,
    /// Response timeout, seconds. A response that takes longer counts as a `response_timeout`.
    pub timeout_s: f64,
    /// Connect timeout, seconds. A connect that takes longer counts as a `connect_timeout`. S-Clients use their timeout
    /// T instead of this timeout.
    pub connect_timeout_s: f64,
    /// Local addresses to use for the connections; empty to let the kernel choose.
    pub sources: Vec<IpAddr>,
    /// Share of the requests with a trace context (header `traceparent`), 0 to 1.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub traceparent: f64,
    /// Further addresses of the server. Connections use the server's first address and these further addresses in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<SocketAddr>,
    /// True if S-Clients use two processes: one opens connections, the other handles them.
    pub two_process: bool,
    /// Seed of all random choices, which makes a run repeatable.
    pub seed: u64,
    /// Offset of this process's first request, as a share of the interval between requests, from 0 to below 1. Each
    /// process of a load has a different offset. With different offsets, all processes together send at equal
    /// intervals.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub phase: f64,
    /// Slots (periods of equal length) in which an experiment needs the completed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<SlotPlan>,
    /// Limits on the response time, microseconds; at most 4 limits. For each limit and each tenth of a second, loadline
    /// counts the requests that take longer than the limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late_us: Vec<f64>,
    /// CPUs that the generator may use; empty for all.
    pub cpus: Vec<u32>,
    /// True if the generator acknowledges data at once (TCP_QUICKACK after each request; epoll only). An experiment on
    /// delayed acknowledgements uses this setting.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick_ack: bool,
    /// Receive buffer of the generator (SO_RCVBUF; epoll only), bytes. An experiment on TCP windows uses this setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<u32>,
    /// Secret values for the placeholders in `protocol` and `requests`; never stored.
    #[serde(skip)]
    pub secrets: Secrets,
}

impl LoadPlan {
    /// Returns the plan with secret values in place of their placeholders. Use the returned plan only for requests;
    /// never store or print it.
    pub fn revealed(&self) -> Self {
        let mut plan = self.clone();
        self.secrets.reveal_protocol(&mut plan.protocol);
        plan.requests.iter_mut().for_each(|set| self.secrets.reveal_requests(set));
        plan
    }
}

impl LoadPlan {
    /// Returns true if the measurement waits until all connections of the closed loop are open.
    pub fn waits_for_all(&self) -> bool {
        self.blocks.is_some() || self.connect_rate > 0.0
    }

    /// Returns true if the measured window begins at the start of the load. The result is true only for a load with
    /// recorded times and without a warm-up.
    pub fn is_measured_from_its_begin(&self) -> bool {
        self.recorded().is_some() && self.warmup_s <= 0.0
    }

    /// Returns the recorded times of the requests, read from a file of times or an access log.
    pub fn recorded(&self) -> Option<&RecordedTimes> {
        let times = self.arrivals.as_ref().and_then(|arrivals| arrivals.times.as_ref());
        times.or_else(|| self.requests.as_ref().and_then(|set| set.recorded.as_ref()))
    }
}

impl Default for LoadPlan {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            requests: None,
            arrivals: None,
            tls: None,
            stream: None,
            intensity: Intensity::default(),
            stages: Vec::new(),
            new_connections: false,
            connect_rate: 0.0,
            blocks: None,
            threads: 1,
            io: Io::Auto,
            duration_s: 10.0,
            warmup_s: 2.0,
            least_warmup_s: 0.6,
            drain_s: 2.0,
            timeout_s: 10.0,
            connect_timeout_s: 5.0,
            sources: Vec::new(),
            traceparent: 0.0,
            addresses: Vec::new(),
            two_process: false,
            seed: 1,
            phase: 0.0,
            slots: None,
            late_us: Vec::new(),
            cpus: Vec::new(),
            quick_ack: false,
            receive_buffer: None,
            secrets: Secrets::default(),
        }
    }
}

/// System interface that the client uses for its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Io {
    /// io_uring if the kernel allows it, otherwise epoll with a note.
    #[default]
    Auto,
    /// The client uses epoll.
    Epoll,
    /// io_uring; an error if the kernel does not allow it.
    Uring,
    /// No network: each request completes at once. Measures the generator's own maximum rate.
    Null,
    /// No network: a virtual clock and a queueing model, for tests.
    Sim,
}
