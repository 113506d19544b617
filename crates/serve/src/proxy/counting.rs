//! Measures the event API calls of a proxy that runs outside an experiment. The measured times become part of the
//! server's counts.

use std::sync::Arc;
use std::time::Duration;

use event::{Event, EventQueue};
use sys::tsc::Calibration;

use super::timing::{after_nothing, timed};
use crate::stats::Cell;

/// Measures the durations of event API calls, and adds the results to the server's counts. A proxy that `loadline
/// serve` starts uses a `CountingClock`.
#[derive(Debug)]
pub(super) struct CountingClock {
    cell: Arc<Cell>,
    clock: Calibration,
    /// Durations of the calls since the last median was computed, in cycles.
    recent: Vec<u64>,
}

/// Number of calls over which each median is computed.
const MEDIAN_OF: usize = 128;

impl CountingClock {
    pub(super) fn new(cell: Arc<Cell>) -> Box<Self> {
        Box::new(Self { cell, clock: Calibration::measure(), recent: Vec::with_capacity(MEDIAN_OF) })
    }

    pub(super) fn next(
        &mut self,
        queue: &mut EventQueue,
        out: &mut [Event],
        timeout: Option<Duration>,
    ) -> event::Result<usize> {
        let (found, counts) = timed(|| queue.get_next_event(out, Some(Duration::ZERO)));
        let found = found?;
        if found == 0 {
            return after_nothing(queue, out, timeout);
        }
        self.cell.calls.add(1);
        self.cell.call_events.add(found as u64);
        self.recent.push(counts);
        if self.recent.len() == MEDIAN_OF {
            let (_, median, _) = self.recent.select_nth_unstable(MEDIAN_OF / 2);
            self.cell.call_median_ns.set(self.clock.ns(*median) as u64);
            self.recent.clear();
        }
        Ok(found)
    }
}
