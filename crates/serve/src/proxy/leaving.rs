//! Clients that leave while the upstream works on their request. After a reset, the pair and its upstream connection
//! end immediately.
//!
//! If a client closes its side, it has either closed the whole connection or half of it; in the second case it still
//! expects an answer. TCP distinguishes these cases only when the proxy sends: a closed socket answers with a reset.
//! The proxy therefore sends one interim 100 response to an HTTP/1.1 client that still waits `probe_ms` after closing
//! its side. Every HTTP/1.1 client must accept this response (RFC 9110, section 15.2).

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
    /// Handles an event of a client that is not being read. Ends the pair if the client has gone.
    pub(super) fn client_stirs(&mut self, place: u32) {
        match self.pairs.get(place).map(|pair| presence(pair.client.fd())) {
            Some(Presence::Gone) => self.client_left(place),
            _ => self.turn(place),
        }
    }

    /// Schedules a check of a client that could leave unnoticed. Such a client has closed its side, or its unread bytes
    /// prevent a level-triggered backend from watching it.
    pub(super) fn suspect(&mut self, place: u32) {
        let due = self.io.now_ms + self.io.settings.probe_ms;
        if let Some(pair) = self.pairs.get(place)
            && !std::mem::replace(&mut pair.suspected, true)
        {
            self.suspects.push_back((due, place, pair.serial));
        }
    }

    /// Performs a scheduled check of a client that is still not being read.
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
