//! Times at which the events of a body may be sent.

/// Schedule of a streamed answer: the earliest time at which each event may be sent. All events of the answer have the
/// same length.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Time of each event in ascending order, in nanoseconds of the clock `clock`.
    dues_ns: Vec<u64>,
    event_bytes: usize,
    clock: fn() -> u64,
}

impl Pace {
    /// Creates the times of events. Each event has `event_bytes` bytes, and `dues_ns` are the times at which the events
    /// are due.
    pub const fn new(dues_ns: Vec<u64>, event_bytes: usize, clock: fn() -> u64) -> Self {
        Self { dues_ns, event_bytes, clock }
    }

    /// Returns the number of bytes that may be sent after the first `sent` bytes (the rest of the current event).
    /// Returns 0 if the current event is not due yet.
    pub(crate) fn allowed(&self, sent: usize) -> usize {
        match self.due_ns(sent) {
            Some(due_ns) if due_ns > (self.clock)() => 0,
            _ => self.event_bytes - sent % self.event_bytes.max(1),
        }
    }

    /// Returns the time of the event to which byte `sent` belongs; `None` after the last event.
    pub(crate) fn due_ns(&self, sent: usize) -> Option<u64> {
        self.dues_ns.get(sent / self.event_bytes.max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_allowed_as_a_whole_once_it_is_due() {
        let pace = Pace::new(vec![5, 10, 20], 4, || 10);
        assert_eq!([0, 1, 4, 8, 9].map(|sent| pace.allowed(sent)), [4, 3, 4, 0, 0]);
        assert_eq!((pace.due_ns(8), pace.due_ns(12)), (Some(20), None));
    }
}
