//! Limits of a simulated network: the highest rate that each of its parts allows.

/// Limit of a simulated network: the highest rate that one part of the network allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) cause: Cause,
    /// Highest rate that the part allows, requests per second.
    pub(super) rate: f64,
}

/// A part of a simulated network that can be its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// CPUs of the server's host. `client` is true if the generator does a large part of the host's work, and `backend`
    /// is true if the upstream does.
    ServerHost {
        client: bool,
        backend: bool,
    },
    /// Event loops of the server. Each loop is one thread, so it uses at most one CPU.
    ServerLoops,
    /// Work of the server that only one thread at a time can do.
    Serial,
    /// Workers of the server, which wait for an upstream or in a sleep during a request.
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
    /// The load itself, and not a part of the network. The load has too few connections to fill any part, even if each
    /// request is answered as fast as without load.
    Load,
}
