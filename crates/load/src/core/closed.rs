//! The closed loop: a fixed number of clients, each of which waits for an answer before its next request. If the load
//! plan sets `new_connections`, the clients are the simple clients of Banga and Druschel (USITS 1997). A simple client
//! repeats these steps: connect, send one request, receive the answer, close.
//!
//! Simple clients ask the server to close (HTTP `Connection: close`). If the server agrees, it may send its FIN first,
//! so its side has the connection in TIME_WAIT ([`super::closing`]). The client does not wait for the server's FIN
//! before it connects again. If the server does not agree, the client sends the first FIN, and the client's side has
//! the connection in TIME_WAIT. If connections in TIME_WAIT use up the client's ports, the failed connects count as
//! `client_ports`.

use super::{Core, Mode, State};
use crate::driver::Ops;

impl Core {
    /// Connects all clients at once, or at a limited rate. Without a limit, the connects of clients with a think time
    /// are spread over one think time. The requests of these clients are therefore evenly spaced from the start.
    pub(super) fn closed_start<O: Ops>(&mut self, ops: &mut O) {
        if let Some(turns) = self.task.blocks {
            return self.blocks_start(ops, turns);
        }
        if self.task.connect_gap_ns > 0.0 {
            self.opening = true;
            for conn in 0..self.task.connections() {
                self.wait(ops, conn, (f64::from(conn) * self.task.connect_gap_ns) as u64);
            }
            return;
        }
        for conn in 0..self.task.connections() {
            match self.first_pause() {
                0 => self.connect(ops, conn),
                pause => self.wait(ops, conn, pause),
            }
        }
    }

    fn first_pause(&mut self) -> u64 {
        match &self.mode {
            Mode::Closed { think } => think.rest(&mut self.rng),
            _ => 0,
        }
    }

    /// Handles an established connection. If connects have a limited rate, the connection sends no new request until
    /// the last connection is established or the measured window begins. Requests during the connect phase would delay
    /// the accepts, and accepts during the measured window would delay measured requests.
    pub(super) fn closed_up<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if self.task.connect_gap_ns <= 0.0 || self.draining {
            return self.closed_ready(ops, conn);
        }
        if !self.requeued.is_empty() {
            return self.closed_ready(ops, conn);
        }
        (self.conns[conn as usize].state, self.conns[conn as usize].is_awaited) = (State::Thinking, false);
        if !self.opening {
            return self.speak_first(ops.now(), conn);
        }
        if self.open >= u64::from(self.task.connections()) {
            self.end_opening(ops.now());
        }
    }

    /// Ends the connect phase: from now on, all established connections may send. Further calls of this function have
    /// no effect.
    pub(super) fn end_opening(&mut self, now: u64) {
        if !std::mem::take(&mut self.opening) {
            return;
        }
        for conn in 0..self.conns.len() as u32 {
            if self.conns[conn as usize].state == State::Thinking {
                self.speak_first(now, conn);
            }
        }
    }

    /// Schedules the first request of a connection. The first request follows one pause after the last connect is due
    /// or one pause after `now`, whichever is later.
    fn speak_first(&mut self, now: u64, conn: u32) {
        let opening_ns = f64::from(self.task.connections()) * self.task.connect_gap_ns;
        let all_due_ns = self.task.origin_ns.saturating_add(opening_ns as u64);
        let rest = self.first_pause();
        self.arm(conn, now.max(all_due_ns).saturating_add(rest));
    }

    /// Starts requests on a connection that may send, up to its pipeline depth.
    pub(super) fn closed_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.task.blocks {
            _ if self.draining => self.start_all_requeued(ops, conn, self.depth as u32),
            Some(turns) => self.block_ready(ops, conn, turns),
            None => self.ask(ops, conn, self.depth as u32),
        }
    }

    /// Handles answers on a connection: starts as many new requests as were answered, after the think time if there is
    /// one.
    #[inline]
    pub(super) fn closed_answered<O: Ops>(&mut self, ops: &mut O, conn: u32, answers: u32) {
        if self.task.new_connections {
            return self.end_only_request(ops, conn);
        }
        if self.draining {
            return self.start_all_requeued(ops, conn, answers);
        }
        if let Some(turns) = self.task.blocks {
            return self.block_answered(ops, conn, answers, turns);
        }
        match self.pause() {
            // The server announced that it will close after it has answered the requests in flight. New requests use
            // another connection.
            0 if !self.sessions.session(conn as usize).takes_more() => {}
            0 => self.ask(ops, conn, answers.min(self.depth as u32)),
            pause if self.conns[conn as usize].in_flight == 0 => {
                self.conns[conn as usize].state = State::Thinking;
                self.arm(conn, ops.now().saturating_add(pause));
            }
            // If several requests are pipelined, the think time starts when the last of their answers has arrived.
            _ => {}
        }
    }

    /// Replaces a connection that ended. If `due_ns` is given, the new connect starts at this time. Without a given
    /// time, the connect starts at once if requests must be sent again, and after the think time if not. The next
    /// request is due when the connect starts, so its response time includes the connect.
    pub(super) fn closed_replace<O: Ops>(&mut self, ops: &mut O, conn: u32, due_ns: Option<u64>) {
        self.record.record_service();
        self.conns[conn as usize].is_awaited = true;
        let pause = match due_ns {
            Some(due) => due.saturating_sub(ops.now()),
            None if !self.requeued.is_empty() => 0,
            None => self.pause(),
        };
        match pause {
            0 => self.connect(ops, conn),
            pause => self.wait(ops, conn, pause),
        }
    }

    /// Continues with a connection whose client's think time is over.
    pub(super) fn think_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].state = State::Idle;
        match &self.mode {
            Mode::Open(_) => self.open_think_over(ops, conn),
            _ => self.closed_ready(ops, conn),
        }
    }

    #[inline]
    pub(super) fn ask<O: Ops>(&mut self, ops: &mut O, conn: u32, requests: u32) {
        let now = ops.now();
        let intended_ns = self.closed_intended_ns(now, conn);
        for _ in 0..requests {
            if !self.start_requeued(now, conn) {
                self.record.counts.due += 1;
                self.begin(now, conn, intended_ns);
            }
        }
        self.flush(ops, conn);
    }

    /// Returns the intended start of requests that begin now on a connection.
    #[inline]
    pub(super) fn closed_intended_ns(&mut self, now: u64, conn: u32) -> u64 {
        let c = &mut self.conns[conn as usize];
        let waited_for_connect = std::mem::take(&mut c.is_awaited) || self.task.new_connections;
        if waited_for_connect { c.intended_ns } else { now }
    }

    #[inline]
    pub(super) fn pause(&mut self) -> u64 {
        match &self.mode {
            Mode::Closed { think } => think.draw(&mut self.rng),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use run::{Intensity, LoadPlan, Protocol, ThinkTime};

    use crate::{SimServer, simulate};

    /// Plan with 200 connections that are opened at 100 per second, so the last connect is due after 2 s.
    fn plan(mean_ms: f64, duration_s: f64) -> LoadPlan {
        LoadPlan {
            protocol: Protocol::Echo { message_bytes: 64 },
            intensity: Intensity::Closed {
                connections: 200,
                pipeline: 1,
                think: ThinkTime { mean_ms, exponential: true },
            },
            connect_rate: 100.0,
            duration_s,
            warmup_s: 0.0,
            timeout_s: 1e6,
            ..LoadPlan::default()
        }
    }

    #[test]
    fn connections_come_one_after_the_other_and_are_silent_until_the_last_is_due() {
        let (part, _) = simulate(&plan(10.0, 1.9), &SimServer::default()).unwrap();
        assert_eq!((part.total.connected / 10, part.total.sent), (19, 0), "{:?}", part.total);
        let (part, _) = simulate(&plan(1000.0, 12.0), &SimServer::default()).unwrap();
        let opened = part.opened.unwrap();
        assert!(opened.connections == 200 && (1.9..2.1).contains(&opened.at_s), "{opened:?}");
        // In the 10 s after the last connect, 200 requests per second are due.
        assert!((1800..2200).contains(&part.total.sent), "{}", part.total.sent);
    }

    /// The round-trip time is 1 s, so the last connection is established 1 s after its connect, at about 3 s.
    #[test]
    fn connections_stay_silent_until_the_last_is_up_but_not_in_the_window() {
        let far = SimServer { rtt_ns: 1_000_000_000, ..SimServer::default() };
        let sent = |warmup_s: f64, duration_s: f64| {
            let (part, _) = simulate(&LoadPlan { warmup_s, ..plan(500.0, duration_s) }, &far).unwrap();
            part.total.sent
        };
        assert!(sent(2.9, 0.001) < 10, "{}", sent(2.9, 0.001));
        assert!(sent(6.0, 0.001) > 200 && sent(0.0, 2.9) > 50, "{} {}", sent(6.0, 0.001), sent(0.0, 2.9));
    }

    #[test]
    fn without_think_time_all_connections_ask_once_the_last_is_due() {
        let (part, _) = simulate(&LoadPlan { duration_s: 2.05, ..plan(0.0, 0.0) }, &SimServer::default()).unwrap();
        assert!(part.total.sent >= 200, "{}", part.total.sent);
    }
}
