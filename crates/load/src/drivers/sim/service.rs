//! Accepting connections and serving requests in the simulated server.

use super::driver::{Conn, Event, SimOps};
use super::server::Service;
use crate::arrivals::exponential;

/// Delay after which Linux retransmits a SYN, nanoseconds.
const SYN_RETRY_NS: u64 = 1_000_000_000;

impl SimOps {
    /// Handles an event that happens at the server.
    pub(super) fn serve(&mut self, event: Event) {
        match event {
            Event::Syn(c) => self.syn(c),
            Event::SynAgain(c) if self.lives(c) => self.syn(c),
            Event::Request(c) if !self.reads(c) => {}
            Event::Request(c) if !self.admits() => {
                // The simulated server takes at least 1 µs to refuse a request. If refusals took no time, the virtual
                // clock of a closed loop would never advance.
                let at = self.now_ns + self.half_rtt().max(1000);
                self.schedule(at, Event::Refused(c));
            }
            Event::Request(c) if self.server.accept_at_once => {
                self.queue.push_back(c);
                self.start_services();
            }
            Event::Request(c) => {
                self.asked[c.0 as usize] += 1;
                if std::mem::take(&mut self.held[c.0 as usize]) {
                    self.begin_service(c);
                }
            }
            Event::ServiceEnd(c) => {
                let is_free = self.answer(c);
                if !self.server.accept_at_once && !self.server.keeps_connections {
                    self.schedule(self.now_ns + self.half_rtt(), Event::Closed(c));
                }
                self.idle += u32::from(is_free && !self.keeps(c));
                self.start_services();
            }
            Event::AnsweredAgain(c) => {
                self.schedule(self.now_ns + self.half_rtt(), Event::Answered(c));
                self.idle += 1;
                self.start_services();
            }
            Event::Restart => self.restart(),
            Event::IdleEnd(c, requests) if self.lives(c) => self.idle_end(c, requests),
            Event::LateClose(c) if self.lives(c) => self.late_close(c),
            _ => {}
        }
    }

    fn syn(&mut self, c: Conn) {
        self.syns_ns.push(self.now_ns);
        let waiting = if self.server.accept_at_once { 0 } else { self.queue.len() as u64 };
        if waiting > u64::from(self.server.backlog) {
            self.dropped += 1;
            return self.schedule(self.now_ns + SYN_RETRY_NS, Event::SynAgain(c));
        }
        self.schedule(self.now_ns + self.half_rtt(), Event::Connected(c));
        self.served[c.0 as usize].is_up = true;
        self.idle_from(c, self.now_ns);
        if !self.server.accept_at_once {
            self.asked[c.0 as usize] = 0;
            self.held[c.0 as usize] = false;
            self.queue.push_back(c);
            self.start_services();
        }
    }

    /// Assigns waiting requests or connections to idle workers. A request whose connection the client has closed takes
    /// no service time.
    pub(super) fn start_services(&mut self) {
        while self.idle > 0 {
            let Some(c) = self.queue.pop_front() else { return };
            if !self.lives(c) || self.served[c.0 as usize].is_over {
                continue;
            }
            self.idle -= 1;
            if self.server.accept_at_once || self.asked[c.0 as usize] > 0 {
                self.begin_service(c);
            } else {
                self.held[c.0 as usize] = true;
            }
        }
    }

    /// Lets the worker of a connection go on with this connection. Returns false if workers do not keep their
    /// connections, or if this connection has ended.
    fn keeps(&mut self, c: Conn) -> bool {
        let keeps = !self.server.accept_at_once && self.server.keeps_connections;
        if !keeps || !self.lives(c) || self.served[c.0 as usize].is_over {
            return false;
        }
        match self.asked[c.0 as usize] > 0 {
            true => self.begin_service(c),
            false => self.held[c.0 as usize] = true,
        }
        true
    }

    /// Frees the worker that waits for a request on a connection that the server closes.
    pub(super) fn release(&mut self, c: Conn) {
        if std::mem::take(&mut self.held[c.0 as usize]) {
            self.idle += 1;
            self.start_services();
        }
    }

    fn begin_service(&mut self, c: Conn) {
        let asked = &mut self.asked[c.0 as usize];
        *asked = asked.saturating_sub(1);
        let mean = self.server.service_ns as f64;
        let length = match self.server.service {
            Service::Constant => mean,
            Service::Exponential => exponential(&mut self.rng) * mean,
            Service::TwoPeaks { times, percent } => {
                let (times, slow) = (f64::from(times), f64::from(percent) / 100.0);
                let quick = mean / (1.0 - slow + slow * times);
                if self.rng.f64() < slow { quick * times } else { quick }
            }
        } as u64;
        let end_ns = self.after_stalls(length);
        self.schedule(end_ns, Event::ServiceEnd(c));
    }

    /// Returns the end of a service of `length_ns` that begins now. If the server stalls during the service, the
    /// service continues after the stall.
    fn after_stalls(&mut self, length_ns: u64) -> u64 {
        let (now, stalls) = (self.now_ns, &self.server.stalls_ns);
        let ended = |&&(_, to): &&(u64, u64)| to <= now;
        self.past_stalls += stalls[self.past_stalls..].iter().take_while(ended).count();
        let mut end = now + length_ns;
        for &(from, to) in &stalls[self.past_stalls..] {
            // The stalls are sorted, so the service also ends before all later stalls.
            if from >= end {
                break;
            }
            if now < to {
                end += to - from.max(now);
            }
        }
        end
    }

    /// Returns true if the server does not refuse a request. Takes a token of the rate limit, if there is one.
    fn admits(&mut self) -> bool {
        if self.server.refuses_if_full && self.idle == 0 {
            return false;
        }
        let Some(limit) = self.server.limit else { return true };
        let (at, tokens) = self.tokens;
        let refilled = tokens + (self.now_ns - at) as f64 / 1e9 * f64::from(limit.rate);
        let full = refilled.min(f64::from(limit.burst));
        let admits = full >= 1.0;
        self.tokens = (self.now_ns, if admits { full - 1.0 } else { full });
        admits
    }
}
