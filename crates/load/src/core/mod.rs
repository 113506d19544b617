//! The connection engine manages connections, requests and their times. The operations of a driver are an argument of
//! each call, so the same engine works with every driver and with the simulator. The connection engine is compiled once
//! per driver. The connection engine calls the protocol's sessions through dynamic dispatch, which takes some
//! nanoseconds per request. Compiling the engine once for each protocol, too, would make every build a minute longer.
//!
//! Three kinds of load use the engine: [`closed`], [`open`] and [`sclients`] decide when a request or a connect starts.
//! All later steps are the same for all three kinds of load: see [`requests`] and [`connections`].

mod alias;
mod batching;
mod block_turns;
mod blocks;
mod closed;
mod closing;
mod completions;
mod conn;
mod connection_ends;
mod connections;
mod descriptors;
mod drain;
mod due_clock;
mod early;
mod fin_wait;
mod finish;
mod in_flight;
mod mix;
mod mode;
mod open;
mod pace;
mod phases;
mod pool;
mod pool_demand;
mod requests;
mod requeue;
mod sclients;
mod session_timers;
mod task;
mod wakeups;

use std::collections::VecDeque;

use fastrand::Rng;
use proto::{AnyClient, Sessions};
use run::RequestOrder;

use crate::addresses::AddressTurns;
use crate::driver::{Batch, Completion, Ops};
use crate::record::{Record, RecordOptions, StreamRecord};
use crate::timers::Timers;
use crate::traces::TraceChoice;

pub(crate) use block_turns::BlockTurns;
use conn::{Conn, State};
pub(crate) use fin_wait::spares;
pub(crate) use in_flight::InFlightRequest;
use mode::{Mode, has_due_times};
pub(crate) use task::{Paced, Shape, Task, Think};

/// Maximum number of timers that are handled in one pass of the event loop. A late generator may have thousands of
/// timers to handle, but must still read commands and answers.
const MAX_TIMERS_PER_PASS: usize = 256;

/// The connection engine of one shard (generator thread).
pub(crate) struct Core {
    task: Task,
    conns: Vec<Conn>,
    sessions: Box<dyn Sessions>,
    requests: in_flight::InFlight,
    requeued: VecDeque<in_flight::Requeued>,
    /// True if requests that the server did not process are sent again on another connection.
    takes_over: bool,
    /// For each request of the set, true if it is idempotent.
    idempotent: Box<[bool]>,
    /// For each request of the set, true if it may be sent as early data. Empty if the load sends no early data.
    early_items: Box<[bool]>,
    /// True if pipelined requests are sent again when the server closes their connection between two answers.
    resends_pipelined: bool,
    /// True if several requests on one connection can form a transaction.
    has_transactions: bool,
    mix: mix::Mix,
    turns: AddressTurns,
    traces: TraceChoice,
    depth: usize,
    free: Vec<u32>,
    closing: fin_wait::Closing,
    timers: Timers,
    /// Timers of the sessions themselves; `None` if the protocol has no such timers.
    session_timers: Option<Timers>,
    rng: Rng,
    pub(crate) record: Record,
    /// Requests in flight on all connections.
    pub(crate) in_flight: u64,
    /// Number of established connections.
    pub(crate) open: u64,
    batch: Batch,
    tuned: (u64, u64),
    draining: bool,
    /// True while connects are limited to a rate and not all connections are established.
    opening: bool,
    drain_end_ns: u64,
    /// Time during the drain for which the connection engine waits for surplus answers, nanoseconds.
    listen_ns: u64,
    /// Time of the last answer.
    answered_ns: u64,
    /// True if requests may wait for a free stream on their connection.
    waits_for_streams: bool,
    ports_ran_out: bool,
    fds_ran_out: bool,
    handed_over: u64,
    kept_here: u64,
    mode: Mode,
}

impl Core {
    /// Creates the connection engine, and allocates all memory that its loop needs.
    pub(crate) fn new(task: Task, client: &dyn AnyClient) -> Self {
        let (capacity, depth) = (task.capacity() as usize, task.depth());
        let mode = Mode::new(&task, capacity);
        let mut sessions = client.sessions(capacity);
        let mix = mix::Mix::new(client.mix()).recorded(&task.items);
        let handshake = capacity > 0 && !sessions.session(0).ready();
        let is_timed = capacity > 0 && sessions.session(0).is_timed();
        let by_id = capacity > 0 && !sessions.session(0).matches_answers_by_order();
        let waits_for_streams = depth > 1 && by_id;
        let service = has_due_times(&task.intensity) || task.new_connections || waits_for_streams;
        let keeps = RecordOptions { service, handshake, classes: mix.classes(), addresses: task.turns.count() };
        let takes_over = takes_over(&task, &mode, client.mix().order);
        let items = client.mix().weights.len().min(usize::from(u16::MAX)) as u16;
        let idempotent = (0..items).map(|item| client.is_idempotent(item)).collect();
        let sends_early = is_timed && task.early_data && (takes_over || task.new_connections);
        let early_items = (0..items).filter(|_| sends_early).map(|item| client.may_be_early(item)).collect();
        // In a closed loop, all connection indexes are used from the start, except the additional indexes for
        // connections that wait for a FIN.
        let used = if matches!(mode, Mode::Closed { .. }) { task.connections() } else { 0 };
        let max_closing = if task.spares > 0 { task.spares as usize } else { mode.max_closing(capacity) };
        let record = record(&task, keeps);
        Self {
            conns: vec![Conn::default(); capacity],
            sessions,
            requests: in_flight::InFlight::new(capacity, depth),
            requeued: VecDeque::new(),
            takes_over,
            idempotent,
            early_items,
            resends_pipelined: depth > 1 && client.resends_pipelined(),
            has_transactions: client.has_transactions(),
            mix,
            turns: task.turns.clone().weighted(&client.address_weights()),
            traces: TraceChoice::new(task.trace_share, task.seed),
            depth,
            free: (used..capacity as u32).rev().collect(),
            closing: fin_wait::Closing::new(max_closing),
            timers: Timers::new(capacity),
            session_timers: is_timed.then(|| Timers::new(capacity)),
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
            waits_for_streams,
            ports_ran_out: false,
            fds_ran_out: false,
            handed_over: 0,
            kept_here: 0,
            mode,
            task,
        }
    }

    /// Sets the start time of the task to `origin_ns`. This function must be called before any connect or request is
    /// started.
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

    /// Starts the connects and requests of the load. The caller must wait for the start time of the task before this
    /// call.
    pub(crate) fn start<O: Ops>(&mut self, ops: &mut O) {
        if self.task.measured_from_begin {
            // The conductor's command may come after the first recorded request, so the measured window begins here.
            self.edge(run::Phase::Measure, 0, ops.now());
        }
        match &self.mode {
            Mode::Closed { .. } => self.closed_start(ops),
            Mode::Open(_) | Mode::Handling => {}
            Mode::SClients(_) => self.sclients_start(),
        }
    }

    /// Begins a pass of the event loop.
    pub(crate) fn pass(&mut self, now_ns: u64) {
        if let Some(held) = &mut self.record.held_up {
            held.pass(now_ns, &self.record.counts);
        }
    }

    /// Records that the event loop sleeps until `until_ns`, or until the next event.
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
        if self.session_timers.is_some() {
            self.fire_session_timers(ops);
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
            Completion::Datagrams { conn, bytes, datagram_bytes } => self.datagrams(ops, conn, bytes, datagram_bytes),
            Completion::Connected { conn } => self.connected(ops, conn),
            Completion::Adopted { conn, start } => self.adopted(ops, conn, start),
            Completion::Writable { conn } => self.writable(ops, conn),
            Completion::PeerClosed { conn } => self.peer_closed(ops, conn),
            Completion::Failed { conn, op, errno } => self.failed(ops, conn, op, errno),
        }
    }

    /// Returns true if a client waits for the connect in progress, so that the response time of its next request begins
    /// with this connect. In a closed loop, this is the case if each request has its own connection, or if the client's
    /// previous connection ended.
    pub(super) fn is_connect_awaited(&self, conn: u32) -> bool {
        let is_awaited = self.task.new_connections || self.conns[conn as usize].is_awaited;
        is_awaited && matches!(self.mode, Mode::Closed { .. })
    }
}

/// Returns true if requests that the server did not process are sent again on another connection. In a sequence, a
/// request may need values captured on the same connection, so it is not sent again on another connection.
fn takes_over(task: &Task, mode: &Mode, order: RequestOrder) -> bool {
    let one_connection = task.new_connections || task.blocks.is_some();
    let is_sequence = order == RequestOrder::Sequence;
    !one_connection && !is_sequence && matches!(mode, Mode::Closed { .. } | Mode::Open(_))
}

/// Creates the empty record of a task.
fn record(task: &Task, keeps: RecordOptions) -> Record {
    let mut record = Record::new(task.origin_ns, keeps);
    record.in_tenths(task.tenths.clone());
    record.in_slots(task.slot_times.clone());
    if let Some(stall_s) = task.stall_s {
        record.as_streams(StreamRecord::new(task.capacity() as usize, task.depth(), stall_s));
    }
    record
}

#[cfg(test)]
mod closing_tests;
#[cfg(test)]
mod early_tests;
#[cfg(test)]
mod ends_tests;
#[cfg(test)]
mod failed_connect_tests;
#[cfg(test)]
mod first_byte_tests;
#[cfg(test)]
mod sclients_tests;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod stream_limit_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod test_protocol;
#[cfg(test)]
mod test_wire;
#[cfg(test)]
mod tests;
