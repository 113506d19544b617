//! Connections whose end the server announced (`Connection: close`, GOAWAY). The server usually closes them at once, so
//! that TIME_WAIT stays there. Such a connection waits for the FIN on a number of its own, while its client already
//! connects on another number. No client ever waits for a FIN.
//!
//! Some servers leave the close to the client and hold a worker until it comes. The first FIN that does not come in time
//! tells: from then on the client closes first, and tries about once a second whether the server closes again.

use std::collections::VecDeque;

use super::{Core, Mode, State};
use crate::driver::Ops;

/// Maximum wait for a FIN of a server that closed before. A server thread that lost its CPU between its answer and its
/// close needs tens of milliseconds.
const KNOWN_WAIT_NS: u64 = 100_000_000;
/// Maximum wait for a FIN of a server that never closed or left the last close to the client. On an idle machine the FIN
/// follows its answer within 0.1 ms.
const TRIAL_WAIT_NS: u64 = 10_000_000;
/// Interval at which a client that closes first waits for one FIN. With [`TRIAL_WAIT_NS`] it holds one worker of the
/// server for 1 % of the time.
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
enum Closer {
    /// Not known yet.
    Unknown,
    Server,
    /// The client, except for one trial from this time on.
    Client {
        trial_ns: u64,
    },
}

/// Connections that wait for the FIN that their server announced, oldest first.
pub(super) struct Closing {
    waiting: VecDeque<u32>,
    max: usize,
    closer: Closer,
}

impl Closing {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(max), max, closer: Closer::Unknown }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns how long the next connection may wait for its FIN; `None` if the client closes at once.
    fn patience_ns(&mut self, now: u64) -> Option<u64> {
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
    fn remove(&mut self, conn: u32) -> bool {
        let place = self.waiting.iter().position(|&waiting| waiting == conn);
        place.is_some_and(|place| self.waiting.remove(place).is_some())
    }
}

impl Core {
    /// Ends a connection whose end the server announced, and continues at once on another.
    pub(super) fn end_announced<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        let (now, due_ns) = (ops.now(), self.think_end(conn));
        let Some(wait_ns) = self.closing.patience_ns(now) else {
            self.close_first(ops, conn);
            return self.ended_thinking(ops, conn, due_ns);
        };
        if self.closing.len() >= self.closing.max
            && let Some(number) = self.close_oldest(ops)
        {
            self.give_back(ops, number);
        }
        self.open -= 1;
        self.conns[conn as usize].state = State::Closing;
        self.closing.waiting.push_back(conn);
        self.arm(conn, now.saturating_add(wait_ns));
        self.continue_elsewhere(ops, due_ns);
    }

    fn continue_elsewhere<O: Ops>(&mut self, ops: &mut O, due_ns: Option<u64>) {
        match &self.mode {
            _ if self.draining && self.requeued.is_empty() || self.task.blocks.is_some() => {}
            Mode::Closed { .. } => {
                if let Some(next) = self.take_number(ops) {
                    self.conns[next as usize].failures = 0;
                    self.closed_replace(ops, next, due_ns);
                }
            }
            Mode::Open(_) => self.grow_or_join(ops),
            Mode::SClients(_) | Mode::Handling => {}
        }
    }

    /// Returns a free connection number. If there is none, the oldest connection that waits for its FIN is closed.
    pub(super) fn take_number<O: Ops>(&mut self, ops: &mut O) -> Option<u32> {
        self.free.pop().or_else(|| self.close_oldest(ops))
    }

    fn close_oldest<O: Ops>(&mut self, ops: &mut O) -> Option<u32> {
        let conn = self.closing.waiting.pop_front()?;
        self.close_first(ops, conn);
        self.release(ops, conn);
        Some(conn)
    }

    /// Sends the last bytes of a connection that the client closes before the server does.
    fn close_first<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.record.counts.closes_left_to_client += 1;
        self.sessions.session(conn as usize).leave();
        self.farewell(ops, conn);
    }

    /// Handles the FIN, or a reset, of a connection that waits for it.
    pub(super) fn closed_as_announced<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.farewell(ops, conn);
        if !self.closing.remove(conn) {
            return self.ended(ops, conn);
        }
        self.closing.closer = Closer::Server;
        self.release(ops, conn);
        self.give_back(ops, conn);
    }

    /// Handles the end of the wait for a FIN.
    pub(super) fn close_left_to_client<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        if !self.closing.remove(conn) {
            return self.ended(ops, conn);
        }
        self.closing.closer = Closer::Client { trial_ns: ops.now() + TRIAL_INTERVAL_NS };
        self.close_first(ops, conn);
        self.release(ops, conn);
        self.give_back(ops, conn);
    }

    fn release<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        ops.close(conn);
        let c = &mut self.conns[conn as usize];
        (c.state, c.deadline_ns) = (State::Free, u64::MAX);
    }

    /// Makes a number free. The driver gives numbers to the connections of a handling process.
    fn give_back<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match &self.mode {
            Mode::Handling => {}
            Mode::SClients(_) => self.sclients_freed(ops, conn),
            Mode::Closed { .. } | Mode::Open(_) => self.free.push(conn),
        }
    }
}
