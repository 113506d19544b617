//! S-Clients (Banga and Druschel, "Measuring the Capacity of a Web Server", USITS 1997): D descriptors are always
//! connecting, each for at most T. A connect that is up leaves the D descriptors, sends its request and is replaced at
//! once; one that is not up after T is closed and replaced at once. So the offered rate is at least D/T whatever the
//! server does, and linear in D.
//!
//! A connect that is refused keeps its descriptor until its T is over: the rate stays D/T and a dead server draws no storm.
//!
//! With an arrival process (the think times of the source, generalised) each arrival is one connect on one of the D
//! descriptors, given up after T and not repeated. Arrivals that find all D connecting wait, and are counted as due.

use proto::{Client, Session as _};
use run::ErrorKind;
use sys::Errno;

use super::due::Dues;
use super::pace::Pace;
use super::{Conn, Core, Mode, State, Think};
use crate::driver::{Ops, Start};

/// How the first connects are spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) timeout_ns: u64,
    /// Where in the first gap this shard begins, 0 to below 1: the shards of all processes are offset against each other.
    pub(super) phase: f64,
}

/// The D descriptors of one shard.
pub(super) struct Descriptors {
    pub(super) wanted: u32,
    spread: Spread,
    think: Think,
    /// Descriptors that ought to connect but have no number because established connections hold all.
    missing: u32,
    pub(super) pace: Option<Pace>,
}

impl Descriptors {
    pub(super) fn new(wanted: u32, spread: Spread, think: Think, dues: Option<Dues>) -> Self {
        let pace = dues.map(Pace::new);
        Self { wanted, spread, think, missing: 0, pace }
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.spread.timeout_ns
    }

    /// The clock of the connects, if they follow an arrival process.
    pub(super) fn dues(&self) -> Option<&Dues> {
        self.pace.as_ref().map(Pace::dues)
    }

    /// Arrivals that found no free descriptor.
    pub(super) fn waited(&self) -> u64 {
        self.pace.as_ref().map_or(0, Pace::waited)
    }

    /// What D descriptors offer at least, connects per second: D/(T + Z) with think times of mean Z.
    pub(super) fn least_per_s(&self) -> f64 {
        f64::from(self.wanted) * 1e9 / (self.spread.timeout_ns as f64 + self.think.mean_ns).max(1.0)
    }

    /// When descriptor `i` connects for the first time: all of all shards evenly over T.
    fn first_ns(&self, i: u32) -> u64 {
        let (s, wanted) = (&self.spread, u64::from(self.wanted.max(1)));
        let whole = u128::from(i) * u128::from(s.timeout_ns) / u128::from(wanted);
        whole as u64 + (s.phase * s.timeout_ns as f64 / wanted as f64) as u64
    }
}

impl<C: Client> Core<C> {
    pub(super) fn descriptors(&mut self) -> Option<&mut Descriptors> {
        match &mut self.mode {
            Mode::SClients(d) => Some(d),
            _ => None,
        }
    }

    /// The first connects, spread over T.
    pub(super) fn sclients_start(&mut self) {
        if self.pace().is_some() {
            return;
        }
        let origin = self.task.origin_ns;
        let Some(wanted) = self.descriptors().map(|d| d.wanted) else { return };
        for i in 0..wanted {
            let (Some(conn), Some(first)) = (self.free.pop(), self.descriptors().map(|d| d.first_ns(i))) else {
                return;
            };
            self.conns[conn as usize].state = State::Waiting;
            self.arm(conn, origin + first);
        }
    }

    /// A connect was not up after T: closed and replaced.
    pub(super) fn sclients_timed_out<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.pace().is_some() {
            ops.close(conn);
            self.sclients_given_up(conn);
            return;
        }
        match self.sclients_pause() {
            0 => self.reconnect(ops, conn),
            pause => {
                ops.close(conn);
                self.wait(ops, conn, pause);
            }
        }
    }

    /// A connect failed before T: its descriptor stays taken until T is over.
    pub(super) fn sclients_failed<O: Ops>(&mut self, ops: &O, conn: u32) {
        if self.sclients_given_up(conn) {
            return;
        }
        self.conns[conn as usize].state = State::Free;
        let Some(timeout) = self.descriptors().map(|d| d.timeout_ns()) else { return };
        if self.draining {
            return;
        }
        // A connect that never left (no port, no descriptor) counts its T from now.
        let c = &self.conns[conn as usize];
        let began = if ops.now() < c.began_ns.saturating_add(timeout) { c.began_ns } else { ops.now() };
        self.wait(ops, conn, (began + timeout).saturating_sub(ops.now()));
    }

    /// A connect is up: it leaves the D descriptors, another takes its place, and it sends its request.
    pub(super) fn sclients_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.draining {
            return;
        }
        let now = ops.now();
        let intended_ns = if self.sclients_arrived() {
            self.starts[conn as usize * self.depth].intended_ns
        } else {
            self.sclients_replace(ops);
            self.record.counts.due += 1;
            now
        };
        self.begin(now, conn, intended_ns);
        self.flush(ops, conn);
        self.sclients_hand_over(ops, conn);
    }

    /// Two-process form: a connection whose request has left goes to the handling process, which counts its answer. When
    /// that process is behind, the connection is handled here, so none is lost.
    pub(super) fn sclients_hand_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let c = self.conns[conn as usize];
        if c.state != State::Busy || c.pending || c.unsent > 0 || c.heard {
            return;
        }
        let start = self.starts[conn as usize * self.depth + c.oldest as usize];
        match ops.hand_over(conn, start) {
            Ok(()) => self.handed_over += 1,
            Err(Errno::NOSYS) => return,
            Err(_) => {
                self.kept_here += 1;
                return;
            }
        }
        self.forget_requests(ops.now(), conn);
        self.open -= 1;
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Free, u64::MAX);
        self.sclients_freed(ops, conn);
    }

    /// The other half: a connection came whose request was sent by the establishing process.
    pub(super) fn adopted<O: Ops>(&mut self, ops: &mut O, conn: u32, start: Start) {
        let session = &mut self.sessions[conn as usize];
        session.reset();
        self.conns[conn as usize] = Conn { failures: self.conns[conn as usize].failures, ..Conn::default() };
        self.open += 1;
        self.record.advance(ops.now(), self.in_flight);
        self.begin(start.sent_ns, conn, start.intended_ns);
        // The session believes to send what was sent already.
        let session = &mut self.sessions[conn as usize];
        let mut sent = [0; 1024];
        while session.wants_transmit() && session.transmit(&mut sent) > 0 {}
        self.conns[conn as usize].unsent = 0;
    }

    fn sclients_replace<O: Ops>(&mut self, ops: &mut O) {
        let pause = self.sclients_pause();
        match self.free.pop() {
            Some(next) if pause == 0 => self.connect(ops, next),
            Some(next) => self.wait(ops, next, pause),
            None => {
                self.fds_ran_out = true;
                self.record.counts.attempted += 1;
                self.record.counts.fail(ErrorKind::ClientFds, 1);
                if let Some(d) = self.descriptors() {
                    d.missing += 1;
                }
            }
        }
    }

    /// An established connection ended: its number is free.
    pub(super) fn sclients_freed<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.descriptors() {
            Some(d) if d.missing > 0 => {
                d.missing -= 1;
                self.connect(ops, conn);
            }
            _ => self.free.push(conn),
        }
    }

    fn sclients_pause(&mut self) -> u64 {
        match &self.mode {
            Mode::SClients(d) => d.think.draw(&mut self.rng),
            _ => 0,
        }
    }
}
