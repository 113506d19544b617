//! Clients that leave while the upstream server works on their request. After a reset, the pair and its upstream
//! connection end immediately.
//!
//! If a client closes, it may have closed the whole connection, or only its sending side; in the second case, it still
//! expects an answer. TCP shows the difference only when the proxy sends something: a closed socket answers with a
//! reset. If a client of HTTP/1.1 is still waiting `probe_ms` after its close, the proxy therefore sends it one interim
//! response with status 100. Every client of HTTP/1.1 must accept this response (RFC 9110, section 15.2).

use std::os::fd::RawFd;

use sys::poll::{self, ERR, HUP, RDHUP};

use super::worker::Worker;

/// State of a client that is not being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Here,
    /// The client has half-closed or closed its connection.
    Ended,
    Gone,
}

fn presence(fd: RawFd) -> Presence {
    match poll::now(fd, RDHUP) {
        Ok(found) if found & (ERR | HUP) != 0 => Presence::Gone,
        Ok(found) if found & RDHUP != 0 => Presence::Ended,
        _ => Presence::Here,
    }
}

impl Worker {
    /// Handles an event of a client from which the proxy does not read at the moment. Ends the pair if the client has
    /// gone.
    pub(super) fn client_stirs(&mut self, place: u32) {
        match self.pairs.get(place).map(|pair| presence(pair.client.fd())) {
            Some(Presence::Gone) => self.client_left(place),
            _ => self.turn(place),
        }
    }

    /// Schedules a check of a client that could leave without being noticed. A client could leave without being noticed
    /// after it has closed its sending side, or if unread bytes prevent a level-triggered backend from watching it.
    pub(super) fn suspect(&mut self, place: u32) {
        let due = self.io.now_ms + self.io.settings.probe_ms;
        if let Some(pair) = self.pairs.get(place)
            && !std::mem::replace(&mut pair.suspected, true)
        {
            self.suspects.push_back((due, place, pair.serial));
        }
    }

    /// Checks a client from which the proxy still does not read.
    pub(super) fn look_again(&mut self, place: u32, serial: u32) {
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.suspected = false;
        if !pair.leaves_client_unread() {
            return;
        }
        match presence(pair.client.fd()) {
            Presence::Gone => return self.client_left(place),
            Presence::Ended if pair.probe().is_err() => return self.client_left(place),
            _ => {}
        }
        self.suspect(place);
    }

    fn client_left(&mut self, place: u32) {
        self.io.cell.resets.add(1);
        self.close(place);
    }
}
