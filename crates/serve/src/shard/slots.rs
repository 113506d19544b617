//! Active slots of strategy high-throughput in one thread. A ticket distinguishes an entry of the waiting line from an
//! earlier one with the same token.

use crate::connection::Activity;
use crate::strategies::high_throughput::WaitingLine;
use crate::strategies::{Active, Refuse};

/// Active slots of a thread. Without this strategy, every connection is active.
pub(super) struct Slots {
    active: Option<Active>,
    line: WaitingLine,
    /// Ticket of each token; 0 if the connection does not wait.
    tickets: Vec<u32>,
}

impl Slots {
    pub(super) fn new(active: Option<Active>) -> Self {
        Self { active, line: WaitingLine::default(), tickets: Vec::new() }
    }

    /// Admits a new connection. Returns true if the connection must wait. The error says how to refuse the connection.
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

    /// Records the end of a connection. Returns true if a slot is now free.
    pub(super) fn leave(&mut self, token: u32, activity: &Activity) -> bool {
        if self.active.is_some() {
            // This is also needed if the connection was waiting: otherwise, its entry in the line would later take a
            // slot.
            self.set_ticket(token, 0);
        }
        self.active.is_some() && !activity.parked
    }

    /// Returns the connection that takes the freed slot.
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
