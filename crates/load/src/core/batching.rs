//! In a closed loop without think time, the generator collects several answers before it handles them, which saves
//! system calls. A collected answer delays only the next request of its client. While answers are collected, the server
//! works on requests of other clients.

use super::{Core, Mode};
use crate::driver::Batch;

/// Minimum number of requests in flight for which answers are collected. If fewer requests are in flight, each answer
/// is handled when it arrives.
const MIN_IN_FLIGHT_TO_BATCH: u64 = 8;
/// Maximum time for which an answer may wait while further answers are collected, microseconds.
const MAX_BATCH_US: u64 = 200;

impl Core {
    /// Returns the current limits for collecting answers. If each answer is handled when it arrives, the two limits of
    /// the returned [`Batch`] are 0.
    #[inline]
    pub(crate) fn batch(&self) -> Batch {
        self.batch
    }

    /// Computes [`Core::batch`] from the completions since the last call. An answer is delayed by at most a quarter of
    /// the response time (estimated by Little's law), and by at most [`MAX_BATCH_US`].
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
