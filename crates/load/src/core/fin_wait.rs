//! Wait for the FIN of a server that announced the end of a connection. This module decides which connections wait, for
//! how long, and which side closes.

use std::collections::VecDeque;

/// Maximum wait for a FIN of a server that has closed connections before. A server thread that lost its CPU between its
/// answer and its close needs tens of milliseconds.
const KNOWN_WAIT_NS: u64 = 100_000_000;
/// Maximum wait for a FIN of a server that never closed, or that left the last close to the client. On an idle machine
/// the FIN follows its answer within 0.1 ms.
const TRIAL_WAIT_NS: u64 = 10_000_000;
/// Interval at which a client that closes first waits for one FIN. At this interval, waits of [`TRIAL_WAIT_NS`] hold
/// one worker of the server for 1 % of the time.
const TRIAL_INTERVAL_NS: u64 = 1_000_000_000;
/// Maximum number of connections that wait for a FIN besides the clients' own. A server that closes within 1 ms needs
/// 100 of them at 100,000 connections per second.
const MAX_SPARES: u32 = 256;
/// Minimum number of spare connections, because a few FINs may be late at the same time.
const MIN_SPARES: u32 = 16;

/// Returns the number of connections to add to `clients` for those that wait for a FIN, if `room` allows that many.
pub(crate) fn spares(clients: u32, room: u32) -> u32 {
    clients.clamp(MIN_SPARES, MAX_SPARES).min(room.saturating_sub(clients))
}

/// The side that closes after an announced end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    /// The waiting time is not known yet.
    Unknown,
    Server,
    /// The client closes first, except for one trial from this time on.
    Client {
        trial_ns: u64,
    },
}

impl Closer {
    /// Returns the client as the closer until the next trial.
    pub(super) fn client(now_ns: u64) -> Self {
        Self::Client { trial_ns: now_ns + TRIAL_INTERVAL_NS }
    }
}

/// Connections that wait for the FIN that their server announced, oldest first.
pub(super) struct Closing {
    pub(super) waiting: VecDeque<u32>,
    pub(super) max: usize,
    pub(super) closer: Closer,
}

impl Closing {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(max), max, closer: Closer::Unknown }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how long the next connection may wait for its FIN; `None` if the client closes at once.
    pub(super) fn patience_ns(&mut self, now: u64) -> Option<u64> {
        match &mut self.closer {
            _ if self.max == 0 => None,
            Closer::Unknown => Some(TRIAL_WAIT_NS),
            Closer::Server => Some(KNOWN_WAIT_NS),
            Closer::Client { trial_ns } if *trial_ns > now => None,
            Closer::Client { trial_ns } => {
                *trial_ns = now + TRIAL_INTERVAL_NS;
                Some(TRIAL_WAIT_NS)
            }
        }
    }

    /// Removes a connection; returns false if it does not wait.
    pub(super) fn remove(&mut self, conn: u32) -> bool {
        let place = self.waiting.iter().position(|&waiting| waiting == conn);
        place.is_some_and(|place| self.waiting.remove(place).is_some())
    }
}
