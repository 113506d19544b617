//! Completions in each slot of an experiment. A separate thread reads them from the published counts, so the hot loop
//! needs no code for slots.

use run::SlotPlan;
use sys::clock;

/// Reads a count at both edges of each slot's measured part and returns the rates per second. A slot that was mostly
/// missed has none (NaN). Ends early when `over` returns true.
pub(crate) fn rates(plan: &SlotPlan, origin_ns: u64, count: impl Fn() -> u64, over: impl Fn() -> bool) -> Vec<f64> {
    let mut rates = Vec::with_capacity(plan.count as usize);
    let look = |at_ns: u64| {
        clock::sleep_until_ns(origin_ns + at_ns);
        (clock::monotonic_ns(), count())
    };
    for slot in 0..plan.count {
        if over() {
            break;
        }
        let (begin, end) = plan.measured_ns(slot);
        let (before, after) = (look(begin), look(end));
        let lasted_ns = after.0.saturating_sub(before.0);
        let rate = after.1.saturating_sub(before.1) as f64 / (lasted_ns as f64 / 1e9);
        rates.push(if lasted_ns >= (end - begin) / 2 { rate } else { f64::NAN });
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_count_has_the_same_rate_in_every_slot() {
        let plan = SlotPlan { first_s: 0.0, slot_s: 0.02, settle_s: 0.005, count: 5 };
        let origin = clock::monotonic_ns();
        let count = || clock::monotonic_ns().saturating_sub(origin) / 1000;
        let found = rates(&plan, origin, count, || false);
        assert_eq!(found.len(), 5);
        let seen = || found.iter().filter(|r| r.is_finite());
        assert!(seen().all(|r| (r / 1e6 - 1.0).abs() < 0.01), "{found:?}");
        assert!(rates(&plan, origin, count, || true).is_empty());
        // All slots are over already.
        let late = rates(&plan, origin.saturating_sub(1_000_000_000), count, || false);
        assert!(late.len() == 5 && late.iter().all(|r| r.is_nan()), "{late:?}");
    }
}
