//! Detects clients that leave while the upstream server works on their requests. After a reset from a client, the
//! client's upstream connection is also closed immediately.
//!
//! A client that closes may have closed the whole connection or only its sending side. If the client has closed only
//! its sending side, it still expects an answer. TCP shows whether the whole connection is closed only when the proxy
//! sends something, because a closed socket answers with a reset. The proxy sends one interim response (status 100) to
//! an HTTP/1.1 client whose request is not answered `probe_ms` after the client's close. Every HTTP/1.1 client must
//! accept interim responses (RFC 9110, section 15.2).

use std::os::fd::RawFd;

use sys::poll::{self, ERR, HUP, RDHUP};

use super::worker::Worker;

/// State of a client from which the proxy currently does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Here,
    /// The client has closed its connection, or only its sending side.
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
    /// Handles an event of a client from which the proxy currently does not read. If the client has left, closes its
    /// connection and the upstream connection that serves it.
    pub(super) fn client_stirs(&mut self, place: u32) {
        match self.pairs.get(place).map(|pair| presence(pair.client.fd())) {
            Some(Presence::Gone) => self.client_left(place),
            _ => self.turn(place),
        }
    }

    /// Schedules a check of a client that may leave unnoticed. A client can leave unnoticed after it has closed its
    /// sending side. A client can also leave unnoticed after it has sent bytes that the proxy does not read yet. A
    /// level-triggered event interface, such as poll, cannot watch a client with unread bytes.
    pub(super) fn suspect(&mut self, place: u32) {
        let due = self.io.now_ms + self.io.settings.probe_ms;
        if let Some(pair) = self.pairs.get(place)
            && !std::mem::replace(&mut pair.suspected, true)
        {
            self.suspects.push_back((due, place, pair.serial));
        }
    }

    /// Checks again whether a client has left, if the proxy is still not reading from this client.
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
