//! S-Clients (Banga and Druschel, "Measuring the Capacity of a Web Server", USITS 1997). At all times, D descriptors
//! (sockets) try to connect, each for at most the timeout (T). When a connect succeeds, a request is sent on the
//! connection, and another connect replaces the successful one at once. A connect that is not established after T is
//! closed and replaced at once. Whatever the server does, the offered rate is therefore at least D/T, and proportional
//! to D.
//!
//! If a connect is refused, its descriptor is not used again until T has passed. The offered rate therefore stays at
//! D/T, and a dead server causes no burst of connects.
//!
//! The load plan may have an arrival process, which generalises the think times of Banga and Druschel. With an arrival
//! process, each arrival starts one connect on one of the D descriptors. With an arrival process, the client gives up a
//! connect after T, and does not repeat it. If all D descriptors are connecting, arrivals wait, and count as due.

use run::ErrorKind;
use sys::Errno;

use super::descriptors::Descriptors;
use super::{Conn, Core, Mode, State};
use crate::driver::{Ops, Start};

impl Core {
    pub(super) fn descriptors(&mut self) -> Option<&mut Descriptors> {
        match &mut self.mode {
            Mode::SClients(d) => Some(d),
            _ => None,
        }
    }

    /// Schedules the first connects, which are spread over the connect timeout T.
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

    /// Handles a connect that was not established within T: closes it, and replaces it unless the connects follow an
    /// arrival process.
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

    /// Handles a connect that failed before T had passed. Unless the connects follow an arrival process, the descriptor
    /// of the failed connect is not used again until T has passed.
    pub(super) fn sclients_failed<O: Ops>(&mut self, ops: &O, conn: u32) {
        if self.sclients_given_up(conn) {
            return;
        }
        self.conns[conn as usize].state = State::Free;
        let Some(timeout) = self.descriptors().map(|d| d.timeout_ns()) else { return };
        if self.draining {
            return;
        }
        // If a connect could not even start (no port or no descriptor), its timeout T begins now.
        let c = &self.conns[conn as usize];
        let began = if ops.now() < c.began_ns.saturating_add(timeout) { c.began_ns } else { ops.now() };
        self.wait(ops, conn, (began + timeout).saturating_sub(ops.now()));
    }

    /// Handles a connect that has succeeded. The new connection no longer counts as one of the D descriptors that are
    /// connecting. Another connect starts in place of the successful one, unless the connects follow an arrival
    /// process.
    pub(super) fn sclients_up<O: Ops>(&mut self, ops: &mut O) {
        if !self.draining && !self.sclients_arrived() {
            self.sclients_replace(ops);
            self.record.counts.due += 1;
        }
    }

    /// Sends the request of a connection that is ready.
    pub(super) fn sclients_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.draining {
            return;
        }
        let now = ops.now();
        let intended_ns = if self.pace().is_some() { self.conns[conn as usize].intended_ns } else { now };
        self.begin(now, conn, intended_ns);
        self.flush(ops, conn);
        self.sclients_hand_over(ops, conn);
    }

    /// In two-process S-Clients (sockets that connect again and again), passes a connection on to the process that
    /// handles connections, after the request was sent. The process that handles connections counts the answer. If the
    /// process that handles connections is behind, this process keeps the connection, so that no connection is lost.
    pub(super) fn sclients_hand_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let c = self.conns[conn as usize];
        if c.state != State::Busy || c.pending || c.unsent > 0 || c.heard {
            return;
        }
        let Some(request) = self.requests.oldest(conn) else { return };
        match ops.hand_over(conn, request.start) {
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

    /// Takes over a connection on which the process that establishes connections has sent a request.
    pub(super) fn adopted<O: Ops>(&mut self, ops: &mut O, conn: u32, start: Start) {
        let session = self.sessions.session(conn as usize);
        session.reset();
        self.requests.clear(conn);
        self.conns[conn as usize] = Conn { failures: self.conns[conn as usize].failures, ..Conn::default() };
        self.open += 1;
        self.record.advance(ops.now(), self.in_flight);
        self.begin(start.sent_ns, conn, start.intended_ns);
        // Puts the session into the state in which it waits for the answer. The process that establishes connections
        // has already sent the request, so the bytes that the session writes are discarded.
        let session = self.sessions.session(conn as usize);
        let mut sent = [0; 1024];
        while session.wants_transmit() && session.transmit(&mut sent) > 0 {}
        self.conns[conn as usize].unsent = 0;
    }

    fn sclients_replace<O: Ops>(&mut self, ops: &mut O) {
        let pause = self.sclients_pause();
        match self.take_number(ops) {
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

    /// Handles an established connection that has ended. The connection's number becomes free, or a descriptor that
    /// could not connect so far uses the number.
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
