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

/// A limit of the rate: a request takes a token, of which so many come a second and so many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Tokens per second.
    pub rate: u32,
    /// Most tokens that are kept; it begins with as many.
    pub burst: u32,
}

/// The simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimServer {
    /// Distribution of the service time.
    pub service: Service,
    /// Mean service time, nanoseconds.
    pub service_ns: u64,
    /// Requests served at the same time.
    pub workers: u32,
    /// An event-driven server takes every connection at once and its requests in order of arrival. Without it, a worker
    /// takes one connection, answers one request and closes; connections wait in the accept queue meanwhile.
    pub accept_at_once: bool,
    /// The accept queue holds one more than this; a SYN that finds it full is dropped and sent again after a second.
    pub backlog: u32,
    /// Round trip between client and server, nanoseconds.
    pub rtt_ns: u64,
    /// From when until when the server stands still, nanoseconds since the start; in order, none within another.
    pub stalls_ns: Vec<(u64, u64)>,
    /// Requests that it takes; others are refused at once with the status 429 (HTTP/1 only).
    pub limit: Option<TokenBucket>,
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
            seed: 1,
        }
    }
}

/// What the simulated server saw besides the generator's own part.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When each SYN arrived, nanoseconds since the start, in order.
    pub syns_ns: Vec<u64>,
    /// SYNs that met a full accept queue.
    pub dropped: u64,
}
