//! Limits of a simulated network: the highest rate that each of its parts allows.

/// Highest rate that one part of a simulated network allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) cause: Cause,
    /// Highest rate, requests per second.
    pub(super) rate: f64,
}

/// A part of a simulated network that can be its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// CPUs of the server's host. The flags say if the generator or the upstream does a large part of the host's work.
    ServerHost {
        client: bool,
        backend: bool,
    },
    /// Event loops of the server; each loop uses at most one CPU.
    ServerLoops,
    /// Work of the server that only one thread at a time can do.
    Serial,
    /// Workers of the server that wait for an upstream or a sleep.
    Workers,
    /// Connections to the upstream service.
    Connections,
    /// The server's upstream service, on the server's host or another host.
    Backend,
    /// Threads of the generator.
    Generator,
    ServerQuota,
    GeneratorQuota,
    RateLimit,
    AcceptQueue,
    /// The load itself: too few connections for the unloaded response time.
    Load,
}
