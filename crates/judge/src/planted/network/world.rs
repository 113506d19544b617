//! A server with everything around it, of which the limit of each part is known.

use super::limit::Limit;

/// Index of each program.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;
pub(super) const BACKEND: usize = 2;

/// A closed world.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Description of the world.
    pub(super) story: String,
    /// Hosts: that of the server first.
    pub(super) hosts: Vec<Host>,
    /// Generator, server, and upstream.
    pub(super) programs: Vec<Program>,
    /// Steps of one request.
    pub(super) steps: Vec<Step>,
    /// Step to which a refused request goes.
    pub(super) reply: usize,
    /// Units of each semaphore: locks, and pools of connections to the upstream.
    pub(super) semaphores: Vec<usize>,
    /// Time of a message from one side to the other, seconds.
    pub(super) way_s: f64,
    /// Mean pause of a client between an answer and the next request, seconds.
    pub(super) think_s: f64,
    /// Intentional rate limit.
    pub(super) limiter: Option<Limiter>,
    /// Listener of a server to which each request comes on a connection of its own.
    pub(super) listener: Option<Listener>,
    /// Greatest number of connections of the sweep.
    pub(super) max_connections: u32,
    /// Standard deviation of the machine's speed from trial to trial, and of a counter.
    pub(super) noise: f64,
    /// Highest rate that each part allows.
    pub(super) limits: Vec<Limit>,
    /// Response time of a request that waits for nobody, seconds.
    pub(super) alone_s: f64,
    /// True if client and server are on one host.
    pub(super) shared: bool,
}

/// One machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) cpus: u32,
    /// CPUs that a program of neither side wants.
    pub(super) other: f64,
}

/// One program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) host: usize,
    pub(super) threads: Threads,
    /// CPU quota, CPUs.
    pub(super) quota: Option<f64>,
    /// True if the threads are processes of their own.
    pub(super) processes: bool,
}

/// Ways to assign requests to threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threads {
    /// Event loops: each connection belongs to one, which is free while its requests wait for something.
    Loops(usize),
    /// Workers: each is held by one request until its answer is sent.
    Pool(usize),
    /// A thread for each connection.
    PerConnection,
}

/// One step of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// On its way for [`World::way_s`].
    Way,
    /// Waits until a worker of a program is free, and holds it.
    Enter(usize),
    Leave(usize),
    /// Computes in a program for a mean time, seconds.
    Cpu(usize, f64),
    /// Takes a unit of a semaphore.
    Take(usize),
    Give(usize),
    /// Sleeps for a mean time, seconds.
    Sleep(f64),
    /// One request in a hundred sleeps for this time, seconds.
    Rare(f64),
    /// Passes the limiter, waits for it, or is refused.
    Limit,
    /// Waits in the queue of the listener.
    Accept,
}

/// An intentional rate limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    /// Requests per second.
    pub(super) rate: f64,
    /// True if requests beyond the rate are refused, false if they are delayed.
    pub(super) refuses: bool,
    /// True if each source address has a limit of its own.
    pub(super) per_address: bool,
}

/// A listener whose connections are accepted in batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    pub(super) backlog: usize,
    pub(super) every_s: f64,
}
