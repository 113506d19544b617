//! The worker's heart: connections, requests and their times. The driver's operations are passed into every call, so one heart
//! beats under every driver and the simulator. It is compiled for each driver and not for each protocol: sessions are called
//! by table, which costs some nanoseconds of a request, while sixteen hearts a driver were a minute of every build.
//!
//! Three intensities share it: [`closed`], [`open`] and [`sclients`] decide *when* a request or a connect starts; what
//! happens to it afterwards is the same for all and lives in [`requests`] and [`connections`].

mod again;
mod alias;
mod blocks;
mod closed;
mod connections;
mod descriptors;
mod due;
mod in_flight;
mod mix;
mod need;
mod open;
mod pace;
mod pool;
mod requests;
mod sclients;
mod task;
mod turns;

use std::collections::VecDeque;

use fastrand::Rng;
use proto::{AnyClient, Sessions};
use run::Phase;

use crate::driver::{Batch, Completion, Ops};
use crate::record::{Keeps, Offered, Record};
use crate::timers::Timers;

pub(crate) use in_flight::Begun;
pub(crate) use task::{Paced, Shape, Task, Think};
pub(crate) use turns::Turns;

/// With fewer requests in flight every answer is looked at when it comes.
const FEWEST_TO_BATCH: u64 = 8;
/// How late a timer wakes a thread (measured in a virtual machine: 33 µs in the median, above 100 µs in one of a hundred).
const EARLY_NS: u64 = 90_000;
/// Share of the time that may be spent awake for the sake of being on time.
const AWAKE: f64 = 0.45;
/// At this rate the loop hardly sleeps anyway, and processor time is better spent on requests.
const BUSY_PER_S: f64 = 20_000.0;
/// Timers that fire in one pass: a generator that is behind has thousands due, and must still see its orders and answers.
const TURN: usize = 256;
/// What collecting answers adds to a response time at most.
const LONGEST_BATCH_US: u64 = 200;

/// Where a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    #[default]
    Free,
    /// Closed, and waits for its timer to connect.
    Waiting,
    /// The SYN is out.
    Connecting,
    /// Established; the protocol's handshake is under way.
    Handshaking,
    /// Established, no request in flight.
    Idle,
    /// Established, waits for its timer to send.
    Thinking,
    /// At least one request in flight.
    Busy,
    /// All is done, the server said that it closes: its FIN is awaited.
    Closing,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conn {
    /// The timer acts only when this is reached; the heap may hold an earlier time.
    deadline_ns: u64,
    /// When the connect began; once it is up, when that was, or in an open loop when its last request was sent.
    began_ns: u64,
    /// When the request of this connect is due (S-Clients that follow an arrival process).
    intended_ns: u64,
    in_flight: u32,
    /// Requests begun since the connect.
    made: u64,
    /// Requests begun and not yet handed over completely.
    unsent: u32,
    failures: u8,
    /// Messages that the connection may still begin (blocks).
    left: u32,
    state: State,
    /// A send waits in the driver.
    pending: bool,
    /// Something was received on this connection.
    heard: bool,
}

/// The heart of one shard.
pub(crate) struct Core {
    task: Task,
    conns: Vec<Conn>,
    sessions: Box<dyn Sessions>,
    requests: in_flight::InFlight,
    again: VecDeque<in_flight::Again>,
    /// Whether what a server has not looked at is made again.
    takes_over: bool,
    mix: mix::Mix,
    depth: usize,
    free: Vec<u32>,
    timers: Timers,
    rng: Rng,
    pub(crate) record: Record,
    /// Requests in flight on all connections.
    pub(crate) in_flight: u64,
    /// Established connections.
    pub(crate) open: u64,
    batch: Batch,
    tuned: (u64, u64),
    draining: bool,
    /// Connections that are made one after the other are not all up yet.
    opening: bool,
    drain_end_ns: u64,
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
    fn of(task: &Task, capacity: usize) -> Self {
        match &task.intensity {
            Shape::Handling { .. } => Self::Handling,
            Shape::Closed { think, .. } => Self::Closed { think: *think },
            Shape::Open { arrivals, rate, .. } => {
                let need = need::Need::new(*rate * arrivals.peak(), task.origin_ns);
                Self::Open(pool::Pool::new(due::Dues::new(arrivals, *rate, task.origin_ns), need, capacity))
            }
            Shape::SClients { descriptors, timeout_ns, think, phase, pace, .. } => {
                let spread = descriptors::Spread { timeout_ns: *timeout_ns, phase: *phase };
                let dues = pace.as_ref().map(|p| due::Dues::new(&p.arrivals, p.rate, task.origin_ns));
                Self::SClients(descriptors::Descriptors::new(*descriptors, spread, *think, dues))
            }
        }
    }
}

/// Whether requests have a moment at which they should leave, so that service time is another than response time.
fn by_the_clock(intensity: &Shape) -> bool {
    match intensity {
        Shape::Open { .. } | Shape::SClients { pace: Some(_), .. } => true,
        Shape::Handling { paced, .. } => *paced,
        _ => false,
    }
}

impl Core {
    /// All memory that the loop needs is taken here.
    pub(crate) fn new(task: Task, client: &dyn AnyClient) -> Self {
        let (capacity, depth) = (task.capacity() as usize, task.depth());
        let mode = Mode::of(&task, capacity);
        let mut sessions = client.sessions(capacity);
        let mix = mix::Mix::new(client.mix()).recorded(&task.items);
        let handshake = capacity > 0 && !sessions.at(0).ready();
        let keeps = Keeps { service: by_the_clock(&task.intensity), handshake, classes: mix.classes() };
        let one_connection = task.new_connections || task.blocks.is_some();
        let takes_over = !one_connection && matches!(mode, Mode::Closed { .. } | Mode::Open(_));
        // In a closed loop every number is in use from the begin on.
        let free = if matches!(mode, Mode::Closed { .. }) { 0 } else { capacity as u32 };
        let mut record = Record::new(task.origin_ns, keeps);
        record.in_tenths(task.tenths.clone());
        record.in_slots(task.slot_times.clone());
        Self {
            conns: vec![Conn::default(); capacity],
            sessions,
            requests: in_flight::InFlight::new(capacity, depth),
            again: VecDeque::new(),
            takes_over,
            mix,
            depth,
            free: (0..free).rev().collect(),
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
            ports_ran_out: false,
            fds_ran_out: false,
            handed_over: 0,
            kept_here: 0,
            mode,
            task,
        }
    }

    /// The load begins at this moment, not at that of the task; nothing was started yet.
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

    /// Starts the load; the clock must have reached the task's origin.
    pub(crate) fn start<O: Ops>(&mut self, ops: &mut O) {
        match &self.mode {
            Mode::Closed { .. } => self.closed_start(ops),
            Mode::Open(_) | Mode::Handling => {}
            Mode::SClients(_) => self.sclients_start(),
        }
    }

    /// When [`Core::advance`] has something to do at the latest.
    pub(crate) fn next_ns(&self) -> u64 {
        let due = self.dues().filter(|_| !self.draining).map_or(u64::MAX, due::Dues::next_ns);
        self.timers.next().min(due)
    }

    /// How much earlier than [`Core::next_ns`] the loop should be awake, since a timer wakes it late by about as much: only
    /// for requests that are due by the clock.
    pub(crate) fn early_ns(&self) -> u64 {
        match self.dues().map(due::Dues::rate) {
            Some(rate) if !self.draining && rate < BUSY_PER_S => EARLY_NS.min((1e9 * AWAKE / rate.max(1e-9)) as u64),
            _ => 0,
        }
    }

    /// The clock that requests or connects are due by, if any.
    fn dues(&self) -> Option<&due::Dues> {
        match &self.mode {
            Mode::Open(pool) => Some(pool.dues()),
            Mode::SClients(d) => d.dues(),
            _ => None,
        }
    }

    /// How long answers may be collected: only in a closed loop without pauses, where a client that hears of its answer a
    /// little later asks a little later and the server has the other clients' requests meanwhile.
    #[inline]
    pub(crate) fn batch(&self) -> Batch {
        self.batch
    }

    /// The rate of an open loop is so many times the plan's from `now` on; nothing else has one that a hand may change.
    pub(crate) fn turn(&mut self, now: u64, factor: f64) {
        if let Mode::Open(pool) = &mut self.mode
            && pool.dues.turn(now, factor)
        {
            pool.need.plan(pool.dues.rate());
        }
    }

    /// Sets the length of [`Core::batch`] anew from what was completed since the last call: at most a quarter of the
    /// response time (by Little's law), and never more than [`LONGEST_BATCH_US`].
    pub(crate) fn retune(&mut self, now: u64) {
        let completed = self.record.counts.completed;
        let (since, answers) = (now.saturating_sub(self.tuned.0), completed - self.tuned.1);
        self.tuned = (now, completed);
        let response_us = since * self.in_flight / (answers.max(1) * 1000);
        self.batch = match &self.mode {
            Mode::Closed { think } if think.is_none() && self.in_flight >= FEWEST_TO_BATCH && answers > 0 => {
                Batch { want: (self.in_flight / 2) as u32, within_us: (response_us / 4).min(LONGEST_BATCH_US) as u32 }
            }
            _ => Batch::default(),
        };
    }

    /// A pass of the loop begins.
    pub(crate) fn pass(&mut self, now_ns: u64) {
        if let Some(held) = &mut self.record.held_up {
            held.pass(now_ns, &self.record.counts);
        }
    }

    /// It sleeps until then, or until there is something.
    pub(crate) fn sleeps(&mut self, until_ns: u64) {
        if let Some(held) = &mut self.record.held_up {
            held.sleeps(until_ns);
        }
    }

    pub(crate) fn advance<O: Ops>(&mut self, ops: &mut O) {
        let now = ops.now();
        self.record.advance(now, self.in_flight);
        for _ in 0..TURN {
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

    /// What the driver tells.
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

    /// The edge of a phase that was ordered for `at_ns`; connections stay as they are, since events of theirs may be under way. Nothing
    /// where it was taken before.
    ///
    /// What was ordered is its begin, however much later a thread that had no CPU hears of it: nothing happened to it meanwhile. So
    /// windows of agents that compete for a CPU are the same one.
    pub(crate) fn edge(&mut self, phase: Phase, at_ns: u64, now: u64) {
        let edge_ns = self.record.edge_ns(at_ns, now);
        self.record.advance(edge_ns, self.in_flight);
        if phase == Phase::Drain && self.record.measuring {
            self.record_under_way(edge_ns);
        }
        self.record.enter(phase, edge_ns);
    }

    /// A phase begins that was ordered for `at_ns`.
    pub(crate) fn enter<O: Ops>(&mut self, ops: &mut O, phase: Phase, at_ns: u64) {
        let now = ops.now();
        self.edge(phase, at_ns, now);
        ops.tell_phase(phase, now);
        if phase == Phase::Measure {
            self.end_opening(now);
        }
        if phase == Phase::Drain && !self.draining {
            self.draining = true;
            self.drain_end_ns = now.saturating_add(self.task.drain_ns);
            self.stop_connecting(ops);
        }
    }

    /// Writes down how old the requests are that have no answer at the end of the window: those of a stall that the window
    /// ends in would be in no percentile otherwise.
    fn record_under_way(&mut self, now: u64) {
        let under_way = &mut self.record.under_way;
        for conn in 0..self.conns.len() as u32 {
            if self.conns[conn as usize].in_flight == 0 {
                continue;
            }
            self.requests.each(conn, |begun| under_way.record_ns(now.saturating_sub(begun.start.intended_ns)));
        }
        self.again.iter().for_each(|left| under_way.record_ns(now.saturating_sub(left.begun.start.intended_ns)));
        if let Mode::Open(pool) = &self.mode {
            pool.dues().each_waiting(|due| under_way.record_ns(now.saturating_sub(due)));
        }
    }

    /// Whether the drain is over: everything answered, or waited long enough.
    pub(crate) fn drained(&self, now_ns: u64) -> bool {
        self.draining && (self.in_flight == 0 && self.again.is_empty() || now_ns >= self.drain_end_ns)
    }

    /// The end of the drain as far as it is known.
    pub(crate) fn drain_end_ns(&self) -> u64 {
        self.drain_end_ns
    }

    /// Closes everything, counts what is still unanswered, and gives the part of the trial that was found here.
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
        self.record.counts.unanswered += self.again.len() as u64;
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
            part.notes.push(PORTS.to_owned());
        }
        if self.fds_ran_out {
            part.notes.push(FDS.to_owned());
        }
        part
    }
}

/// What to do when local ports run out.
const PORTS: &str = "local ports ran out (EADDRNOTAVAIL): give more source addresses (--source 127.0.0.2-127.0.0.9), widen \
                     net.ipv4.ip_local_port_range, or let the server close first so that TIME_WAIT stays there";
/// What to do when descriptors run out.
const FDS: &str =
    "descriptors ran out: raise the hard limit (ulimit -Hn, LimitNOFILE=) or spread the load over more agents";

#[cfg(test)]
mod seams;
#[cfg(test)]
mod tests;
