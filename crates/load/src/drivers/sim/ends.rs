//! Connections that the simulated server ends, after some number of answers or after an idle time.

use super::driver::{Conn, Event, SimOps};

impl SimOps {
    /// Counts a request that arrives at the server. Returns false if the server reads nothing more from this
    /// connection.
    pub(super) fn reads(&mut self, c: Conn) -> bool {
        let (lives, served) = (self.lives(c), &mut self.served[c.0 as usize]);
        served.requests += 1;
        if lives && !served.is_over {
            served.unread_bytes -= self.request_bytes;
        }
        !(lives && served.is_over)
    }

    /// Sends the answer to a request. Returns true if the worker is free after that.
    pub(super) fn answer(&mut self, c: Conn) -> bool {
        let (at_ns, lives) = (self.now_ns + self.half_rtt(), self.lives(c));
        let served = &mut self.served[c.0 as usize];
        served.answers += u32::from(lives);
        if self.server.closes_after == 0 || served.answers < self.server.closes_after {
            self.schedule(at_ns, Event::Answered(c));
            self.idle_from(c, self.now_ns);
            let again_ns = self.server.answers_again_ns;
            if again_ns > 0 {
                self.schedule(self.now_ns + again_ns, Event::AnsweredAgain(c));
            }
            return again_ns == 0;
        }
        served.is_over = true;
        self.schedule(at_ns, if self.server.closes_silently { Event::Answered(c) } else { Event::LastAnswered(c) });
        if self.server.leaves_close {
            self.held[c.0 as usize] = lives;
            return !lives;
        }
        self.schedule(at_ns, Event::Closed(c));
        true
    }

    /// Ends all connections, as a restart of the server does.
    pub(super) fn restart(&mut self) {
        for conn in 0..self.served.len() {
            let served = &mut self.served[conn];
            if std::mem::take(&mut served.is_up) {
                served.is_over = true;
                let c = (conn as u32, self.generations[conn]);
                self.schedule(self.now_ns + self.half_rtt(), Event::Closed(c));
            }
        }
    }

    /// Starts the idle time of a connection.
    pub(super) fn idle_from(&mut self, c: Conn, from_ns: u64) {
        if self.server.keep_alive_ns > 0 {
            let requests = self.served[c.0 as usize].requests;
            self.schedule(from_ns + self.server.keep_alive_ns, Event::IdleEnd(c, requests));
        }
    }

    /// Closes a connection if no request has come since its idle time began.
    pub(super) fn idle_end(&mut self, c: Conn, requests: u32) {
        let served = &mut self.served[c.0 as usize];
        if served.requests == requests && !served.is_over {
            served.is_over = true;
            self.schedule(self.now_ns + self.half_rtt(), Event::Closed(c));
        }
    }
}
