//! high-throughput: many may be connected, but receives are posted only for the first `active` of them. A place is
//! given up when the connection ends, when it finished an exchange while others wait (it goes to the end of the line),
//! or when it was silent for `active_idle_ms`. With `waiting`, a connection that would be one too many in the line is
//! refused: by a busy reply, a close or a reset.

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
        places: options.get("active")?.unwrap_or(100).max(1),
        idle_ms: options.get("active_idle_ms")?.unwrap_or(1000),
        waiting: options.get("waiting")?,
        refuse,
    };
    Ok(Policy { active: Some(active), ..Policy::NONE })
}

/// The line: who has a place and who waits. Tokens are the slab's; an entry of a connection that has gone is skipped by
/// its ticket, which only the same connection has.
#[derive(Debug, Default)]
pub(crate) struct Line {
    taken: u32,
    waiting: VecDeque<(u32, u32)>,
    next_ticket: u32,
}

impl Line {
    /// A new connection: true if it has a place at once. Otherwise [`Line::wait`] for it or refuse it.
    pub(crate) fn enter(&mut self, active: &Active) -> bool {
        let free = self.taken < active.places;
        self.taken += u32::from(free);
        free
    }

    /// Whether one more may wait.
    pub(crate) fn may_wait(&self, active: &Active) -> bool {
        active.waiting.is_none_or(|most| (self.waiting.len() as u32) < most)
    }

    /// Puts a connection at the end; gives its ticket.
    pub(crate) fn wait(&mut self, token: u32) -> u32 {
        self.next_ticket = self.next_ticket.wrapping_add(1).max(1);
        self.waiting.push_back((token, self.next_ticket));
        self.next_ticket
    }

    /// Whether anybody waits.
    pub(crate) fn anybody(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A place became free: the next that still waits takes it. `holds` tells whether a token still has that ticket.
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
    fn places_are_taken_in_the_order_of_arrival() {
        let active = Active { places: 2, idle_ms: 1000, waiting: Some(2), refuse: Refuse::Close };
        let mut line = Line::default();
        assert!(line.enter(&active) && line.enter(&active) && !line.enter(&active));
        let (a, b) = (line.wait(10), line.wait(11));
        assert!(!line.may_wait(&active));
        assert_eq!(line.next(|t, ticket| (t, ticket) == (10, a)), Some(10));
        // 11 has gone, so nobody takes the place.
        assert_eq!(line.next(|t, ticket| (t, ticket) == (11, b + 1)), None);
        assert!(line.enter(&active) && !line.enter(&active));
    }
}
