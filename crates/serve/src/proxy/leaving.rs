//! Clients that leave while the upstream works for them. A reset ends the pair and its upstream connection at once.
//!
//! A client that ends its side has either half-closed, and then still gets its answer, or closed. TCP tells these apart
//! only when something is sent: a closed socket answers with a reset. So the proxy sends one interim 100 response to an
//! HTTP/1.1 client that has ended its side and still waits after `probe_ms`. Every HTTP/1.1 client has to accept it
//! (RFC 9110, section 15.2).

use std::os::fd::RawFd;

use sys::poll::{self, ERR, HUP, RDHUP};

use super::worker::Worker;

/// State of a client that is not being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Here,
    /// The client has half-closed or closed.
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
    /// Handles an event of a client that is not being read: ends the pair if the client has gone.
    pub(super) fn client_stirs(&mut self, place: u32) {
        match self.pairs.get(place).map(|pair| presence(pair.client.fd())) {
            Some(Presence::Gone) => self.client_left(place),
            _ => self.turn(place),
        }
    }

    /// Schedules a check of a client that could leave unnoticed: it has ended its side, or unread bytes keep a
    /// level-triggered back end from watching it.
    pub(super) fn suspect(&mut self, place: u32) {
        let due = self.io.now_ms + self.io.settings.probe_ms;
        if let Some(pair) = self.pairs.get(place)
            && !std::mem::replace(&mut pair.suspected, true)
        {
            self.suspects.push_back((due, place, pair.serial));
        }
    }

    /// Checks a client that was scheduled and is still not being read.
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
