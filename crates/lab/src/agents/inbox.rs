//! Queue of events that agents sent and nobody has handled yet. The size of the queue is limited: when it is full,
//! further data stays in the agent's pipe.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Maximum number of queued bytes. An empty queue takes one event of any size.
const MAX_BYTES: usize = 32 << 20;
/// Bytes added to the size of each line, so that short lines are limited in number, too.
const LINE_OVERHEAD_BYTES: usize = 128;

/// One event from an agent's pipes.
#[derive(Debug)]
pub(super) enum PipeEvent {
    /// A line and its arrival time on the monotonic clock, nanoseconds.
    Line { text: String, at_ns: u64 },
    /// The agent will send nothing more; the text gives the reason.
    Gone(String),
}

impl PipeEvent {
    fn bytes(&self) -> usize {
        let (Self::Line { text, .. } | Self::Gone(text)) = self;
        text.len() + LINE_OVERHEAD_BYTES
    }

    /// Returns true for progress reports and heartbeats. A newer event of the same kind makes a progress report or a
    /// heartbeat obsolete.
    fn is_replaceable(&self) -> bool {
        matches!(self, Self::Line { text, .. } if text.starts_with(r#"{"is":"tick""#) || text.starts_with(r#"{"is":"heartbeat""#))
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(usize, PipeEvent)>,
    bytes: usize,
}

/// Queue of events with a maximum size.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event of an agent to the queue. If the queue is full, drops progress reports and heartbeats, and returns
    /// any other event to the caller.
    pub(super) fn put(&self, number: usize, event: PipeEvent) -> Result<(), PipeEvent> {
        let mut queue = self.lock();
        let full = !queue.waiting.is_empty() && queue.bytes + event.bytes() > MAX_BYTES;
        match full {
            true if event.is_replaceable() => Ok(()),
            true => Err(event),
            false => {
                queue.bytes += event.bytes();
                queue.waiting.push_back((number, event));
                self.changed.notify_all();
                Ok(())
            }
        }
    }

    /// Returns the next event, or `None` if none comes before `until`.
    pub(super) fn next(&self, until: Instant) -> Option<(usize, PipeEvent)> {
        let mut queue = self.lock();
        loop {
            if let Some((number, event)) = queue.waiting.pop_front() {
                queue.bytes -= event.bytes();
                return Some((number, event));
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
        let inbox = Inbox::default();
        let line = |text: &str| PipeEvent::Line { text: text.into(), at_ns: 0 };
        let whole = "x".repeat(MAX_BYTES);
        assert!(inbox.put(0, line(&whole)).is_ok(), "one line of any length that was read fits");
        assert!(inbox.put(1, line(r#"{"is":"tick"}"#)).is_ok());
        assert!(
            matches!(inbox.put(1, line(r#"{"is":"part"}"#)), Err(PipeEvent::Line { text, .. }) if text.contains("part"))
        );
        let now = Instant::now();
        assert!(matches!(inbox.next(now), Some((0, PipeEvent::Line { text, .. })) if text.len() == MAX_BYTES));
        assert!(inbox.next(now).is_none(), "the tick was dropped");
        assert!(inbox.put(1, PipeEvent::Gone("x".into())).is_ok() && inbox.next(now).is_some());
    }
}
