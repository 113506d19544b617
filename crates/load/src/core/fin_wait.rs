//! Waiting for the FIN of a server that has announced the end of a connection. This module chooses the connections that
//! wait, the length of their wait, and the side that closes first.

use std::collections::VecDeque;

/// Maximum time to wait for the FIN of a server that closed connections before, nanoseconds. If a server thread loses
/// its CPU between its answer and its close, the FIN comes after tens of milliseconds.
const KNOWN_WAIT_NS: u64 = 100_000_000;
/// Maximum time to wait for the FIN of a server that never closed, or that left the last close to the client,
/// nanoseconds. On an idle machine, the FIN comes within 0.1 ms after the answer.
const TRIAL_WAIT_NS: u64 = 10_000_000;
/// Interval between two waits for a FIN if the client usually closes first, nanoseconds. With this interval, waits of
/// [`TRIAL_WAIT_NS`] occupy one worker of the server for 1 % of the time.
const TRIAL_INTERVAL_NS: u64 = 1_000_000_000;
/// Maximum number of additional connections, which wait for a FIN. If a server closes within 1 ms, 100 of them are
/// needed at 100,000 connections per second.
const MAX_SPARES: u32 = 256;
/// Minimum number of additional connections, because a few FINs may be late at the same time.
const MIN_SPARES: u32 = 16;

/// Returns the number of connections to add to `clients` for those that wait for a FIN, as far as `room` allows.
pub(crate) fn spares(clients: u32, room: u32) -> u32 {
    clients.clamp(MIN_SPARES, MAX_SPARES).min(room.saturating_sub(clients))
}

/// The side that closes first after an announced end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    /// No wait for a FIN has ended yet, so the delay of a FIN is unknown.
    Unknown,
    Server,
    /// The client closes first; from this time on, it waits for one FIN.
    Client {
        trial_ns: u64,
    },
}

impl Closer {
    /// Returns the state in which the client closes first until its next wait for a FIN.
    pub(super) fn client(now_ns: u64) -> Self {
        Self::Client { trial_ns: now_ns + TRIAL_INTERVAL_NS }
    }
}

/// Connections that wait for an announced FIN, oldest first.
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

    /// Returns the time for which the next connection may wait for its FIN; `None` if the client closes at once.
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
