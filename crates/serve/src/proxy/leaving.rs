//! Clients that leave while the upstream works for them: a reset ends the pair and its upstream connection at once.
//!
//! The end of a client's stream alone is either a half-close, and then the client still gets its answer, or a close. TCP
//! tells the two apart only when something is sent: a socket that is closed answers with a reset. So an HTTP/1.1
//! client that has ended its side and still waits after `probe_ms` is sent one interim 100, which such a client has to
//! understand without having asked for it (RFC 9110, section 15.2).

use std::os::fd::RawFd;

use sys::poll::{self, ERR, HUP, RDHUP};

use super::worker::Worker;

/// How the client of a connection stands that is not being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Here,
    /// It has ended its side, half or whole.
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
    /// Something was told of a client that is not being read: ends the pair if the client is gone.
    pub(super) fn client_stirs(&mut self, place: u32) {
        match self.pairs.get(place).map(|pair| presence(pair.client.fd())) {
            Some(Presence::Gone) => self.client_left(place),
            _ => self.turn(place),
        }
    }

    /// A client has ended its side, or has sent what is not read now so that a level-triggered back end is not asked any
    /// more: it is looked at after a while.
    pub(super) fn suspect(&mut self, place: u32) {
        let due = self.io.now_ms + self.io.settings.probe_ms;
        if let Some(pair) = self.pairs.get(place)
            && !std::mem::replace(&mut pair.suspected, true)
        {
            self.suspects.push_back((due, place, pair.serial));
        }
    }

    /// Looks at a client that stirred a while ago and is not being read yet.
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
