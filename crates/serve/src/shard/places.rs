//! high-throughput's places, as a thread hands them out: the line, and the ticket by which an entry of a connection that
//! has gone is told from its successor's.

use crate::connection::Activity;
use crate::strategies::high_throughput::Line;
use crate::strategies::{Active, Refuse};

/// Places of a thread; without the strategy everybody has one.
pub(super) struct Places {
    active: Option<Active>,
    line: Line,
    /// By token; 0: does not wait.
    tickets: Vec<u32>,
}

impl Places {
    pub(super) fn new(active: Option<Active>) -> Self {
        Self { active, line: Line::default(), tickets: Vec::new() }
    }

    /// A new connection: does it wait? An error: it is refused, and how.
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

    /// A connection has gone; true: it leaves a place.
    pub(super) fn leave(&mut self, token: u32, activity: &Activity) -> bool {
        if self.active.is_some() {
            // Also of one that waited: its entry in the line would give the place to nobody.
            self.set_ticket(token, 0);
        }
        self.active.is_some() && !activity.parked
    }

    /// Who takes the free place.
    pub(super) fn next(&mut self) -> Option<u32> {
        let tickets = &self.tickets;
        let token = self.line.next(|token, ticket| tickets.get(token as usize) == Some(&ticket))?;
        self.set_ticket(token, 0);
        Some(token)
    }

    pub(super) fn anybody_waits(&self) -> bool {
        self.active.is_some() && self.line.anybody()
    }

    fn set_ticket(&mut self, token: u32, ticket: u32) {
        let at = token as usize;
        if self.tickets.len() <= at {
            self.tickets.resize(at + 1, 0);
        }
        self.tickets[at] = ticket;
    }
}
