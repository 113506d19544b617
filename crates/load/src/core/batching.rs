//! Collecting several answers before they are handled, in a closed loop without pauses. A delayed answer delays only
//! the next request of its client; meanwhile, the server works on requests of other clients.

use super::{Core, Mode};
use crate::driver::Batch;

/// Minimum number of requests in flight for collecting answers. With fewer requests, every answer is handled when it
/// arrives.
const MIN_IN_FLIGHT_TO_BATCH: u64 = 8;
/// Maximum time by which collecting may delay a response, microseconds.
const MAX_BATCH_US: u64 = 200;

impl Core {
    /// Returns the limits for collecting answers. Only a closed loop without pauses collects answers.
    #[inline]
    pub(crate) fn batch(&self) -> Batch {
        self.batch
    }

    /// Computes [`Core::batch`] again, from the completions since the last call. The delay is at most a quarter of the
    /// response time (by Little's law) and at most [`MAX_BATCH_US`].
    pub(crate) fn retune(&mut self, now: u64) {
        let completed = self.record.counts.completed;
        let (since, answers) = (now.saturating_sub(self.tuned.0), completed - self.tuned.1);
        self.tuned = (now, completed);
        let response_us = since * self.in_flight / (answers.max(1) * 1000);
        self.batch = match &self.mode {
            Mode::Closed { think } if think.is_none() && self.in_flight >= MIN_IN_FLIGHT_TO_BATCH && answers > 0 => {
                Batch { want: (self.in_flight / 2) as u32, within_us: (response_us / 4).min(MAX_BATCH_US) as u32 }
            }
            _ => Batch::default(),
        };
    }
}
