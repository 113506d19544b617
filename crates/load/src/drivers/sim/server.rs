//! The simulated server, which is a queueing model.

/// Distribution of the service time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Each request takes exactly the mean service time.
    Constant,
    /// Service times are exponentially distributed.
    #[default]
    Exponential,
    /// Some requests take far longer than others, for example because a cache cannot answer them.
    TwoPeaks {
        /// Service time of a slow request, as a multiple of that of a quick request.
        times: u32,
        /// Share of the slow requests, percent.
        percent: u32,
    },
}

/// Token bucket that limits the rate of requests. Each request takes one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Number of tokens added per second.
    pub rate: u32,
    /// Maximum number of tokens in the bucket of the rate limiter. The token bucket is full at the start.
    pub burst: u32,
}

/// Moment at which the server closes a connection without announcing the close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentClose {
    /// The server closes the connection together with its last answer.
    #[default]
    AtOnce,
    /// The server closes the connection at a random time after its last answer. The times until the close are
    /// exponentially distributed; the contained number is their mean in nanoseconds. If a request arrives before the
    /// close, the client gets a reset.
    Later(u64),
    /// The server closes the connection when the next request arrives, like a server that reads the request and fails.
    /// The client's connection is then reset.
    AtNextRequest,
}

/// The simulated server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimServer {
    /// Distribution of the service time.
    pub service: Service,
    /// Mean service time, nanoseconds.
    pub service_ns: u64,
    /// Maximum number of requests that the server handles at the same time.
    pub workers: u32,
    /// True for a server with an event loop: it accepts every connection at once, and handles requests in the order of
    /// their arrival. If false, a worker accepts one connection, answers one request and closes the connection, unless
    /// `keeps_connections` is set. While all workers serve a connection, other connections wait in the accept queue.
    pub accept_at_once: bool,
    /// True if a worker answers all requests on the connection that it accepted, until the connection ends. The setting
    /// has no effect with `accept_at_once`.
    pub keeps_connections: bool,
    /// Backlog of the listener. The accept queue holds one connection more than the backlog. If the queue is full, a
    /// SYN is dropped, and the client sends it again after a second.
    pub backlog: u32,
    /// Round-trip time between client and server, nanoseconds.
    pub rtt_ns: u64,
    /// Start and end of each stall of the server, nanoseconds since the start. The stalls are sorted and do not
    /// overlap.
    pub stalls_ns: Vec<(u64, u64)>,
    /// Rate limit, if there is one. A request without a token is refused at once with status 429 (HTTP/1 only).
    pub limit: Option<TokenBucket>,
    /// True if the server refuses a request at once, with status 503, while all workers are busy (HTTP/1 only).
    pub refuses_if_full: bool,
    /// Number of answers after which the server closes a connection; 0 to keep connections. The last answer announces
    /// the close (HTTP/1 only).
    pub closes_after: u32,
    /// True if the last answer does not announce that the server closes.
    pub closes_silently: bool,
    /// Moment of a close that is not announced.
    pub silent_close: SilentClose,
    /// True if the server leaves the close to the client after it has announced the end. The worker of the connection
    /// waits until the client closes.
    pub leaves_close: bool,
    /// Idle time after which the server closes a connection, nanoseconds; 0 to keep idle connections.
    pub keep_alive_ns: u64,
    /// Time after which the worker sends each answer a second time, nanoseconds; 0 to send each answer once.
    pub answers_again_ns: u64,
    /// Times at which the server ends all connections, nanoseconds since the start, sorted.
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
            keeps_connections: false,
            backlog: 4096,
            rtt_ns: 0,
            stalls_ns: Vec::new(),
            limit: None,
            refuses_if_full: false,
            closes_after: 0,
            closes_silently: false,
            silent_close: SilentClose::AtOnce,
            leaves_close: false,
            keep_alive_ns: 0,
            answers_again_ns: 0,
            restarts_ns: Vec::new(),
            seed: 1,
        }
    }
}

/// Observations of the simulated server, which complement the generator's result.
#[derive(Clone, Debug, Default)]
pub struct SimObservations {
    /// Arrival time of each SYN, nanoseconds since the start, sorted.
    pub syns_ns: Vec<u64>,
    /// Number of SYNs for which the accept queue was full.
    pub dropped: u64,
}
