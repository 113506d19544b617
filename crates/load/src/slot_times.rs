//! Response times of an open loop, for each slot (short period of an experiment) in which requests were due. A request
//! that is due while the experiment slows a resource is affected by the slowdown, no matter when its answer arrives.
//! All memory is allocated before the load begins.

use run::{SlotHist, SlotPlan};

/// Counts of one shard (generator thread).
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotTimes {
    plan: SlotPlan,
    /// Counts for each bucket of the first slot (short period), then of the second slot, and so on.
    counts: Box<[u32]>,
}

impl SlotTimes {
    /// Creates the counts of response times for each slot (short period). Without slots in the load plan, nothing is
    /// counted.
    pub(crate) fn new(plan: Option<SlotPlan>) -> Self {
        let slots = plan.map_or(0, |plan| plan.count as usize);
        Self { plan: plan.unwrap_or_default(), counts: vec![0; slots * SlotHist::BUCKETS].into() }
    }

    /// Counts a request that was due `due_ns` after the start of the load, and took `took_ns`.
    #[inline]
    pub(crate) fn count(&mut self, due_ns: u64, took_ns: u64) {
        if self.counts.is_empty() {
            return;
        }
        let Some(slot) = self.plan.slot_at(due_ns) else { return };
        let at = slot as usize * SlotHist::BUCKETS + SlotHist::bucket(took_ns);
        self.counts.get_mut(at).into_iter().for_each(|n| *n = n.saturating_add(1));
    }

    /// Counts a failed request that was due `due_ns` after the start of the load. The request counts in the last
    /// bucket, which has no upper end.
    pub(crate) fn count_unanswered(&mut self, due_ns: u64) {
        self.count(due_ns, u64::MAX);
    }

    /// Returns a histogram for each slot (short period).
    pub(crate) fn hists(&self) -> Vec<SlotHist> {
        self.counts.chunks(SlotHist::BUCKETS).map(|slot| SlotHist::of(slot.iter().map(|n| u64::from(*n)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_where_it_was_due_and_not_where_it_ended() {
        let plan = SlotPlan { first_s: 0.1, slot_s: 0.2, settle_s: 0.05, count: 2 };
        let mut times = SlotTimes::new(Some(plan));
        for (due_ms, took_ms) in [(50, 1), (120, 1), (160, 500), (290, 2), (360, 3), (600, 1)] {
            times.count(due_ms * 1_000_000, took_ms * 1_000_000);
        }
        let found = times.hists();
        assert_eq!(found.iter().map(SlotHist::len).collect::<Vec<_>>(), [2, 1]);
        assert!(found[0].quantile_us(1.0).is_some_and(|us| (us / 500_000.0 - 1.0).abs() < 0.02), "{found:?}");
        let mut none = SlotTimes::new(None);
        none.count(1, 1);
        assert!(none.hists().is_empty());
    }
}
