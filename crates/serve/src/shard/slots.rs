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
    /// Ticket of the connection with each token; 0 if this connection does not wait.
    tickets: Vec<u32>,
}

impl Slots {
    pub(super) fn new(active: Option<Active>) -> Self {
        Self { active, line: WaitingLine::default(), tickets: Vec::new() }
    }

    /// Admits a new connection. Returns true if the connection must wait for a worker slot. An error says how the
    /// connection must be refused.
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
            // The ticket is also removed if the connection was waiting. If the ticket of the ended connection remained,
            // the connection's entry in the queue would later get a worker slot.
            self.set_ticket(token, 0);
        }
        self.active.is_some() && !activity.parked
    }

    /// Returns the connection that gets the free worker slot, if one waits.
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
