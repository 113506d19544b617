//! Limits of a simulated network: the highest rate that each of its parts allows.

/// Limit of a simulated network: the highest rate that one part of the network allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) cause: Cause,
    /// Highest rate that this part allows, requests per second.
    pub(super) rate: f64,
}

/// A part of a simulated network that can be its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// CPUs of the server's host. `client` and `backend` say if the generator or the upstream service does a large part
    /// of the host's work.
    ServerHost {
        client: bool,
        backend: bool,
    },
    /// Event loops of the server. Each loop is one thread, so it uses at most one CPU.
    ServerLoops,
    /// Work of the server that only one thread at a time can do.
    Serial,
    /// Workers of the server, each of which waits during a request: for an upstream service, or in a sleep.
    Workers,
    /// Connections from the server to its upstream service.
    Connections,
    /// The server's upstream service, on the server's host or another host.
    Backend,
    /// Threads of the generator.
    Generator,
    ServerQuota,
    GeneratorQuota,
    RateLimit,
    AcceptQueue,
    /// The load itself, not a part of the network. Even if the response time is as short as without load, the load's
    /// connections are too few to fill any part.
    Load,
}
