//! A simulated server with clients, link and upstream. The limit of each part is known.

use super::limit::Limit;

/// Index of each program in [`World::programs`].
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;
pub(super) const BACKEND: usize = 2;

/// A simulated network with a fixed number of clients.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Description of the world.
    pub(super) story: String,
    /// Hosts, the server's host first.
    pub(super) hosts: Vec<Host>,
    /// Programs: generator, server and upstream.
    pub(super) programs: Vec<Program>,
    /// Steps that each request takes.
    pub(super) steps: Vec<Step>,
    /// Index of the next step of a refused request.
    pub(super) reply: usize,
    /// Units of each semaphore: locks, and pools of connections to the upstream.
    pub(super) semaphores: Vec<usize>,
    /// Delay in one direction between client and server, seconds.
    pub(super) way_s: f64,
    /// Mean pause of a client between an answer and the next request, seconds.
    pub(super) think_s: f64,
    /// Intentional rate limit.
    pub(super) limiter: Option<Limiter>,
    /// Listener of a server, if each request opens its own connection.
    pub(super) listener: Option<Listener>,
    /// Maximum number of connections of the sweep.
    pub(super) max_connections: u32,
    /// Standard deviation of the machine's speed between trials, and of a counter.
    pub(super) noise: f64,
    /// Highest rate that each part allows.
    pub(super) limits: Vec<Limit>,
    /// Response time of a request that never waits for another one, seconds.
    pub(super) alone_s: f64,
    /// True if client and server are on one host.
    pub(super) shared: bool,
}

/// One machine of the simulated world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) cpus: u32,
    /// CPU time that other programs want, in CPUs.
    pub(super) other: f64,
}

/// One program on a simulated machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) host: usize,
    pub(super) threads: Threads,
    /// CPU quota, CPUs.
    pub(super) quota: Option<f64>,
    /// True if each thread is a separate process.
    pub(super) processes: bool,
}

/// Ways to assign requests to threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threads {
    /// Event loops: each connection belongs to one loop. A loop serves other requests while a request waits.
    Loops(usize),
    /// Workers: a request holds one worker until its answer is sent.
    Pool(usize),
    /// One thread per connection.
    PerConnection,
}

/// One step of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The request travels for [`World::way_s`].
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
    /// Passes the rate limiter: at once, after a wait, or not at all (refused).
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
    /// True if each source address has its own limit.
    pub(super) per_address: bool,
}

/// A listener whose connections are accepted in batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    pub(super) backlog: usize,
    pub(super) every_s: f64,
}

impl World {
    /// Returns the number of threads of the generator.
    pub(super) fn load_threads(&self) -> u32 {
        match self.programs[CLIENT].threads {
            Threads::Loops(n) | Threads::Pool(n) => n as u32,
            Threads::PerConnection => 1,
        }
    }
}
