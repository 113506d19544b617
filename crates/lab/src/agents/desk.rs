//! Queue of events heard from agents and not handled yet. It is bounded: when it is full, data stays in the agent's
//! pipe.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of queued bytes.
const MOST: usize = 32 << 20;
/// Bytes added to each line's size, so that the number of short lines is bounded too.
const A_LINE: usize = 128;

/// One event from an agent's pipes.
#[derive(Debug)]
pub(super) enum Raw {
    /// A line, and its arrival on the monotonic clock, nanoseconds.
    Line { text: String, at_ns: u64 },
    /// The agent will send nothing more; the text says why.
    Gone(String),
}

impl Raw {
    fn bytes(&self) -> usize {
        let (Self::Line { text, .. } | Self::Gone(text)) = self;
        text.len() + A_LINE
    }

    /// Returns whether the next event of this kind replaces this one.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Line { text, .. } if text.starts_with(r#"{"is":"tick""#) || text.starts_with(r#"{"is":"beat""#))
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(usize, Raw)>,
    bytes: usize,
}

/// Bounded queue of events.
#[derive(Debug, Default)]
pub(super) struct Desk {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an event. Without room, progress events are dropped and any other event is handed back.
    pub(super) fn put(&self, number: usize, raw: Raw) -> Result<(), Raw> {
        let mut queue = self.lock();
        let full = !queue.waiting.is_empty() && queue.bytes + raw.bytes() > MOST;
        match full {
            true if raw.is_passing() => Ok(()),
            true => Err(raw),
            false => {
                queue.bytes += raw.bytes();
                queue.waiting.push_back((number, raw));
                self.changed.notify_all();
                Ok(())
            }
        }
    }

    /// Returns the next event, waiting until `until` at most.
    pub(super) fn next(&self, until: Instant) -> Option<(usize, Raw)> {
        let mut queue = self.lock();
        loop {
            if let Some((number, raw)) = queue.waiting.pop_front() {
                queue.bytes -= raw.bytes();
                return Some((number, raw));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_desk_takes_no_more_and_drops_only_signs_of_progress() {
        let desk = Desk::default();
        let line = |text: &str| Raw::Line { text: text.into(), at_ns: 0 };
        let whole = "x".repeat(MOST);
        assert!(desk.put(0, line(&whole)).is_ok(), "one line of any length that was read fits");
        assert!(desk.put(1, line(r#"{"is":"tick"}"#)).is_ok());
        assert!(matches!(desk.put(1, line(r#"{"is":"part"}"#)), Err(Raw::Line { text, .. }) if text.contains("part")));
        let now = Instant::now();
        assert!(matches!(desk.next(now), Some((0, Raw::Line { text, .. })) if text.len() == MOST));
        assert!(desk.next(now).is_none(), "the tick was dropped");
        assert!(desk.put(1, Raw::Gone("x".into())).is_ok() && desk.next(now).is_some());
    }
}
