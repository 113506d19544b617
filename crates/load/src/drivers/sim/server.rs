//! The simulated server: a queueing model.

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Always the mean.
    Constant,
    /// Exponential with that mean.
    #[default]
    Exponential,
}

/// Token-bucket rate limit: each request takes one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Tokens added per second.
    pub rate: u32,
    /// Maximum number of tokens, and the number at the start.
    pub burst: u32,
}

/// The simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimServer {
    /// Distribution of the service time.
    pub service: Service,
    /// Mean service time in nanoseconds.
    pub service_ns: u64,
    /// Number of requests served at the same time.
    pub workers: u32,
    /// True for an event-driven server, which takes every connection at once and its requests in arrival order. If
    /// false, a worker takes one connection, answers one request and closes, while other connections wait in the accept
    /// queue.
    pub accept_at_once: bool,
    /// Backlog. The accept queue holds one more than this; a SYN that finds it full is dropped and sent again after a
    /// second.
    pub backlog: u32,
    /// Round trip between client and server in nanoseconds.
    pub rtt_ns: u64,
    /// Start and end of each stall of the server, in nanoseconds since the start; sorted, without overlaps.
    pub stalls_ns: Vec<(u64, u64)>,
    /// Rate limit. Requests beyond the limit are refused at once with status 429 (HTTP/1 only).
    pub limit: Option<TokenBucket>,
    /// Number of answers after which the server announces the end of a connection (HTTP/1 only) and closes it; 0 for no
    /// end.
    pub closes_after: u32,
    /// True if the client must close after an announced end. The worker waits for this close.
    pub leaves_close: bool,
    /// Idle time in nanoseconds after which the server closes a connection; 0 for no such time.
    pub keep_alive_ns: u64,
    /// Time after each answer at which the worker sends the answer again, in nanoseconds; 0 for one answer.
    pub answers_again_ns: u64,
    /// Times at which the server ends all connections, in nanoseconds since the start; sorted.
    pub restarts_ns: Vec<u64>,
    /// Seed of the service times.
    pub seed: u64,
}

impl Default for SimServer {
    fn default() -> Self {
        Self {
            service: Service::Exponential,
            service_ns: 1_000_000,
            workers: 1,
            accept_at_once: true,
            backlog: 4096,
            rtt_ns: 0,
            stalls_ns: Vec::new(),
            limit: None,
            closes_after: 0,
            leaves_close: false,
            keep_alive_ns: 0,
            answers_again_ns: 0,
            restarts_ns: Vec::new(),
            seed: 1,
        }
    }
}

/// Observations at the simulated server, in addition to the generator's result.
#[derive(Clone, Debug, Default)]
pub struct SimObservations {
    /// Arrival time of each SYN in nanoseconds since the start, sorted.
    pub syns_ns: Vec<u64>,
    /// SYNs that met a full accept queue.
    pub dropped: u64,
}
