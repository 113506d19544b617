//! Connections that the simulated server ends, after some number of answers or after an idle time.

use super::driver::{Conn, Event, SimOps};
use super::server::SilentClose;
use crate::arrivals::exponential;

impl SimOps {
    /// Counts a request that arrives at the server. Returns false if the server reads nothing more from the connection.
    pub(super) fn reads(&mut self, c: Conn) -> bool {
        let (lives, served) = (self.lives(c), &mut self.served[c.0 as usize]);
        served.requests += 1;
        if !lives {
            return true;
        }
        if !served.is_over {
            served.unread_bytes -= self.request_bytes;
        }
        if served.closes_later {
            served.has_unread = true;
            if self.server.silent_close == SilentClose::AtNextRequest {
                self.late_close(c);
            }
            return false;
        }
        !served.is_over
    }

    /// Sends the answer to a request. Returns true if the simulated worker is free after the answer.
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
        if self.server.closes_silently && self.server.silent_close != SilentClose::AtOnce {
            served.closes_later = true;
            self.schedule(at_ns, Event::Answered(c));
            self.idle_from(c, self.now_ns);
            if let SilentClose::Later(mean_ns) = self.server.silent_close {
                let after_ns = exponential(&mut self.rng) * mean_ns as f64;
                self.schedule(self.now_ns + after_ns as u64, Event::LateClose(c));
            }
            return true;
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

    /// Closes a connection some time after its last answer. If a request has arrived that the server did not read, the
    /// kernel sends a reset (RFC 2525, section 2.17).
    pub(super) fn late_close(&mut self, c: Conn) {
        let served = &mut self.served[c.0 as usize];
        if !std::mem::replace(&mut served.is_over, true) {
            let end = if served.has_unread { Event::Reset(c) } else { Event::Closed(c) };
            self.schedule(self.now_ns + self.half_rtt(), end);
        }
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
            self.release(c);
        }
    }
}
