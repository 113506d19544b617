//! Worker slots of one thread, for the strategy `high-throughput`. A connection that waits for a worker slot has an
//! entry with a ticket in the queue. The ticket distinguishes a connection's entry from an earlier entry with the same
//! token.

use crate::connection::Activity;
use crate::strategies::high_throughput::WaitingLine;
use crate::strategies::{Active, Refuse};

/// Worker slots of a thread. Without the strategy `high-throughput`, there are no slots, and every connection is
/// served.
pub(super) struct Slots {
    active: Option<Active>,
    line: WaitingLine,
    /// Tickets of the waiting connections, indexed by token; 0 for a connection that does not wait.
    tickets: Vec<u32>,
}

impl Slots {
    pub(super) fn new(active: Option<Active>) -> Self {
        Self { active, line: WaitingLine::default(), tickets: Vec::new() }
    }

    /// Decides whether the server serves a new connection. Returns `Ok(false)` if the connection is served at once, and
    /// `Ok(true)` if it must wait for a free worker slot. If the server must refuse the connection, the error states
    /// how: with a "busy" answer, by closing it, or by resetting it.
    pub(super) fn admit(&mut self) -> Result<bool, Refuse> {
        let Some(active) = &self.active else { return Ok(false) };
        match self.line.enter(active) {
            true => Ok(false),
            false if self.line.may_wait(active) => Ok(true),
            false => Err(active.refuse),
        }
    }

    pub(super) fn wait(&mut self, token: u32) {
        let ticket = self.line.wait(token);
        self.set_ticket(token, ticket);
    }

    /// Records the end of a connection. Returns true if a worker slot is now free.
    pub(super) fn leave(&mut self, token: u32, activity: &Activity) -> bool {
        if self.active.is_some() {
            // The ticket is also removed if the connection was waiting. If the ticket stayed, the queue's entry for the
            // ended connection would later get a worker slot.
            self.set_ticket(token, 0);
        }
        self.active.is_some() && !activity.parked
    }

    /// Returns the token of the connection that gets the free worker slot; `None` if no connection waits for a slot.
    pub(super) fn next(&mut self) -> Option<u32> {
        let tickets = &self.tickets;
        let token = self.line.next(|token, ticket| tickets.get(token as usize) == Some(&ticket))?;
        self.set_ticket(token, 0);
        Some(token)
    }

    pub(super) fn any_waits(&self) -> bool {
        self.active.is_some() && !self.line.is_empty()
    }

    fn set_ticket(&mut self, token: u32, ticket: u32) {
        let at = token as usize;
        if self.tickets.len() <= at {
            self.tickets.resize(at + 1, 0);
        }
        self.tickets[at] = ticket;
    }
}
