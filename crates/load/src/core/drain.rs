//! The drain, which ends a load: no new requests start, and the load ends when all requests are answered.
//!
//! In some protocols, only the order of the answers tells which request they answer. If a server then sends two answers
//! to one request, the client takes the second answer for the answer to another request. Surplus answers may arrive
//! after all requests are answered, so the drain waits a little longer.

use super::{Conn, Core, Mode, State};
use crate::core::InFlightRequest;
use crate::driver::Ops;
use crate::record::Record;

/// Time to wait for surplus answers, as a multiple of the mean response time. If a server delays its second answers,
/// the client takes this delay for the response time of every other request. If every second answer is delayed, the
/// mean response time is about half of the delay.
const LISTEN_RESPONSES: f64 = 3.0;
/// Shortest and longest time to wait for surplus answers, nanoseconds. A server without TCP_NODELAY holds the second
/// answer back until the client acknowledges the first. If a client has nothing to send, its kernel delays the
/// acknowledgement by 40 ms, so the shortest time must be longer. Each step of a search for the maximum rate waits for
/// this time. The longest time therefore limits how much time a search loses on an overloaded server.
const LISTEN_NS: (u64, u64) = (60_000_000, 250_000_000);

impl Core {
    /// Starts the drain, during which no new requests start.
    pub(super) fn drain<O: Ops>(&mut self, ops: &mut O, now: u64) {
        self.start_recorded(ops);
        self.draining = true;
        self.drain_end_ns = now.saturating_add(self.task.drain_ns);
        self.listen_ns = self.listening_time_ns();
        self.stop_connecting(ops);
        for conn in 0..self.conns.len() as u32 {
            self.abandon_transaction(ops, conn);
        }
    }

    /// During the drain, closes a connection that has no request in flight and is in the middle of a sequence of
    /// requests that may be a transaction. The server then ends the transaction and releases its locks. If the
    /// connection stayed open, requests of other connections would wait for these locks until the drain ends.
    #[inline]
    pub(super) fn abandon_transaction<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if !self.draining || !self.has_transactions || self.has_rest() {
            return;
        }
        let c = &self.conns[conn as usize];
        let is_at_rest = c.in_flight == 0 && matches!(c.state, State::Idle | State::Thinking | State::Busy);
        if is_at_rest && self.mix.is_within_sequence(c.made) {
            self.open_forget_idle(conn);
            self.ended(ops, conn);
        }
    }

    /// Returns the time to wait for surplus answers, nanoseconds. Returns 0 if each connection has only one request, or
    /// if each answer names its request.
    fn listening_time_ns(&mut self) -> u64 {
        let several = !self.task.new_connections && matches!(self.mode, Mode::Closed { .. } | Mode::Open(_));
        if !several || self.conns.is_empty() || !self.sessions.session(0).matches_answers_by_order() {
            return 0;
        }
        let mean_ns = self.record.response.mean_us() * 1e3;
        ((LISTEN_RESPONSES * mean_ns) as u64).clamp(LISTEN_NS.0, LISTEN_NS.1)
    }

    /// Returns true if the drain is over. The drain is over when all requests are answered and the wait for surplus
    /// answers has ended. The drain ends at the latest when its maximum time has passed.
    pub(crate) fn drained(&self, now_ns: u64) -> bool {
        self.draining && (self.is_done() && now_ns >= self.listen_end_ns() || now_ns >= self.drain_end_ns)
    }

    /// Returns the time at which the drain ends. While requests are unanswered, returns the latest time at which the
    /// drain may end.
    pub(crate) fn drain_end_ns(&self) -> u64 {
        if self.draining && self.is_done() { self.listen_end_ns().min(self.drain_end_ns) } else { self.drain_end_ns }
    }

    /// Returns the time at which the recorded requests end, if all recorded requests that are due have been started.
    /// Once all due recorded requests have been started, the measured window ends with the recorded times, and not with
    /// the conductor's command. A late command of the conductor thus does not lower the rate.
    pub(super) fn recorded_end_ns(&self) -> Option<u64> {
        match &self.mode {
            Mode::Open(pool) if pool.dues().recorded_waiting() == 0 => pool.dues().recorded_end_ns(),
            _ => None,
        }
    }

    /// Returns true if all requests are answered, and no request still has to be sent.
    fn is_done(&self) -> bool {
        self.in_flight == 0 && !self.has_rest()
    }

    /// Returns the end of the wait for surplus answers. The wait for surplus answers begins at the last answer or at
    /// the start of the drain, whichever is later.
    fn listen_end_ns(&self) -> u64 {
        let begin_ns = self.drain_end_ns.saturating_sub(self.task.drain_ns);
        if self.open > 0 { self.answered_ns.max(begin_ns).saturating_add(self.listen_ns) } else { 0 }
    }

    /// Returns true if requests are waiting that may start during the drain: requests to be sent again, and due
    /// requests of a replayed recording.
    pub(super) fn has_rest(&self) -> bool {
        let recorded = match &self.mode {
            Mode::Open(pool) => pool.dues().recorded_waiting(),
            _ => 0,
        };
        !self.requeued.is_empty() || recorded > 0
    }

    /// At the end of the measured window, records how long each request in flight has been waiting. Without the waiting
    /// times of requests in flight, no percentile would show a stall at the end of the measured window.
    pub(super) fn record_under_way(&mut self, now: u64) {
        self.each_open(
            |record, request| record.request_under_way(now, request),
            |record, intended_ns| record.still_under_way(now, intended_ns),
        );
    }

    /// At the end of the drain, records the requests that have been unanswered since before the measured window.
    pub(super) fn record_hung(&mut self) {
        self.each_open(Record::request_hung, Record::hung);
    }

    /// Calls `request` for each request that was started and is unanswered. Calls `waits` with the intended start of
    /// each request that waits for a connection.
    fn each_open(&mut self, request: impl Fn(&mut Record, &InFlightRequest), waits: impl Fn(&mut Record, u64)) {
        // If a client's request will be sent again, the client's wait for this answer includes the connect. Such a
        // connect is not passed to `waits`, so that the wait counts only once.
        let mut resends = self.requeued.len();
        for conn in 0..self.conns.len() as u32 {
            let Conn { state, in_flight, intended_ns, .. } = self.conns[conn as usize];
            // A request in early data is in flight although the handshake is in progress.
            let connects = in_flight == 0 && matches!(state, State::Connecting | State::Handshaking);
            if connects && self.is_connect_awaited(conn) {
                match resends.checked_sub(1) {
                    Some(left) => resends = left,
                    None => waits(&mut self.record, intended_ns),
                }
            }
            if in_flight > 0 {
                self.requests.each(conn, |begun| request(&mut self.record, begun));
            }
        }
        let record = &mut self.record;
        self.requeued.iter().for_each(|left| request(record, &left.begun));
        if let Mode::Open(pool) = &self.mode {
            pool.dues().each_waiting(|due| waits(record, due));
        }
    }
}

#[cfg(test)]
mod tests {
    use run::{Intensity, LoadPlan, Phase, Protocol, RequestOrder, ThinkTime};

    use super::super::test_protocol::TestProtocol;
    use super::super::test_wire::{Fixture, MemoryWire};
    use super::*;
    use crate::driver::Completion;

    /// A server without TCP_NODELAY sends its surplus answer only after the client's delayed acknowledgement.
    #[test]
    fn an_answer_held_back_until_the_delayed_ack_is_seen() {
        let plan = LoadPlan {
            protocol: Protocol::Echo { message_bytes: 1 },
            intensity: Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() },
            ..LoadPlan::default()
        };
        let client = proto::client(&plan.protocol, None, None).unwrap();
        let mut core = Core::new(crate::share::task(&plan, 0, 0, 1000), &*client);
        let mut wire = MemoryWire::default();
        let hear = |core: &mut Core, wire: &mut MemoryWire, ms: u64| {
            wire.now_ns = ms * 1_000_000;
            let bytes = &wire.writes[0].clone();
            core.on(wire, Completion::Received { conn: 0, bytes });
        };
        core.enter(&mut wire, Phase::Measure, 0);
        core.start(&mut wire);
        core.on(&mut wire, Completion::Connected { conn: 0 });
        (1..10).for_each(|ms| hear(&mut core, &mut wire, ms));
        core.enter(&mut wire, Phase::Drain, 9_000_000);
        hear(&mut core, &mut wire, 10);
        assert!(!core.drained(10_000_000 + 44_000_000));
        hear(&mut core, &mut wire, 54);
        let tally = core.finish(&mut wire).total;
        assert_eq!((tally.completed, tally.unasked_messages, tally.doubtful_answers), (10, 1, 10), "{tally:?}");
    }

    /// Sends sequences of two requests on one connection. The drain begins after `before` answers, and `within` answers
    /// follow in the drain. Returns the number of closed connections and of unanswered requests.
    fn sequence_in_drain(order: RequestOrder, think_ms: f64, before: usize, within: usize) -> (u32, u64) {
        let mix = proto::Mix { weights: vec![1.0, 1.0].into(), order, ..proto::Mix::ONE.clone() };
        let think = ThinkTime { mean_ms: think_ms, exponential: false };
        let intensity = Intensity::Closed { connections: 1, pipeline: 1, think };
        let mut fixture = Fixture::speaking(intensity, &TestProtocol { mix, takes_early: false });
        fixture.at_ms(1_000);
        fixture.up();
        fixture.hear(b"h");
        let answer = |fixture: &mut Fixture| {
            let request = fixture.sent().pop().unwrap();
            fixture.hear(&[b'A', request[1]]);
        };
        (0..before).for_each(|_| answer(&mut fixture));
        fixture.core.enter(&mut fixture.wire, Phase::Drain, 1_000_000_000);
        (0..within).for_each(|_| answer(&mut fixture));
        let closes = fixture.wire.closes;
        (closes, fixture.part().total.unanswered)
    }

    #[test]
    fn the_drain_closes_connections_in_the_middle_of_a_transaction() {
        use RequestOrder::{Sequence, Shuffle};
        assert_eq!(sequence_in_drain(Sequence, 0.0, 0, 1), (1, 0));
        assert_eq!(sequence_in_drain(Sequence, 0.0, 1, 1), (0, 0), "the sequence is complete");
        assert_eq!(sequence_in_drain(Sequence, 1000.0, 1, 0), (1, 0), "the client thinks when the drain begins");
        assert_eq!(sequence_in_drain(Shuffle, 0.0, 0, 1), (0, 0), "no transaction");
    }
}
