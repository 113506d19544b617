//! Rates of completed requests in each slot (short period) of an experiment. A separate thread reads the published
//! counts, so the main loop needs no code for slots (short periods).
//!
//! If few requests complete in a slot (short period), their number is too coarse to compute an exact rate. At five
//! requests per second, for example, a slot (short period) of half a second has 2 or 3 completed requests. For slots
//! (short periods) with few requests, fractions of requests are counted. The work on a request is assumed to be evenly
//! spread over the time since the previous request completed. A slot (short period) gets the part of each request's
//! work that falls within the slot.

use run::SlotPlan;
use sys::clock;

/// Maximum number of completed requests in a slot (short period) at which fractions of requests are still counted. If
/// more requests complete in the slot (short period), one request more or less changes the rate by less than 2 %.
const MAX_FRACTIONAL: u64 = 50;
/// Minimum length of the measured part of a slot (short period) for which the times of completed requests are recorded,
/// nanoseconds. Shorter slots are used only if the server completes many requests, so that whole numbers are accurate
/// enough.
const MIN_TIMED_NS: u64 = 100_000_000;
/// Interval between two reads of the count while times are recorded, nanoseconds. The interval is a hundredth of the
/// shortest slot (short period) with recorded times.
const LOOK_INTERVAL_NS: u64 = 1_000_000;
/// Maximum time to sleep between two checks whether the load has ended, nanoseconds. A load that the user ends early
/// therefore stops within 50 ms, even in the middle of a long slot (period).
const CHECK_INTERVAL_NS: u64 = 50_000_000;
/// Maximum gap between completed requests that count as one group, as a share of the mean gap. Workers that run
/// synchronously complete several requests at nearly the same time, and then none for a while.
const TOGETHER: f64 = 0.25;

/// Number of completed requests, as read at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Completions {
    at_ns: u64,
    count: u64,
}

/// Measured part of a slot: the counts of completed requests at its start and its end. `was_seen` is false if the
/// thread woke up so late that it missed most of the slot (short period).
struct SeenSlot {
    begin: Completions,
    end: Completions,
    was_seen: bool,
}

/// Returns the rate in each slot (short period), requests per second. The rate is NaN if this thread missed most of the
/// slot. Returns early when `over` returns true.
pub(crate) fn rates(plan: &SlotPlan, origin_ns: u64, count: impl Fn() -> u64, over: impl Fn() -> bool) -> Vec<f64> {
    let mut watch = Watch { origin_ns, count, over, seen: Vec::new() };
    let mut slots = Vec::with_capacity(plan.count as usize);
    for slot in 0..plan.count {
        let (begin_ns, end_ns) = plan.measured_ns(slot);
        let timed = end_ns - begin_ns >= MIN_TIMED_NS;
        let begin = watch.look(begin_ns, timed);
        let end = watch.look(end_ns, timed);
        let (Some(begin), Some(end)) = (begin, end) else { break };
        let was_seen = end.at_ns.saturating_sub(begin.at_ns) >= (end_ns - begin_ns) / 2;
        slots.push(SeenSlot { begin, end, was_seen });
    }
    let groups = groups(&watch.seen);
    slots.iter().map(|slot| if slot.was_seen { slot.rate(&groups) } else { f64::NAN }).collect()
}

impl SeenSlot {
    fn rate(&self, groups: &[Completions]) -> f64 {
        let completed = self.end.count.saturating_sub(self.begin.count);
        let is_fractional = !groups.is_empty() && completed <= MAX_FRACTIONAL;
        let work = if is_fractional { work(groups, self.begin.at_ns, self.end.at_ns) } else { completed as f64 };
        work / (self.end.at_ns.saturating_sub(self.begin.at_ns) as f64 / 1e9)
    }
}

/// Observer of the number of completed requests.
struct Watch<F, O> {
    origin_ns: u64,
    count: F,
    /// Function that returns true once the load has ended.
    over: O,
    /// Recorded changes of the count of completed requests, in the order of time. The list is empty if the measured
    /// part of a slot is shorter than [`MIN_TIMED_NS`].
    seen: Vec<Completions>,
}

impl<F: Fn() -> u64, O: Fn() -> bool> Watch<F, O> {
    /// Waits until `at_ns` after the start of the load, and returns the count at that time. If `timed` is true, also
    /// records each change of the count until `at_ns`. Returns `None` if the load ends before `at_ns`.
    fn look(&mut self, at_ns: u64, timed: bool) -> Option<Completions> {
        let until_ns = self.origin_ns + at_ns;
        let interval_ns = if timed { LOOK_INTERVAL_NS } else { CHECK_INTERVAL_NS };
        let mut now = self.now();
        while !(self.over)() {
            if now.at_ns >= until_ns {
                return Some(now);
            }
            clock::sleep_until_ns(until_ns.min(now.at_ns + interval_ns));
            now = self.now();
            if timed && self.seen.last().is_none_or(|last| last.count < now.count) {
                self.seen.push(now);
            }
        }
        None
    }

    fn now(&self) -> Completions {
        Completions { at_ns: clock::monotonic_ns(), count: (self.count)() }
    }
}

/// Merges requests that completed shortly after each other into groups.
fn groups(seen: &[Completions]) -> Vec<Completions> {
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return Vec::new() };
    let completed = last.count.saturating_sub(first.count).max(1);
    let mean_ns = last.at_ns.saturating_sub(first.at_ns) as f64 / completed as f64;
    let mut groups = vec![*first];
    for next in &seen[1..] {
        match groups.last_mut() {
            Some(group) if is_together(group, next, mean_ns) => *group = *next,
            _ => groups.push(*next),
        }
    }
    groups
}

fn is_together(group: &Completions, next: &Completions, mean_ns: f64) -> bool {
    (next.at_ns.saturating_sub(group.at_ns) as f64) < TOGETHER * mean_ns
}

/// Returns the number of requests completed between two times, with fractions. The requests of each group of
/// completions are spread evenly over the time since the previous group. After the last group of completions, requests
/// are assumed to complete at the rate of this group.
fn work(groups: &[Completions], begin_ns: u64, end_ns: u64) -> f64 {
    let overlap = |from_ns: u64, to_ns: u64| to_ns.min(end_ns).saturating_sub(from_ns.max(begin_ns)) as f64;
    let of_pair = |pair: &[Completions]| {
        let (count, length_ns) = (pair[1].count - pair[0].count, pair[1].at_ns - pair[0].at_ns);
        count as f64 * overlap(pair[0].at_ns, pair[1].at_ns) / length_ns.max(1) as f64
    };
    let done: f64 = groups.windows(2).map(of_pair).sum();
    let unfinished = groups.last_chunk::<2>().map_or(0.0, |[before, last]| {
        let (count, length_ns) = (last.count - before.count, last.at_ns - before.at_ns);
        count as f64 * (overlap(last.at_ns, last.at_ns + length_ns) / length_ns.max(1) as f64)
    });
    done + unfinished
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
        // In the following call, the origin is so early that all slots (short periods) are in the past.
        let late = rates(&plan, origin.saturating_sub(1_000_000_000), count, || false);
        assert!(late.len() == 5 && late.iter().all(|r| r.is_nan()), "{late:?}");
    }

    /// Simulates `workers` workers that need `took_ms` per request. Each worker completes its request `apart_ms` after
    /// the previous worker's.
    fn completed(workers: u64, took_ms: u64, apart_ms: u64) -> Vec<Completions> {
        let one =
            |i: u64| Completions { at_ns: (i / workers * took_ms + i % workers * apart_ms) * 1_000_000, count: i + 1 };
        (0..100).map(one).collect()
    }

    #[test]
    fn a_slot_with_few_completions_has_fractions_of_requests() {
        for (workers, took_ms, apart_ms) in [(1, 200, 0), (2, 400, 200), (2, 400, 3), (5, 1000, 1)] {
            let groups = groups(&completed(workers, took_ms, apart_ms));
            for begin_ms in (2000..4000).step_by(130) {
                let work = work(&groups, begin_ms * 1_000_000, (begin_ms + 700) * 1_000_000);
                assert!((work / 3.5 - 1.0).abs() < 0.02, "{workers} workers from {begin_ms}: {work}");
            }
        }
        assert_eq!((groups(&[]), work(&[], 0, 1)), (vec![], 0.0));
    }

    #[test]
    fn work_goes_on_after_the_last_completion_that_was_seen() {
        let groups = groups(&completed(1, 200, 0)[..11]);
        assert!((work(&groups, 1_900_000_000, 2_100_000_000) - 1.0).abs() < 1e-9);
        assert!((work(&groups, 2_100_000_000, 2_900_000_000) - 0.5).abs() < 1e-9, "one more at most");
    }

    #[test]
    fn slow_completions_are_timed() {
        let plan = SlotPlan { first_s: 0.0, slot_s: 0.15, settle_s: 0.0, count: 4 };
        let whole = |rate: &f64| ((rate * 0.15).round() - rate * 0.15).abs() < 0.02;
        // On a busy machine, all slots (short periods) of an attempt may be missed.
        testkit::eventually(|| {
            let origin = clock::monotonic_ns();
            // A request completes every 40 ms, so 3 or 4 complete in a slot.
            let found = rates(&plan, origin, || clock::monotonic_ns().saturating_sub(origin) / 40_000_000, || false);
            assert_eq!(found.len(), 4);
            found[1..].iter().filter(|r| r.is_finite()).any(|r| !whole(r)).then_some(())
        });
    }
}
