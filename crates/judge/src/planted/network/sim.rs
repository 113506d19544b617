//! Simulation of a network in virtual time: its clients, threads and queues.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use super::cpu::Cpu;
use super::world::{BACKEND, CLIENT, Program, SERVER, Threads, World};

/// Load of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Load {
    /// Closed loop, in which each client has one request in flight. The value is the number of clients.
    Closed(u32),
    /// Open loop: requests per second, and the maximum number of connections.
    Open(f64, u32),
}

/// Event at a known time. The CPUs keep their own events, such as the end of a thread's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    /// A request takes its next steps.
    GoOn(usize),
    /// The next request of the open loop arrives.
    Arrival,
    /// The server accepts all waiting connections.
    AcceptAll,
    /// The other program of a host starts its next piece of work.
    Other(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Due {
    at_s: f64,
    event: Event,
}

impl Eq for Due {}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_s.total_cmp(&self.at_s)
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One client or connection, which carries requests one after another; the fields describe its current request.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) step: usize,
    /// Time at which the request should start, seconds.
    pub(super) start_s: f64,
    /// Duration of the request's connect, seconds.
    pub(super) connect_s: f64,
    /// Worker that the request occupies in each program, if any.
    pub(super) worker: [Option<usize>; 3],
    /// Number of SYN packets of the request that were dropped.
    pub(super) dropped: u32,
    pub(super) refused: bool,
    /// True if the request has arrived at the server, but the server has not read it yet.
    pub(super) unread: bool,
}

/// One thread of a simulated program.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) program: usize,
    /// Requests that wait for the thread, each with its work in seconds.
    pub(super) queue: VecDeque<(usize, f64)>,
    /// Request that the thread works on, with the start time and the amount of the work, both in seconds.
    pub(super) running: Option<(usize, f64, f64)>,
    /// CPU time of the thread, seconds.
    pub(super) cpu_s: f64,
    /// Time for which the thread waited for a CPU, seconds.
    pub(super) wait_s: f64,
}

/// A lock or a pool of connections: its free units, and the requests that wait for a free unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Semaphore {
    pub(super) free: usize,
    pub(super) queue: VecDeque<usize>,
}

/// Threads of one simulated program, and the requests that wait for a free worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Workers {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) free: Vec<usize>,
    pub(super) queue: VecDeque<usize>,
}

/// Counts of events, and numbers of requests integrated over time, since the simulation began. The difference of two
/// snapshots gives the figures of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) in_flight: f64,
    pub(super) unread: f64,
    pub(super) answers_unread: f64,
    pub(super) backend_connections: f64,
    /// Number of unread requests at the upstream service, integrated over time.
    pub(super) backend_unread: f64,
    pub(super) due: f64,
    pub(super) sent: f64,
    pub(super) refused: f64,
    pub(super) dropped: f64,
    pub(super) accepted: f64,
}

/// State of a simulated network at a moment of virtual time.
pub(super) struct Sim<'w> {
    pub(super) world: &'w World,
    pub(super) load: Load,
    pub(super) now_s: f64,
    pub(super) random: fastrand::Rng,
    events: BinaryHeap<Due>,
    pub(super) cpus: Vec<Cpu>,
    pub(super) threads: Vec<Thread>,
    pub(super) workers: Vec<Workers>,
    pub(super) semaphores: Vec<Semaphore>,
    pub(super) requests: Vec<Request>,
    /// Idle connections of the open loop.
    pub(super) idle: Vec<usize>,
    /// For each request that still waits for a connection: the time at which the request should have started, seconds.
    pub(super) late: VecDeque<f64>,
    pub(super) backlog: VecDeque<usize>,
    /// State of the rate limiter. If the limiter refuses requests, the first value is its number of tokens, and the
    /// second value is the time of their last update. If the limiter delays requests, the second value is the time at
    /// which the next request may pass. All times are in seconds.
    pub(super) limiter: (f64, f64),
    pub(super) counts: Counts,
    pub(super) sums: Sums,
    /// Response time and connect time of each answer since the last snapshot, seconds.
    pub(super) answers: Vec<(f64, f64)>,
}

/// Current numbers of requests in some states. The simulation integrates the numbers over time ([`Sums`]).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) in_flight: u32,
    pub(super) unread: u32,
    pub(super) answers_unread: u32,
}

impl<'w> Sim<'w> {
    pub(super) fn new(world: &'w World, load: Load, seed: u64) -> Self {
        let connections = match load {
            Load::Closed(n) | Load::Open(_, n) => n as usize,
        };
        let mut sim = Self {
            world,
            load,
            now_s: 0.0,
            random: fastrand::Rng::with_seed(seed),
            events: BinaryHeap::new(),
            cpus: world.hosts.iter().map(|host| Cpu::new(f64::from(host.cpus), world.programs.len() + 1)).collect(),
            threads: Vec::new(),
            workers: Vec::new(),
            semaphores: world.semaphores.iter().map(|n| Semaphore { free: *n, ..Semaphore::default() }).collect(),
            requests: vec![Request::default(); connections],
            idle: (0..connections).rev().collect(),
            late: VecDeque::new(),
            backlog: VecDeque::new(),
            limiter: (0.0, 0.0),
            counts: Counts::default(),
            sums: Sums::default(),
            answers: Vec::new(),
        };
        for (at, program) in world.programs.iter().enumerate() {
            sim.add_program(at, program, connections);
        }
        sim.add_others();
        sim.first_events();
        sim
    }

    fn add_program(&mut self, at: usize, program: &Program, connections: usize) {
        let count = match program.threads {
            Threads::Loops(n) | Threads::Pool(n) => n,
            Threads::PerConnection => connections,
        };
        let first = self.threads.len();
        let thread = Thread { program: at, queue: VecDeque::new(), running: None, cpu_s: 0.0, wait_s: 0.0 };
        self.threads.extend(std::iter::repeat_n(thread, count));
        self.workers.push(Workers {
            first,
            count,
            free: (first..first + count).rev().collect(),
            queue: VecDeque::new(),
        });
        if let Some(quota) = program.quota {
            self.cpus[program.host].groups[at].limited(quota);
        }
    }

    /// Adds one thread to each host for the host's other program.
    fn add_others(&mut self) {
        let program = self.world.programs.len();
        for host in 0..self.world.hosts.len() {
            let thread = Thread { program, queue: VecDeque::new(), running: None, cpu_s: 0.0, wait_s: 0.0 };
            self.threads.push(thread);
            if self.world.hosts[host].other > 0.0 {
                self.after(0.0, Event::Other(host));
            }
        }
    }

    fn first_events(&mut self) {
        if let Some(listener) = self.world.listener {
            self.after(listener.every_s, Event::AcceptAll);
        }
        match self.load {
            Load::Closed(n) => {
                // Clients start at random times.
                (0..n as usize).for_each(|request| {
                    let at_s = self.random.f64() * (self.world.alone_s + self.world.think_s);
                    self.after(at_s, Event::GoOn(request));
                });
                self.idle.clear();
            }
            Load::Open(..) => self.after(0.0, Event::Arrival),
        }
    }

    pub(super) fn after(&mut self, in_s: f64, event: Event) {
        self.events.push(Due { at_s: self.now_s + in_s, event });
    }

    /// Simulates until `end_s`.
    pub(super) fn until(&mut self, end_s: f64) {
        loop {
            let due_s = self.events.peek().map_or(f64::INFINITY, |due| due.at_s);
            let done_s = self.cpus.iter().map(|cpu| cpu.next_s(self.now_s)).fold(f64::INFINITY, f64::min);
            let next_s = due_s.min(done_s).min(end_s).max(self.now_s);
            self.advance(next_s);
            for host in 0..self.cpus.len() {
                while let Some(thread) = self.cpus[host].done(self.now_s) {
                    self.computed(thread);
                }
            }
            while let Some(due) = self.events.peek().copied().filter(|due| due.at_s <= self.now_s) {
                self.events.pop();
                self.happens(due.event);
            }
            if self.now_s >= end_s {
                return;
            }
        }
    }

    fn advance(&mut self, to_s: f64) {
        let dt_s = to_s - self.now_s;
        if dt_s > 0.0 {
            // A thread that waits for a CPU has not read its request yet.
            let waiting = |host: usize, counted: u32| f64::from(counted) * (1.0 - self.cpus[host].share()).max(0.0);
            let server = &self.world.programs[SERVER];
            let own = if server.threads == Threads::PerConnection { self.ready(SERVER) } else { 0 };
            self.sums.unread += (f64::from(self.counts.unread) + waiting(server.host, own)) * dt_s;
            self.sums.answers_unread += f64::from(self.counts.answers_unread) * dt_s;
            self.sums.in_flight += f64::from(self.counts.in_flight) * dt_s;
            let taken = self.semaphores.last().zip(self.world.semaphores.last());
            self.sums.backend_connections += taken.map_or(0.0, |(s, all)| (all - s.free.min(*all)) as f64) * dt_s;
            self.sums.backend_unread += self.backend_unread() as f64 * dt_s;
            self.cpus.iter_mut().for_each(|cpu| cpu.advance(self.now_s, to_s));
        }
        self.now_s = to_s;
    }

    fn backend_unread(&self) -> usize {
        let Some(workers) = self.workers.get(BACKEND) else { return 0 };
        let threads = self.threads[workers.first..workers.first + workers.count].iter();
        workers.queue.len() + threads.map(|thread| thread.queue.len()).sum::<usize>()
    }

    fn ready(&self, program: usize) -> u32 {
        self.cpus[self.world.programs[program].host].groups[program].ready() as u32
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::GoOn(request) => self.go_on(request),
            Event::Arrival => self.arrives(),
            Event::AcceptAll => self.accept_all(),
            Event::Other(host) => self.other_works(host),
        }
    }

    /// Starts work of a thread, or queues the work if the thread is busy.
    pub(super) fn compute(&mut self, thread: usize, request: usize, work_s: f64) {
        self.threads[thread].queue.push_back((request, work_s));
        if self.threads[thread].running.is_none() {
            self.next_of(thread);
        } else if self.threads[thread].program == CLIENT {
            self.counts.answers_unread += 1;
        }
    }

    fn next_of(&mut self, thread: usize) {
        let Some((request, work_s)) = self.threads[thread].queue.pop_front() else { return };
        self.threads[thread].running = Some((request, self.now_s, work_s));
        let program = self.threads[thread].program;
        if program == SERVER {
            self.read(request);
        }
        let host = self.host_of(thread);
        self.cpus[host].start(program, thread, work_s);
    }

    fn host_of(&self, thread: usize) -> usize {
        let program = self.threads[thread].program;
        let others = self.threads.len() - self.world.hosts.len();
        self.world.programs.get(program).map_or(thread.saturating_sub(others), |program| program.host)
    }

    /// Handles a thread that has finished its work.
    fn computed(&mut self, thread: usize) {
        let Some((request, from_s, work_s)) = self.threads[thread].running.take() else { return };
        let used_s = work_s / self.cpus[self.host_of(thread)].speed;
        let one = &mut self.threads[thread];
        one.cpu_s += used_s;
        one.wait_s += (self.now_s - from_s - used_s).max(0.0);
        if one.program == self.world.programs.len() {
            return self.other_rests(request);
        }
        let more = !one.queue.is_empty();
        if more && one.program == CLIENT {
            self.counts.answers_unread -= 1;
        }
        self.next_of(thread);
        self.go_on(request);
    }

    /// Marks a request as read by the server.
    pub(super) fn read(&mut self, request: usize) {
        if std::mem::take(&mut self.requests[request].unread) {
            self.counts.unread -= 1;
        }
    }

    fn other_works(&mut self, host: usize) {
        let thread = self.threads.len() - self.world.hosts.len() + host;
        let work_s = BURST_S * self.exponential();
        self.compute(thread, host, work_s);
    }

    fn other_rests(&mut self, host: usize) {
        let wants = self.world.hosts[host].other;
        let rest_s = BURST_S * (1.0 / wants - 1.0) * self.exponential();
        self.after(rest_s, Event::Other(host));
    }

    pub(super) fn exponential(&mut self) -> f64 {
        -self.random.f64().max(1e-300).ln()
    }
}

/// Mean length of one piece of work of a host's other program, seconds.
const BURST_S: f64 = 0.002;
