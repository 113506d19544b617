//! A simulated server with its clients, link and upstream service. The highest rate that each part allows is known.

use super::limit::Limit;

/// Index of the generator in [`World::programs`].
pub(super) const CLIENT: usize = 0;
/// Index of the server in [`World::programs`].
pub(super) const SERVER: usize = 1;
/// Index of the upstream service in [`World::programs`].
pub(super) const BACKEND: usize = 2;

/// A simulated network.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// Description of the simulated network, for messages of failed tests.
    pub(super) story: String,
    /// Hosts of the programs. The server's host is the first.
    pub(super) hosts: Vec<Host>,
    /// Programs: the generator, the server, and the upstream service if there is one.
    pub(super) programs: Vec<Program>,
    /// Steps that each request takes.
    pub(super) steps: Vec<Step>,
    /// Index in `steps` of the step with which a refused request goes on.
    pub(super) reply: usize,
    /// Number of units of each semaphore. A semaphore is a lock or a pool of connections.
    pub(super) semaphores: Vec<usize>,
    /// Network delay between client and server in one direction, seconds.
    pub(super) way_s: f64,
    /// Mean think time of a client between an answer and the client's next request, seconds.
    pub(super) think_s: f64,
    /// Rate limit that the server applies on purpose.
    pub(super) limiter: Option<Limiter>,
    /// Listener of the server; present if each request opens its own connection.
    pub(super) listener: Option<Listener>,
    /// Maximum number of connections of the sweep.
    pub(super) max_connections: u32,
    /// Relative standard deviation of the machine's speed between trials. The readings of the counters have a smaller
    /// random error.
    pub(super) noise: f64,
    /// Highest rate that each part of the simulated network allows.
    pub(super) limits: Vec<Limit>,
    /// Mean response time of a request that does not wait for any other request, seconds.
    pub(super) alone_s: f64,
    /// True if client and server are on one host.
    pub(super) shared: bool,
}

/// One host of the simulated network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    pub(super) cpus: u32,
    /// CPU use that another program on the host wants, in CPUs.
    pub(super) other: f64,
}

/// One program on a simulated host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) host: usize,
    pub(super) threads: Threads,
    /// CPU quota of the program in CPUs; `None` without a quota.
    pub(super) quota: Option<f64>,
    /// True if each thread is a separate process.
    pub(super) processes: bool,
}

/// Ways in which a program assigns requests to threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threads {
    /// Number of event loops. Each connection belongs to one loop. While a request sleeps, the event loop serves other
    /// requests.
    Loops(usize),
    /// Pool of workers, with their number. A request occupies one worker until it leaves the program.
    Pool(usize),
    /// One thread for each connection.
    PerConnection,
}

/// One step of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The request or its answer travels between client and server for [`World::way_s`].
    Way,
    /// The request enters a program. If the program has a pool, the request waits for a free worker and then occupies
    /// this worker.
    Enter(usize),
    Leave(usize),
    /// Computes in a program for a random time with the given mean, seconds.
    Cpu(usize, f64),
    /// Takes a unit of a semaphore, and waits if no unit is free.
    Take(usize),
    Give(usize),
    /// Sleeps for a random time with the given mean, seconds.
    Sleep(f64),
    /// Sleeps for the given time, seconds, with a probability of 1 in 100.
    Rare(f64),
    /// Passes the rate limiter: at once, after a delay, or as a refused request.
    Limit,
    /// Connects, and waits in the listen queue until the server accepts the connection.
    Accept,
}

/// A rate limit that the server applies on purpose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    /// Maximum rate, requests per second.
    pub(super) rate: f64,
    /// True if the server refuses requests beyond the rate; false if it delays them.
    pub(super) refuses: bool,
    /// True if each source address has its own limit.
    pub(super) per_address: bool,
}

/// Listener of a server that accepts all waiting connections at regular intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    pub(super) backlog: usize,
    pub(super) every_s: f64,
}

impl World {
    /// Returns the number of the generator's threads.
    pub(super) fn load_threads(&self) -> u32 {
        match self.programs[CLIENT].threads {
            Threads::Loops(n) | Threads::Pool(n) => n as u32,
            Threads::PerConnection => 1,
        }
    }
}
