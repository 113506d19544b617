//! Requests in early data (0-RTT): they are sent in the first packets of a connection, before its handshake is
//! complete. If the server rejects early data, the session sends the requests again after the handshake, and their
//! response times include the delay.
//!
//! A connection with requests in early data stays in the state `Handshaking` until it is ready, and takes no other
//! requests. If the handshake fails, the requests are sent again on another connection (see [`super::requeue`]).
//! However, if each request has its own connection, or during the drain, requests in early data fail together with the
//! handshake.
//!
//! Each session can be resumed once, by a ticket of the server, and servers send tickets after the handshake. The
//! answer to a request in early data usually arrives before the ticket. If each request has its own connection, the
//! connection therefore stays open until its ticket has come, while its client continues on another connection. Without
//! this wait for tickets, only some connections could send early data.

use super::in_flight::Requeued;
use super::requeue::without_answer;
use super::{Core, Mode, State};
use crate::driver::Ops;

/// Maximum time that a connection stays open only to wait for a ticket, nanoseconds. A session ticket usually arrives
/// after one round trip.
const TICKET_WAIT_NS: u64 = 100_000_000;

impl Core {
    /// Starts requests on a connection whose handshake begins, if they may be sent as early data.
    pub(super) fn start_early<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.tick(ops, conn);
        if !self.sessions.session(conn as usize).takes_early() {
            return;
        }
        let now = ops.now();
        match &self.mode {
            Mode::Closed { .. } if self.task.connect_gap_ns <= 0.0 && self.task.blocks.is_none() => {
                self.closed_start_early(now, conn);
            }
            Mode::Open(_) => self.open_start_early(now, conn),
            _ => {}
        }
        self.conns[conn as usize].state = State::Handshaking;
    }

    fn closed_start_early(&mut self, now: u64, conn: u32) {
        let intended_ns = self.closed_intended_ns(now, conn);
        for _ in 0..self.depth {
            if self.draining && self.requeued.is_empty() || !self.may_next_be_early(conn) {
                return;
            }
            if !self.start_requeued(now, conn) {
                self.record.counts.due += 1;
                self.begin(now, conn, intended_ns);
            }
        }
    }

    /// Returns true if the next request on a connection may be sent as early data.
    pub(super) fn may_next_be_early(&mut self, conn: u32) -> bool {
        let item = match self.requeued.front() {
            Some(requeued) => requeued.begun.item,
            None => self.mix.peek(&mut self.rng, self.conns[conn as usize].made),
        };
        self.early_items.get(usize::from(item)).copied().unwrap_or_default()
    }

    /// Continues with a connection that sent requests as early data, and whose handshake is now complete. `answered` of
    /// these requests have already ended.
    pub(super) fn ready_after_early<O: Ops>(&mut self, ops: &mut O, conn: u32, answered: u32) {
        let started = self.conns[conn as usize].in_flight + answered;
        match &self.mode {
            Mode::Closed { .. } => {
                match (self.depth as u32).saturating_sub(started) {
                    0 => {}
                    room if self.draining => self.start_all_requeued(ops, conn, room),
                    room => self.ask(ops, conn, room),
                }
                if answered > 0 {
                    self.closed_answered(ops, conn, answered);
                }
            }
            Mode::Open(_) if answered > 0 => self.open_answered(ops, conn),
            Mode::Open(_) => self.open_serve_waiting(ops, conn),
            Mode::SClients(_) | Mode::Handling => {}
        }
        self.flush_unasked(ops, conn);
        self.take_over(ops);
    }

    /// Ends a connection whose only request has ended, at once or when its ticket has come.
    pub(super) fn end_only_request<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let awaits = !self.early_items.is_empty() && self.sessions.session(conn as usize).awaits_ticket();
        if !awaits || self.closing.max == 0 {
            return self.ended(ops, conn);
        }
        self.conns[conn as usize].failures = 0;
        self.keep_until_closed(ops, conn, TICKET_WAIT_NS);
        // `farewell` sends the acknowledgement of the answer here.
        self.farewell(ops, conn);
        self.continue_elsewhere(ops, None);
    }

    /// Removes the requests in flight from a connection whose handshake has failed. Queues the removed requests to be
    /// sent again, or records their failure.
    pub(super) fn handshake_lost_early(&mut self, now: u64, conn: u32) {
        let c = self.conns[conn as usize];
        let mut sent = c.in_flight.saturating_sub(c.unsent);
        while let Some(request) = self.requests.end(conn, proto::Which::Oldest) {
            if self.takes_over && !self.draining {
                let begun = without_answer(&request);
                self.requeued.push_back(Requeued { begun, sent: sent > 0 });
            } else {
                self.record.failed(now, conn, &request);
            }
            sent = sent.saturating_sub(1);
        }
    }

    /// Counts how sessions used early data since the last call.
    pub(super) fn count_early_data(&mut self, conn: u32) {
        if !self.early_items.is_empty() {
            let early = self.sessions.session(conn as usize).take_early_data();
            let counts = &mut self.record.counts;
            counts.handshakes_early += early.handshakes;
            counts.early_requests += early.requests;
            counts.early_resent += early.resent;
        }
    }
}
