//! Driver of the simulator. The simulator has a virtual clock and no network. A queueing model takes the place of the
//! server. A simulation takes only the time for its events, and the same seed yields the same run. Results can be
//! compared with formulas (M/M/1, M/D/1, D/T).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;
use sys::Errno;

use super::served::{LAST_ANSWER, Served};
use super::server::SimServer;
use crate::driver::{Batch, Completion, Driver, Op, Ops, Sent};

/// Maximum number of bytes that a connection sends at once.
const MAX_SEND_BYTES: usize = 4096;

/// Answer to a request that the rate limit refuses.
const REFUSED_ANSWER: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";
/// Answer to a request that finds all workers busy.
const BUSY_ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// The driver of the simulator.
#[derive(Debug)]
pub(crate) struct SimDriver {
    ops: SimOps,
    answer: Box<[u8]>,
}

/// Operations of the simulating driver, with the state of the simulated server.
#[derive(Debug)]
pub(crate) struct SimOps {
    pub(super) now_ns: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    pub(super) generations: Vec<u32>,
    connecting: Vec<bool>,
    part: Vec<usize>,
    pub(super) request_bytes: usize,
    pub(super) server: SimServer,
    pub(super) rng: Rng,
    /// Number of workers of the simulated server that are idle.
    pub(super) idle: u32,
    /// Requests that wait for a worker, if `accept_at_once` is true; otherwise, connections that wait to be accepted.
    pub(super) queue: VecDeque<Conn>,
    /// For each connection, true if a worker has accepted it and waits for its next request or its close.
    pub(super) held: Vec<bool>,
    pub(super) served: Vec<Served>,
    pub(super) asked: Vec<u32>,
    /// Time when the tokens of the rate limit were last counted, and the number of tokens at this time.
    pub(super) tokens: (u64, f64),
    /// Times at which SYNs arrived at the server.
    pub(crate) syns_ns: Vec<u64>,
    /// Number of SYNs for which the accept queue was full.
    pub(crate) dropped: u64,
    /// Number of stalls that have already ended; they come first in the list of stalls.
    pub(super) past_stalls: usize,
    /// Memory for the bytes of requests. The simulated server only counts the bytes.
    sent_bytes: Box<[u8]>,
}

pub(super) type Conn = (u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Syn(Conn),
    SynAgain(Conn),
    Request(Conn),
    ServiceEnd(Conn),
    Connected(Conn),
    Answered(Conn),
    LastAnswered(Conn),
    /// The server answers a request for the second time.
    AnsweredAgain(Conn),
    Restart,
    /// The idle time of a connection is over. The second value is the number of requests that had arrived on the
    /// connection when the idle time began.
    IdleEnd(Conn, u32),
    Refused(Conn),
    Closed(Conn),
    /// The server closes a connection some time after its last answer.
    LateClose(Conn),
    Reset(Conn),
}

impl SimDriver {
    /// Creates a driver with the simulated server `server`. The server answers every `request_bytes` sent bytes with
    /// `answer`.
    pub(crate) fn new(capacity: u32, server: &SimServer, request_bytes: usize, answer: &[u8]) -> Self {
        let n = capacity as usize;
        let ops = SimOps {
            now_ns: 0,
            order: 0,
            events: BinaryHeap::new(),
            generations: vec![0; n],
            connecting: vec![false; n],
            part: vec![0; n],
            request_bytes: request_bytes.max(1),
            // The simulated server's random numbers have another seed than the generator's. If the seeds were equal,
            // service times would be correlated with arrivals.
            rng: Rng::with_seed(server.seed.wrapping_mul(0xa076_1d64_78bd_642f) ^ 0x5e7e),
            idle: server.workers.max(1),
            queue: VecDeque::new(),
            held: vec![false; n],
            served: vec![Served::default(); n],
            asked: vec![0; n],
            tokens: (0, server.limit.map_or(0.0, |limit| f64::from(limit.burst))),
            syns_ns: Vec::new(),
            dropped: 0,
            past_stalls: 0,
            sent_bytes: vec![0; MAX_SEND_BYTES].into(),
            server: server.clone(),
        };
        let mut driver = Self { ops, answer: answer.into() };
        server.restarts_ns.iter().for_each(|at_ns| driver.ops.schedule(*at_ns, Event::Restart));
        driver
    }
}

impl Driver for SimDriver {
    type Ops = SimOps;
    const WAKES_LATE: bool = false;

    fn ops(&mut self) -> &mut SimOps {
        &mut self.ops
    }

    fn wait(
        &mut self,
        until_ns: u64,
        _batch: Batch,
        mut f: impl FnMut(&mut SimOps, Completion<'_>),
    ) -> Result<(), Errno> {
        let Self { ops, answer } = self;
        loop {
            match ops.events.peek() {
                Some(&Reverse((at, ..))) if at <= until_ns => ops.now_ns = ops.now_ns.max(at),
                _ => {
                    ops.now_ns = ops.now_ns.max(until_ns);
                    return Ok(());
                }
            }
            let Some(Reverse((_, _, event))) = ops.events.pop() else { return Ok(()) };
            let refusal = if ops.server.refuses_if_full { BUSY_ANSWER } else { REFUSED_ANSWER };
            let Some((c, completion)) = completion(event, answer, refusal) else {
                ops.serve(event);
                continue;
            };
            if ops.lives(c) {
                ops.connecting[c.0 as usize] &= !matches!(completion, Completion::Connected { .. });
                f(ops, completion);
                return Ok(());
            }
        }
    }
}

/// Returns the completion that an event causes at the client, with the connection of the event. Returns `None` for an
/// event at the server.
fn completion<'a>(event: Event, answer: &'a [u8], refusal: &'a [u8]) -> Option<(Conn, Completion<'a>)> {
    let received = |c: Conn, bytes: &'a [u8]| (c, Completion::Received { conn: c.0, bytes });
    Some(match event {
        Event::Connected(c) => (c, Completion::Connected { conn: c.0 }),
        Event::Answered(c) => received(c, answer),
        Event::LastAnswered(c) => received(c, LAST_ANSWER),
        Event::Refused(c) => received(c, refusal),
        Event::Closed(c) => (c, Completion::PeerClosed { conn: c.0 }),
        Event::Reset(c) => (c, Completion::Failed { conn: c.0, op: Op::Receive, errno: Errno::CONNRESET }),
        _ => return None,
    })
}

impl SimOps {
    pub(super) fn lives(&self, (conn, generation): Conn) -> bool {
        self.generations[conn as usize] == generation
    }

    pub(super) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at_ns, self.order, event)));
    }

    pub(super) fn half_rtt(&self) -> u64 {
        self.server.rtt_ns / 2
    }
}

impl Ops for SimOps {
    fn now(&self) -> u64 {
        self.now_ns
    }

    fn refresh(&mut self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        (self.part[conn as usize], self.served[conn as usize]) = (0, Served::default());
        self.connecting[conn as usize] = true;
        let c = (conn, self.generations[conn as usize]);
        self.schedule(self.now_ns + self.half_rtt(), Event::Syn(c));
        Ok(())
    }

    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        self.part[conn as usize] += fill(&mut self.sent_bytes);
        while self.part[conn as usize] >= self.request_bytes {
            self.part[conn as usize] -= self.request_bytes;
            self.served[conn as usize].unread_bytes += self.request_bytes;
            let c = (conn, self.generations[conn as usize]);
            self.schedule(self.now_ns + self.half_rtt(), Event::Request(c));
        }
        Ok(Sent::All)
    }

    fn unreceived(&mut self, conn: u32) -> usize {
        self.served[conn as usize].unread_bytes
    }

    /// Closes a connection. A worker that waits for a request on this connection notices the close, and takes the next
    /// connection.
    fn close(&mut self, conn: u32) {
        if std::mem::take(&mut self.held[conn as usize]) {
            self.idle += 1;
        }
        self.served[conn as usize].is_up = false;
        let generation = &mut self.generations[conn as usize];
        *generation = generation.wrapping_add(1);
        self.start_services();
    }
}
