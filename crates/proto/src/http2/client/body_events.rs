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
        let Some(plan) = &self.plan else { return 0 };
        let id = usize::from(id);
        if self.counters.len() <= id {
            self.counters.resize_with(id + 1, || EventCounter::new(plan));
        }
        if is_first {
            self.counters[id].clear();
        }
        self.counters[id].read(piece, ends_frame)
    }

    /// Ends a body, as [`EventCounter::end`] does.
    pub(crate) fn end(&mut self, id: u16) -> (u32, bool) {
        self.counters.get_mut(usize::from(id)).map_or((0, true), EventCounter::end)
    }
}
