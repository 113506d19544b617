//! The drain: no new request starts, and the load ends once all are answered.
//!
//! If only the order of answers tells which request each belongs to, the load then listens for a moment. A server that
//! sends two answers per request is ahead of the client's count at the end of the drain, so its further answers arrive
//! while the drain listens.

use super::{Conn, Core, Mode, State};
use crate::driver::Ops;

/// Time for which the drain listens for answers without a request, in mean response times. A server that delays a
/// second answer keeps every other answer waiting, so the delay is about two mean response times.
const LISTEN_RESPONSES: f64 = 3.0;
/// Shortest and longest time to listen, nanoseconds. A thread may lack a CPU for some milliseconds. The maximum limits
/// the time that each step of a search spends here with an overloaded server.
const LISTEN_NS: (u64, u64) = (2_000_000, 250_000_000);

impl Core {
    /// Starts the drain.
    pub(super) fn drain<O: Ops>(&mut self, ops: &mut O, now: u64) {
        self.start_recorded(ops);
        self.draining = true;
        self.drain_end_ns = now.saturating_add(self.task.drain_ns);
        self.listen_ns = self.listening_time_ns();
        self.stop_connecting(ops);
    }

    /// Returns the time to listen for answers without a request; 0 if each connection carries one request, or if
    /// answers name their request.
    fn listening_time_ns(&mut self) -> u64 {
        let several = !self.task.new_connections && matches!(self.mode, Mode::Closed { .. } | Mode::Open(_));
        if !several || self.conns.is_empty() || !self.sessions.session(0).matches_answers_by_order() {
            return 0;
        }
        let mean_ns = self.record.response.mean_us() * 1e3;
        ((LISTEN_RESPONSES * mean_ns) as u64).clamp(LISTEN_NS.0, LISTEN_NS.1)
    }

    /// Returns true if the drain is over: all requests are answered and no answer came since, or its maximum time has
    /// passed.
    pub(crate) fn drained(&self, now_ns: u64) -> bool {
        self.draining && (self.is_done() && now_ns >= self.listen_end_ns() || now_ns >= self.drain_end_ns)
    }

    /// Returns the end of the drain, if it is known.
    pub(crate) fn drain_end_ns(&self) -> u64 {
        if self.draining && self.is_done() { self.listen_end_ns().min(self.drain_end_ns) } else { self.drain_end_ns }
    }

    /// Returns the end of recorded times. The window ends at this moment if all requests are answered, so that a late
    /// command does not lower the rate.
    pub(super) fn recorded_end_ns(&self) -> Option<u64> {
        match &self.mode {
            Mode::Open(pool) if pool.dues().recorded_waiting() == 0 => pool.dues().recorded_end_ns(),
            _ => None,
        }
    }

    /// Returns true if all requests are answered.
    fn is_done(&self) -> bool {
        self.in_flight == 0 && !self.has_rest()
    }

    /// Returns the end of the time to listen, which begins with the last answer or the drain.
    fn listen_end_ns(&self) -> u64 {
        let begin_ns = self.drain_end_ns.saturating_sub(self.task.drain_ns);
        if self.open > 0 { self.answered_ns.max(begin_ns).saturating_add(self.listen_ns) } else { 0 }
    }

    /// Returns true if requests wait that start even in the drain: those to send again, and recorded ones.
    pub(super) fn has_rest(&self) -> bool {
        let recorded = match &self.mode {
            Mode::Open(pool) => pool.dues().recorded_waiting(),
            _ => 0,
        };
        !self.requeued.is_empty() || recorded > 0
    }

    /// Records the age of each unanswered request at the end of the window. Without these ages, no percentile would
    /// show a stall at the end of the window.
    pub(super) fn record_under_way(&mut self, now: u64) {
        let connects_count = self.begins_with_connect();
        let record = &mut self.record;
        for conn in 0..self.conns.len() as u32 {
            let Conn { state, in_flight, intended_ns, .. } = self.conns[conn as usize];
            if connects_count && matches!(state, State::Connecting | State::Handshaking) {
                record.still_under_way(now, intended_ns);
            }
            if in_flight == 0 {
                continue;
            }
            self.requests.each(conn, |begun| record.request_under_way(now, begun));
        }
        self.requeued.iter().for_each(|left| record.request_under_way(now, &left.begun));
        if let Mode::Open(pool) = &self.mode {
            pool.dues().each_waiting(|due| record.still_under_way(now, due));
        }
    }
}
