//! Events of responses that are streams. Pieces of several bodies arrive in mixed order, so each request in flight has
//! its own counter.

use run::StreamPlan;

use crate::events::EventCounter;

/// Event counters, indexed by request ID. The table of counters stays small, because new requests get the IDs of ended
/// requests. Counters are never freed.
#[derive(Default)]
pub(crate) struct BodyEvents {
    plan: Option<StreamPlan>,
    counters: Vec<EventCounter>,
}

impl BodyEvents {
    pub(crate) const fn new(plan: Option<StreamPlan>) -> Self {
        Self { plan, counters: Vec::new() }
    }

    /// Reads a piece of a body, and returns the number of events that end in this piece; 0 if responses are no streams.
    /// `ends_frame` is true if the piece is the last one of its frame.
    pub(crate) fn read(&mut self, id: u16, is_first: bool, piece: &[u8], ends_frame: bool) -> u32 {
        self.counter(id, is_first).map_or(0, |counter| counter.read(piece, ends_frame))
    }

    /// Ends a body, as [`EventCounter::end`] does. `is_empty` is true if the body had no bytes.
    pub(crate) fn end(&mut self, id: u16, is_empty: bool) -> (u32, bool) {
        self.counter(id, is_empty).map_or((0, true), EventCounter::end)
    }

    /// Returns the counter of a request; `None` if responses are no streams. If `clears` is true, the counter forgets
    /// what it has read: an earlier body with the same request ID may have been cut off.
    fn counter(&mut self, id: u16, clears: bool) -> Option<&mut EventCounter> {
        let (plan, id) = (self.plan.as_ref()?, usize::from(id));
        if self.counters.len() <= id {
            self.counters.resize_with(id + 1, || EventCounter::new(plan));
        }
        let counter = self.counters.get_mut(id)?;
        if clears {
            counter.clear();
        }
        Some(counter)
    }
}
