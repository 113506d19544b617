//! The simulated server: a queueing model.

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// The service time is always the mean.
    Constant,
    /// The service time is exponentially distributed with this mean.
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
    /// Number of requests that are handled at the same time.
    pub workers: u32,
    /// True for a server with an event loop, which accepts every connection at once and handles requests in the order
    /// of their arrival. If false, a worker takes one connection, answers one request and closes it, while other
    /// connections wait in the accept queue.
    pub accept_at_once: bool,
    /// Backlog of the listener. The accept queue holds one connection more; a SYN that finds it full is dropped, and
    /// sent again after a second.
    pub backlog: u32,
    /// Round trip between client and server in nanoseconds.
    pub rtt_ns: u64,
    /// Start and end of each stall of the server, in nanoseconds since the start; sorted, without overlaps.
    pub stalls_ns: Vec<(u64, u64)>,
    /// Rate limit. Requests beyond it are refused at once with status 429 (HTTP/1 only).
    pub limit: Option<TokenBucket>,
    /// Number of answers after which the server closes a connection, which its last answer announces (HTTP/1 only); 0 to
    /// keep connections.
    pub closes_after: u32,
    /// True if the last answer does not announce the close.
    pub closes_silently: bool,
    /// True if the client must close after an announced end. The worker waits until the client closes.
    pub leaves_close: bool,
    /// Idle time after which the server closes a connection, nanoseconds; 0 to keep idle connections.
    pub keep_alive_ns: u64,
    /// Time after each answer at which the worker sends it again, nanoseconds; 0 to send each answer once.
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
            closes_silently: false,
            leaves_close: false,
            keep_alive_ns: 0,
            answers_again_ns: 0,
            restarts_ns: Vec::new(),
            seed: 1,
        }
    }
}

/// Observations of the simulated server, in addition to the generator's result.
#[derive(Clone, Debug, Default)]
pub struct SimObservations {
    /// Arrival time of each SYN in nanoseconds since the start, sorted.
    pub syns_ns: Vec<u64>,
    /// Number of SYNs for which the accept queue was full.
    pub dropped: u64,
}
