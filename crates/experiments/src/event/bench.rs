//! Times single calls of the event API with the CPU's cycle counter.

use std::time::{Duration, Instant};

use sys::tsc::{self, Calibration};

use super::callers::Caller;
use super::hot::Hot;

/// Share of the calls that the trimmed mean leaves out at each end, the fastest and the slowest. The slowest calls
/// include calls that the scheduler interrupted. Most checks use the trimmed mean instead of the median, because the
/// cycle counter's resolution is too low for the median of short calls.
const TRIM: f64 = 0.05;

/// Statistics of the times of many calls, without the time for reading the clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timing {
    pub(super) calls: usize,
    pub(super) mean_us: f64,
    pub(super) median_us: f64,
    pub(super) p99_us: f64,
    /// Mean without the fastest and the slowest 5 % of the calls, microseconds. Most checks use this trimmed mean.
    pub(super) trimmed_us: f64,
    /// Mean number of events per call.
    pub(super) returned: f64,
    /// Number of calls that found no event and would therefore have blocked. The calls that would have blocked are not
    /// part of any other field.
    pub(super) rejected: usize,
    /// Total time per event, microseconds: sending the data, the event's share of the call's time, and reading the
    /// data.
    pub(super) whole_us: f64,
}

impl Timing {
    pub(super) fn of(mut counts: Vec<u64>, events: usize, rejected: usize, clock: &Calibration) -> Self {
        counts.sort_unstable();
        let at = |share: f64| counts.get((counts.len() as f64 * share) as usize).map_or(0.0, |&c| clock.ns(c) / 1e3);
        let mean = |part: &[u64]| part.iter().map(|&c| clock.ns(c)).sum::<f64>() / part.len().max(1) as f64 / 1e3;
        let cut = (counts.len() as f64 * TRIM) as usize;
        Self {
            calls: counts.len(),
            mean_us: mean(&counts),
            median_us: at(0.5),
            p99_us: at(0.99),
            trimmed_us: mean(&counts[cut..counts.len() - cut]),
            returned: events as f64 / counts.len().max(1) as f64,
            rejected,
            whole_us: 0.0,
        }
    }
}

/// Limits of one measurement: the maximum number of timed calls, and the maximum time for all these calls together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) calls: usize,
    pub(super) at_most: Duration,
}

/// Reads the data of the events that the last call returned.
pub(super) fn serve(caller: &mut impl Caller, hot: &mut Hot, count: usize) {
    for at in 0..count {
        let fd = caller.fd(at);
        hot.serve(fd);
        caller.served(fd);
    }
}

#[inline]
pub(super) fn timed(caller: &mut impl Caller, most: usize) -> (u64, usize) {
    let start = tsc::counts();
    let count = caller.call(most);
    (tsc::counts().wrapping_sub(start), count)
}

/// Measures how long the calls of one event interface take. Before each call, every connection without unread data gets
/// `pieces` pieces of data. The pieces of data that a connection gets at the same time cause only one event.
pub(super) fn calls(
    caller: &mut impl Caller,
    hot: &mut Hot,
    most: usize,
    pieces: usize,
    amount: Amount,
    clock: &Calibration,
) -> Timing {
    let warm = Instant::now();
    let mut turn = 0;
    // The first calls are not timed, because they only warm up the caches. If calls are slow, the warm-up ends after a
    // tenth of the time limit.
    while turn < amount.calls / 20 + 3 && (turn < 3 || warm.elapsed() < amount.at_most / 10) {
        turn += 1;
        hot.trigger(pieces);
        let count = caller.call(most);
        serve(caller, hot, count);
    }
    let (mut counts, mut events, mut rejected, begin) = (Vec::with_capacity(amount.calls), 0, 0, Instant::now());
    while counts.len() < amount.calls && rejected <= amount.calls && begin.elapsed() < amount.at_most {
        hot.trigger(pieces);
        let (cost, count) = timed(caller, most);
        serve(caller, hot, count);
        if count == 0 {
            rejected += 1;
        } else {
            events += count;
            counts.push(cost);
        }
    }
    let whole_us = begin.elapsed().as_secs_f64() * 1e6 / events.max(1) as f64;
    Timing { whole_us, ..Timing::of(counts, events, rejected, clock) }
}

/// Times two event interfaces that watch the same connections. Each set of events is fetched through both interfaces,
/// one after the other. The interface that goes first changes after each set of events. The first calls are not
/// counted.
pub(super) fn side_by_side(
    (one, other): (&mut impl Caller, &mut impl Caller),
    hot: &mut Hot,
    most: usize,
    amount: Amount,
    clock: &Calibration,
) -> (Timing, Timing) {
    let (mut counts, mut events, begin) = ([Vec::new(), Vec::new()], [0, 0], Instant::now());
    let mut turn = 0;
    while counts[0].len() < amount.calls && begin.elapsed() < amount.at_most {
        turn += 1;
        hot.trigger(1);
        let (a, b) = if turn % 2 == 0 {
            let a = timed(one, most);
            (a, timed(other, most))
        } else {
            let b = timed(other, most);
            (timed(one, most), b)
        };
        serve(one, hot, a.1);
        serve(other, hot, b.1);
        if turn > 100 {
            for (n, (cost, count)) in [a, b].into_iter().enumerate() {
                counts[n].push(cost);
                events[n] += count;
            }
        }
    }
    let [first, second] = counts;
    (Timing::of(first, events[0], 0, clock), Timing::of(second, events[1], 0, clock))
}

#[cfg(test)]
mod tests {
    use super::super::callers::{Bare, Library};
    use super::super::declares::declares;
    use super::*;
    use event::{BACKENDS, Options};

    #[test]
    fn every_call_of_every_backend_returns_the_ready_connections() {
        let clock = Calibration::measure();
        let amount = Amount { calls: 50, at_most: Duration::from_secs(60) };
        for row in BACKENDS {
            let mut hot = Hot::open_without_delay(8);
            let Ok(mut library) = Library::new(Options::new(row.backend), &mut hot, &[], 16) else {
                testkit::skip("every_call_of_every_backend_returns_the_ready_connections", format!("no {}", row.name));
                continue;
            };
            let three = calls(&mut library, &mut hot, 3, 1, amount, &clock);
            assert_eq!((three.calls, three.returned, three.rejected), (50, 3.0, 0), "{}", row.name);
            let all = calls(&mut library, &mut hot, 16, 2, amount, &clock);
            assert_eq!((all.returned, all.rejected), (8.0, 0), "{}", row.name);
            assert!(all.mean_us > 0.0 && all.p99_us >= all.median_us);
            let declared = declares(&mut library, &mut hot, amount, &clock).unwrap();
            assert!(declared.declare.median_us > 0.0 && declared.declare.calls > 0, "{}", row.name);
        }
        let mut hot = Hot::open_without_delay(8);
        let mut bare = Bare::new(&mut hot, &[]).unwrap();
        assert_eq!(calls(&mut bare, &mut hot, 3, 1, amount, &clock).returned, 3.0);
        hot.quiet();
        let mut library = Library::new(Options::new(BACKENDS[0].backend), &mut hot, &[], 3).unwrap();
        let (one, other) = side_by_side((&mut bare, &mut library), &mut hot, 3, amount, &clock);
        assert_eq!((one.calls, one.returned, other.calls, other.returned), (50, 3.0, 50, 3.0));
    }
}
