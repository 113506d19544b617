//! Waiting for the FIN of a server that has announced the end of a connection. This module decides which connections
//! wait for the FIN, for how long, and which side closes first.

use std::collections::VecDeque;

/// Maximum time to wait for the FIN of a server that is known to close connections, nanoseconds. If a thread of the
/// server loses its CPU between its answer and its close, the FIN comes only after tens of milliseconds.
const KNOWN_WAIT_NS: u64 = 100_000_000;
/// Maximum time to wait for a FIN to test whether the server closes connections, nanoseconds. The client makes this
/// test if it does not know yet whether the server closes connections. The client also makes the test if the server did
/// not close in the last test. On an idle machine, the FIN comes within 0.1 ms after the answer.
const TRIAL_WAIT_NS: u64 = 10_000_000;
/// Interval between two tests of a server that has left the close to the client, nanoseconds. Each test shows whether
/// the server now closes connections, and occupies one worker of the server for [`TRIAL_WAIT_NS`], which is 1 % of the
/// interval.
const TRIAL_INTERVAL_NS: u64 = 1_000_000_000;
/// Maximum number of additional connection indexes, for connections that wait for a FIN. With 100,000 connections per
/// second and FINs that come after 1 ms, 100 connections wait at a time.
const MAX_SPARES: u32 = 256;
/// Minimum number of additional connection indexes. Even with few clients, several FINs may be late at the same time.
const MIN_SPARES: u32 = 16;

/// Returns the number of additional connection indexes, for connections that wait for a FIN. Each client also has one
/// connection index. All connection indexes together are at most `room`.
pub(crate) fn spares(clients: u32, room: u32) -> u32 {
    clients.clamp(MIN_SPARES, MAX_SPARES).min(room.saturating_sub(clients))
}

/// The side that closes a connection first after its end was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closer {
    /// No wait for a FIN has ended so far, so it is not known which side closes.
    Unknown,
    Server,
    /// The client closes first. The next test of whether the server closes connections is due at `trial_ns`. The first
    /// connection whose end is announced after that time waits for the server's FIN.
    Client {
        trial_ns: u64,
    },
}

impl Closer {
    /// Returns the state in which the client closes connections first. The next test of whether the server closes
    /// follows after [`TRIAL_INTERVAL_NS`].
    pub(super) fn client(now_ns: u64) -> Self {
        Self::Client { trial_ns: now_ns + TRIAL_INTERVAL_NS }
    }
}

/// Connections that wait for an announced FIN, the oldest first.
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

    /// Returns the time for which a connection whose end was just announced waits for its FIN. Returns `None` if the
    /// client closes at once.
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

    /// Removes a connection from the list. Returns false if the connection is not in the list.
    pub(super) fn remove(&mut self, conn: u32) -> bool {
        let place = self.waiting.iter().position(|&waiting| waiting == conn);
        place.is_some_and(|place| self.waiting.remove(place).is_some())
    }
}
