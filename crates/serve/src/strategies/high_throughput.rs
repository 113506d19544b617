//! Strategy `high-throughput`: many connections may be open, but each thread serves only `active` of them at a time. A
//! served connection has a worker slot. Connections without a worker slot wait in a queue.
//!
//! A connection gives up its worker slot when it ends. If other connections wait, a connection also gives up its worker
//! slot after an exchange, or after `active_idle_ms` without data. A connection that has given up its worker slot but
//! has not ended goes to the end of the queue. The option `waiting` limits the length of the queue. If the queue is
//! full, further connections are refused by a busy reply, a close or a reset.

use std::collections::VecDeque;

use super::policy::{Active, Policy, Refuse};
use crate::{Options, ServeError};

pub(super) fn policy(options: &Options<'_>) -> Result<Policy, ServeError> {
    let refuse = match options.get::<String>("refuse")?.as_deref() {
        None | Some("busy") => Refuse::Busy,
        Some("close") => Refuse::Close,
        Some("reset") => Refuse::Reset,
        Some(other) => {
            let wants = "busy, close or reset";
            return Err(ServeError::BadOption { name: "refuse", value: other.into(), wants });
        }
    };
    let active = Active {
        slots: options.get("active")?.unwrap_or(100).max(1),
        idle_ms: options.get("active_idle_ms")?.unwrap_or(1000),
        waiting: options.get("waiting")?,
        refuse,
    };
    Ok(Policy { active: Some(active), ..Policy::NONE })
}

/// Queue of connections that wait for worker slots. Each entry has a ticket, which shows whether the entry belongs to a
/// closed connection.
#[derive(Debug, Default)]
pub(crate) struct WaitingLine {
    taken: u32,
    waiting: VecDeque<(u32, u32)>,
    next_ticket: u32,
}

impl WaitingLine {
    /// Takes a worker slot for a new connection. Returns false if no worker slot is free. If the result is false, the
    /// caller calls [`WaitingLine::wait`] or refuses the connection.
    pub(crate) fn enter(&mut self, active: &Active) -> bool {
        let free = self.taken < active.slots;
        self.taken += u32::from(free);
        free
    }

    /// Returns true if one more connection may wait.
    pub(crate) fn may_wait(&self, active: &Active) -> bool {
        active.waiting.is_none_or(|most| (self.waiting.len() as u32) < most)
    }

    /// Puts a connection at the end of the queue and returns its ticket.
    pub(crate) fn wait(&mut self, token: u32) -> u32 {
        self.next_ticket = self.next_ticket.wrapping_add(1).max(1);
        self.waiting.push_back((token, self.next_ticket));
        self.next_ticket
    }

    /// Returns true if no connection waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives a free worker slot to the next connection that still waits, and returns this connection. `holds` returns
    /// true if the entry with a given token and ticket is still valid.
    pub(crate) fn next(&mut self, mut holds: impl FnMut(u32, u32) -> bool) -> Option<u32> {
        while let Some((token, ticket)) = self.waiting.pop_front() {
            if holds(token, ticket) {
                return Some(token);
            }
        }
        self.taken = self.taken.saturating_sub(1);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_in_the_order_of_arrival() {
        let active = Active { slots: 2, idle_ms: 1000, waiting: Some(2), refuse: Refuse::Close };
        let mut line = WaitingLine::default();
        assert!(line.enter(&active) && line.enter(&active) && !line.enter(&active));
        let (a, b) = (line.wait(10), line.wait(11));
        assert!(!line.may_wait(&active));
        assert_eq!(line.next(|t, ticket| (t, ticket) == (10, a)), Some(10));
        // Connection 11 was closed, so no connection gets the worker slot.
        assert_eq!(line.next(|t, ticket| (t, ticket) == (11, b + 1)), None);
        assert!(line.enter(&active) && !line.enter(&active));
    }
}
