//! Counts of the streams of events in a measured window.

use serde::{Deserialize, Serialize};

/// Counts of the streams of events in a measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamCounts {
    /// Number of events that arrived.
    pub events: u64,
    /// Number of streams with a gap that was longer than allowed.
    pub stalled: u64,
    /// Number of streams that began and ended early. A broken stream ended with its connection, by the timeout, or
    /// without the event that ends a stream.
    pub broken: u64,
}

impl StreamCounts {
    /// Adds the stream counts of another generator to these counts.
    pub fn merge(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.stalled = self.stalled.saturating_add(other.stalled);
        self.broken = self.broken.saturating_add(other.broken);
    }
}
