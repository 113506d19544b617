//! Limits of a world: the rate that each of its parts allows.

/// Highest rate that one part of a world allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) cause: Cause,
    /// Rate limit, requests per second.
    pub(super) rate: f64,
}

/// A part of a world that can be its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// CPUs of the server's host, and the programs that do a large part of its work.
    ServerHost {
        client: bool,
        backend: bool,
    },
    /// Event loops of the server, each with its own CPU.
    ServerLoops,
    /// Work of the server that only one thread at a time does, on changing threads.
    Serial,
    /// Workers that wait for the upstream.
    Workers,
    /// Connections to the upstream service.
    Connections,
    /// The upstream of the server, on an observed host or another one.
    Backend,
    /// Threads or CPUs of the generator.
    Generator,
    ServerQuota,
    GeneratorQuota,
    RateLimit,
    AcceptQueue,
    /// The load itself: its number of connections, and the unloaded response time.
    Load,
}
