//! The connection engine: connections, requests and their times. Every call receives the driver's operations, so the
//! same engine runs under every driver and the simulator. The engine is compiled once per driver, but not per protocol.
//! Sessions are called dynamically, which costs some nanoseconds per request. Compiling per protocol would add a minute
//! to every build.
//!
//! Three kinds of load share it: [`closed`], [`open`] and [`sclients`] decide *when* a request or a connect starts. All
//! code after the start is common and lives in [`requests`] and [`connections`].

mod alias;
mod block_turns;
mod blocks;
mod closed;
mod closing;
mod connections;
mod descriptors;
mod drain;
mod due_clock;
mod fin_wait;
mod in_flight;
mod mix;
mod open;
mod pace;
mod pool;
mod pool_demand;
mod requests;
mod requeue;
mod sclients;
mod task;

use std::collections::VecDeque;

use fastrand::Rng;
use proto::{AnyClient, Sessions};
use run::{Phase, RequestOrder};

use crate::driver::{Batch, Completion, Ops};
use crate::exhausted;
use crate::record::{Offered, Record, RecordOptions};
use crate::timers::Timers;

pub(crate) use block_turns::BlockTurns;
pub(crate) use fin_wait::spares;
pub(crate) use in_flight::InFlightRequest;
pub(crate) use task::{Paced, Shape, Task, Think};

/// Minimum number of requests in flight for batching. With fewer, every answer is handled on arrival.
const MIN_IN_FLIGHT_TO_BATCH: u64 = 8;
/// Lateness of timer wake-ups that the loop compensates for (in a virtual machine: median 33 µs, above 100 µs for 1 %).
const TIMER_LATENESS_NS: u64 = 90_000;
/// Maximum share of time spent busy-waiting for due times.
const MAX_SPIN_SHARE: f64 = 0.45;
/// Rate above which the loop does not busy-wait, because it hardly sleeps anyway and requests need the CPU time.
const MAX_SPIN_RATE_PER_S: f64 = 20_000.0;
/// Maximum number of timers fired in one pass. A generator that is late has thousands of due timers, and must still
/// read commands and answers.
const MAX_TIMERS_PER_PASS: usize = 256;
/// Maximum delay that batching adds to a response time.
const MAX_BATCH_US: u64 = 200;

/// State of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The connection number is not in use.
    #[default]
    Free,
    /// Closed, waiting for its timer to connect.
    Waiting,
    /// The SYN was sent, and the connection is not yet established.
    Connecting,
    /// Established, in the protocol's handshake.
    Handshaking,
    /// Established, no request in flight.
    Idle,
    /// Established, waiting for its timer to send.
    Thinking,
    /// The connection has at least one request in flight.
    Busy,
    /// Finished: waiting for the FIN that the server announced.
    Closing,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conn {
    /// Time at which the timer takes effect. The heap may hold an earlier entry.
    deadline_ns: u64,
    /// Start of the connect. Once the connection is established: the time of the establishment, or, in an open loop, of
    /// the last send.
    began_ns: u64,
    /// Due time of this connect's request (S-Clients with an arrival process), or the start of the connect (closed loop
    /// with one connection per request).
    intended_ns: u64,
    /// Time of the last answer, or the time when the connection became ready for requests.
    quiet_ns: u64,
    /// Idle time of the connection before the requests in flight; 0 if there was none, or if an answer has come since.
    idle_ns: u64,
    in_flight: u32,
    /// Requests started since the connect.
    made: u64,
    /// Requests started and not yet passed completely to the kernel.
    unsent: u32,
    failures: u8,
    /// Number of messages that the connection may still start (blocks).
    left: u32,
    state: State,
    /// True while a send waits in the driver.
    pending: bool,
    /// True once anything was received on this connection.
    heard: bool,
    /// True while the open loop's pool lists the connection as one with room.
    listed: bool,
}

/// The connection engine of one shard.
pub(crate) struct Core {
    task: Task,
    conns: Vec<Conn>,
    sessions: Box<dyn Sessions>,
    requests: in_flight::InFlight,
    requeued: VecDeque<in_flight::Requeued>,
    /// True if requests that the server did not process are sent again.
    takes_over: bool,
    /// True for each request of the mix that is idempotent.
    idempotent: Box<[bool]>,
    mix: mix::Mix,
    depth: usize,
    free: Vec<u32>,
    closing: fin_wait::Closing,
    timers: Timers,
    rng: Rng,
    pub(crate) record: Record,
    /// Requests in flight on all connections.
    pub(crate) in_flight: u64,
    /// Number of established connections.
    pub(crate) open: u64,
    batch: Batch,
    tuned: (u64, u64),
    draining: bool,
    /// True while connections are opened one after the other and some are not established yet.
    opening: bool,
    drain_end_ns: u64,
    /// Time for which connections without a request are heard in the drain.
    listen_ns: u64,
    /// Time of the last answer.
    answered_ns: u64,
    ports_ran_out: bool,
    fds_ran_out: bool,
    handed_over: u64,
    kept_here: u64,
    mode: Mode,
}

enum Mode {
    Closed { think: Think },
    Open(pool::Pool),
    SClients(descriptors::Descriptors),
    Handling,
}

impl Mode {
    fn new(task: &Task, capacity: usize) -> Self {
        match &task.intensity {
            Shape::Handling { .. } => Self::Handling,
            Shape::Closed { think, .. } => Self::Closed { think: *think },
            Shape::Open { arrivals, rate, .. } => {
                let need = pool_demand::PoolDemand::new(*rate * arrivals.peak(), task.depth(), task.origin_ns);
                Self::Open(pool::Pool::new(due_clock::DueClock::new(arrivals, *rate, task.origin_ns), need, capacity))
            }
            Shape::SClients { descriptors, timeout_ns, think, phase, pace, .. } => {
                let spread = descriptors::Spread { timeout_ns: *timeout_ns, phase: *phase };
                let dues = pace.as_ref().map(|p| due_clock::DueClock::new(&p.arrivals, p.rate, task.origin_ns));
                Self::SClients(descriptors::Descriptors::new(*descriptors, spread, *think, dues))
            }
        }
    }
}

impl Mode {
    /// Returns the maximum number of connections that may wait for a FIN if no extra numbers were added for them.
    fn max_closing(&self, capacity: usize) -> usize {
        match self {
            Self::SClients(_) | Self::Handling => capacity / 2,
            Self::Closed { .. } | Self::Open(_) => 0,
        }
    }
}

/// Returns true if requests have a due time, which may be earlier than their send.
fn by_the_clock(intensity: &Shape) -> bool {
    match intensity {
        Shape::Open { .. } | Shape::SClients { pace: Some(_), .. } => true,
        Shape::Handling { paced, .. } => *paced,
        _ => false,
    }
}

impl Core {
    /// Allocates all memory that the loop needs.
    pub(crate) fn new(task: Task, client: &dyn AnyClient) -> Self {
        let (capacity, depth) = (task.capacity() as usize, task.depth());
        let mode = Mode::new(&task, capacity);
        let mut sessions = client.sessions(capacity);
        let mix = mix::Mix::new(client.mix()).recorded(&task.items);
        let handshake = capacity > 0 && !sessions.session(0).ready();
        let service = by_the_clock(&task.intensity) || task.new_connections;
        let keeps = RecordOptions { service, handshake, classes: mix.classes() };
        let one_connection = task.new_connections || task.blocks.is_some();
        // A new connection lacks the values that earlier requests of a sequence captured.
        let is_sequence = client.mix().order == RequestOrder::Sequence;
        let takes_over = !one_connection && !is_sequence && matches!(mode, Mode::Closed { .. } | Mode::Open(_));
        let items = client.mix().weights.len().min(usize::from(u16::MAX)) as u16;
        let idempotent = (0..items).map(|item| client.is_idempotent(item)).collect();
        // In a closed loop every number is in use from the start, except the numbers of connections that wait for a
        // FIN.
        let used = if matches!(mode, Mode::Closed { .. }) { task.connections() } else { 0 };
        let max_closing = if task.spares > 0 { task.spares as usize } else { mode.max_closing(capacity) };
        let mut record = Record::new(task.origin_ns, keeps);
        record.in_tenths(task.tenths.clone());
        record.in_slots(task.slot_times.clone());
        Self {
            conns: vec![Conn::default(); capacity],
            sessions,
            requests: in_flight::InFlight::new(capacity, depth),
            requeued: VecDeque::new(),
            takes_over,
            idempotent,
            mix,
            depth,
            free: (used..capacity as u32).rev().collect(),
            closing: fin_wait::Closing::new(max_closing),
            timers: Timers::new(capacity),
            rng: Rng::with_seed(task.seed),
            record,
            in_flight: 0,
            open: 0,
            batch: Batch::default(),
            tuned: (task.origin_ns, 0),
            draining: false,
            opening: false,
            drain_end_ns: u64::MAX,
            listen_ns: 0,
            answered_ns: 0,
            ports_ran_out: false,
            fds_ran_out: false,
            handed_over: 0,
            kept_here: 0,
            mode,
            task,
        }
    }

    /// Replaces the task's start time before anything was started.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        self.task.origin_ns = origin_ns;
        self.tuned.0 = origin_ns;
        self.record.begin_at(origin_ns);
        match &mut self.mode {
            Mode::Open(pool) => pool.begin_at(origin_ns),
            Mode::SClients(descriptors) => {
                descriptors.pace.iter_mut().for_each(|pace| pace.dues.begin_at(origin_ns));
            }
            Mode::Closed { .. } | Mode::Handling => {}
        }
    }

    /// Starts the load. The clock must have reached the task's start time by then.
    pub(crate) fn start<O: Ops>(&mut self, ops: &mut O) {
        match &self.mode {
            Mode::Closed { .. } => self.closed_start(ops),
            Mode::Open(_) | Mode::Handling => {}
            Mode::SClients(_) => self.sclients_start(),
        }
    }

    /// Returns the latest time at which [`Core::advance`] must run next.
    pub(crate) fn next_ns(&self) -> u64 {
        let due = self.dues().filter(|_| !self.draining).map_or(u64::MAX, due_clock::DueClock::next_ns);
        self.timers.next().min(due)
    }

    /// Returns how long before [`Core::next_ns`] the loop should be awake, to compensate for late timers. Positive only
    /// for requests with due times.
    pub(crate) fn early_ns(&self) -> u64 {
        match self.dues().map(due_clock::DueClock::rate) {
            Some(rate) if !self.draining && rate < MAX_SPIN_RATE_PER_S => {
                TIMER_LATENESS_NS.min((1e9 * MAX_SPIN_SHARE / rate.max(1e-9)) as u64)
            }
            _ => 0,
        }
    }

    /// Returns the clock of due requests or connects, if any.
    fn dues(&self) -> Option<&due_clock::DueClock> {
        match &self.mode {
            Mode::Open(pool) => Some(pool.dues()),
            Mode::SClients(d) => d.dues(),
            _ => None,
        }
    }

    /// Returns the batching of answers. Only a closed loop without pauses batches answers. A delayed answer delays only
    /// that client's next request, and the server works on the other clients' requests meanwhile.
    #[inline]
    pub(crate) fn batch(&self) -> Batch {
        self.batch
    }

    /// Sets the rate of an open loop to `factor` times the planned rate from `now` on. Does nothing for other loads.
    pub(crate) fn change_rate(&mut self, now: u64, factor: f64) {
        if let Mode::Open(pool) = &mut self.mode
            && pool.dues.change_rate(now, factor)
        {
            pool.demand.plan(pool.dues.rate());
        }
    }

    /// Recomputes [`Core::batch`] from the completions since the last call: at most a quarter of the response time (by
    /// Little's law) and at most [`MAX_BATCH_US`].
    pub(crate) fn retune(&mut self, now: u64) {
        let completed = self.record.counts.completed;
        let (since, answers) = (now.saturating_sub(self.tuned.0), completed - self.tuned.1);
        self.tuned = (now, completed);
        let response_us = since * self.in_flight / (answers.max(1) * 1000);
        self.batch = match &self.mode {
            Mode::Closed { think } if think.is_none() && self.in_flight >= MIN_IN_FLIGHT_TO_BATCH && answers > 0 => {
                Batch { want: (self.in_flight / 2) as u32, within_us: (response_us / 4).min(MAX_BATCH_US) as u32 }
            }
            _ => Batch::default(),
        };
    }

    /// Starts a pass of the loop.
    pub(crate) fn pass(&mut self, now_ns: u64) {
        if let Some(held) = &mut self.record.held_up {
            held.pass(now_ns, &self.record.counts);
        }
    }

    /// Records that the loop sleeps until `until_ns` or the next event.
    pub(crate) fn sleeps(&mut self, until_ns: u64) {
        if let Some(held) = &mut self.record.held_up {
            held.sleeps(until_ns);
        }
    }

    pub(crate) fn advance<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        self.record.advance(now, self.in_flight);
        for _ in 0..MAX_TIMERS_PER_PASS {
            let Some(conn) = self.timers.pop_due(now) else { break };
            self.fire(ops, conn);
        }
        match &self.mode {
            _ if self.draining => {}
            Mode::Open(_) => self.open_due(ops),
            Mode::SClients(_) => self.sclients_due(ops),
            _ => {}
        }
    }

    /// Handles a completion from the driver.
    #[inline]
    pub(crate) fn on<O: Ops>(&mut self, ops: &mut O, completion: Completion<'_>) {
        match completion {
            Completion::Received { conn, bytes } => self.received(ops, conn, bytes),
            Completion::Connected { conn } => self.connected(ops, conn),
            Completion::Adopted { conn, start } => self.adopted(ops, conn, start),
            Completion::Writable { conn } => self.writable(ops, conn),
            Completion::PeerClosed { conn } => self.peer_closed(ops, conn),
            Completion::Failed { conn, op, errno } => self.failed(ops, conn, op, errno),
        }
    }

    /// Records the edge of a phase ordered for `at_ns`, unless it is already recorded. Does not touch connections,
    /// because their events may be under way.
    ///
    /// The ordered time counts even if a thread without a CPU reads the command late, because the thread did nothing
    /// meanwhile. The windows of agents that compete for a CPU are therefore identical.
    pub(crate) fn edge(&mut self, phase: Phase, at_ns: u64, now: u64) {
        let mut edge_ns = self.record.edge_ns(at_ns, now);
        if phase == Phase::Drain && self.in_flight == 0 {
            edge_ns = self.recorded_end_ns().map_or(edge_ns, |end| edge_ns.min(end.max(self.answered_ns)));
        }
        self.record.advance(edge_ns, self.in_flight);
        if phase == Phase::Drain && self.record.measuring {
            self.record_under_way(edge_ns);
        }
        self.record.enter(phase, edge_ns);
    }

    /// Starts a phase ordered for `at_ns`.
    pub(crate) fn enter<O: Ops>(&mut self, ops: &mut O, phase: Phase, at_ns: u64) {
        let now = ops.now();
        self.edge(phase, at_ns, now);
        ops.tell_phase(phase, now);
        if phase == Phase::Measure {
            self.end_opening(now);
        }
        if phase == Phase::Drain && !self.draining {
            self.drain(ops, now);
        }
    }

    /// Returns true if a request begins with its connect: a closed loop with one connection per request.
    pub(super) fn begins_with_connect(&self) -> bool {
        self.task.new_connections && matches!(self.mode, Mode::Closed { .. })
    }

    /// Closes all connections, counts unanswered requests, and returns the shard's result.
    pub(crate) fn finish<O: Ops>(mut self, ops: &mut O) -> run::LoadPart {
        let now = ops.refresh();
        self.record.advance(now, self.in_flight);
        for conn in 0..self.conns.len() as u32 {
            let c = self.conns[conn as usize];
            self.record.counts.unanswered += u64::from(c.in_flight);
            self.record.counts.phantom += u64::from(c.in_flight > 0 && !c.heard);
            if !matches!(c.state, State::Free | State::Waiting) {
                ops.close(conn);
            }
        }
        self.record.counts.unanswered += self.requeued.len() as u64;
        let offered = match &self.mode {
            Mode::Open(pool) if pool.dues().is_even() => Offered::Rate(pool.dues().rate()),
            Mode::Open(_) => Offered::Due,
            Mode::SClients(d) if d.dues().is_some() => Offered::Due,
            Mode::SClients(d) => Offered::Attempts { at_least: d.least_per_s() },
            Mode::Handling => Offered::Attempts { at_least: 0.0 },
            Mode::Closed { .. } => Offered::Sent,
        };
        let opened = (self.task.connect_gap_ns > 0.0).then(|| self.record.opened());
        let mut part = self.record.part(now, offered);
        part.opened = opened;
        if self.handed_over + self.kept_here > 0 {
            part.notes.push(format!(
                "two processes: {} connections were passed on to the handling process, {} were handled where they were \
                 established because it was behind",
                self.handed_over, self.kept_here
            ));
        }
        if let Mode::SClients(d) = &self.mode
            && d.waited() > 0
        {
            part.notes.push(format!(
                "{} arrivals found no free descriptor and waited for one: give more of them (--s-clients), at least the \
                 highest rate times T",
                d.waited()
            ));
        }
        if self.ports_ran_out {
            part.notes.push(exhausted::no_ports());
        }
        if self.fds_ran_out {
            part.notes.push(exhausted::no_descriptors());
        }
        part
    }
}

#[cfg(test)]
mod closing_tests;
#[cfg(test)]
mod ends_tests;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;
