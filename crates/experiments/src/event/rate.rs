//! Cost of a call by the number of arrivals (pieces of data) per event, which the paper calls the hot rate. The number
//! of arrivals alternates from call to call, on one queue with the same connections. Decoys (connections without
//! declared interest) keep the work between two calls the same. Slow periods of the machine and cold caches therefore
//! affect calls with any number of arrivals equally.

use sys::tsc::Calibration;

use super::bench::{Amount, Timing, serve, timed};
use super::callers::{Caller, Library};
use super::hot::Hot;
use super::stand::{Bench, Contender, on, trial};
use super::values::ARRIVALS;
use lab::{Lab, LabError};

/// Numbers of arrivals per event that are compared.
const ARRIVALS_TRIED: [usize; 4] = [1, 2, 4, 8];
/// Number of connections, which is also the maximum number of events per call. One call can therefore return the events
/// of all connections, and all events of a call have the same number of arrivals.
const EVENTS: usize = 10;
/// Number of calls that warm up the caches and are not counted.
const WARM: usize = 100;
/// Time limit for measuring all numbers in [`ARRIVALS_TRIED`], as a multiple of the time limit for one point of a
/// sweep.
const SECONDS_SHARE: u32 = 6;

/// Returns the planned time of the measurements with one backend, seconds. `calls_s` is the time for the calls of one
/// point of a sweep, and `seconds` is the time limit for one point.
pub(super) fn planned_s(calls_s: f64, seconds: f64) -> f64 {
    (ARRIVALS_TRIED.len() as f64 * calls_s).min(f64::from(SECONDS_SHARE) * seconds)
}

/// Measures the cost of a call by the number of arrivals per event, for every backend that checks events at delivery.
pub(super) fn rate(bench: &Bench, lab: &mut Lab<'_>) -> Result<(), LabError> {
    let amount = Amount { at_most: bench.amount.at_most * SECONDS_SHARE, ..bench.amount };
    for Contender { name, options, .. } in bench.plain() {
        if lab.stopped() {
            return Ok(());
        }
        let found = bench.on_cpu(|bench| {
            let mut hot = Hot::open(EVENTS)?.with_decoys(Hot::open(EVENTS)?, ARRIVALS_TRIED[ARRIVALS_TRIED.len() - 1]);
            let mut library = Library::new(*options, &mut hot, &bench.cold, EVENTS)?;
            Ok(in_turn(&mut library, &mut hot, amount, &bench.clock))
        })?;
        for (arrivals, timing) in ARRIVALS_TRIED.iter().zip(&found) {
            let key = on(name).with(ARRIVALS, u32::try_from(*arrivals).ok());
            lab.keep(trial((&format!("{name} hot rate"), &format!("{arrivals} arrivals an event")), timing, key))?;
        }
    }
    Ok(())
}

/// Times calls, and changes the number of arrivals per event from call to call. Returns one timing for each number in
/// [`ARRIVALS_TRIED`].
fn in_turn(caller: &mut impl Caller, hot: &mut Hot, amount: Amount, clock: &Calibration) -> Vec<Timing> {
    let mut counts: [Vec<u64>; ARRIVALS_TRIED.len()] = Default::default();
    let mut events = [0; ARRIVALS_TRIED.len()];
    let (mut rejected, mut turn, begin) = ([0; ARRIVALS_TRIED.len()], 0, std::time::Instant::now());
    while counts[0].len() < amount.calls && begin.elapsed() < amount.at_most {
        let which = turn % ARRIVALS_TRIED.len();
        turn += 1;
        hot.trigger(ARRIVALS_TRIED[which]);
        let (cost, count) = timed(caller, EVENTS);
        serve(caller, hot, count);
        if turn <= WARM {
            continue;
        }
        if count == 0 {
            rejected[which] += 1;
        } else {
            events[which] += count;
            counts[which].push(cost);
        }
    }
    let of = |((counts, events), rejected)| Timing::of(counts, events, rejected, clock);
    counts.into_iter().zip(events).zip(rejected).map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ::event::{Backend, Options};

    use super::*;

    #[test]
    fn several_arrivals_are_one_event_per_connection() {
        let clock = Calibration::measure();
        let amount = Amount { calls: 40, at_most: Duration::from_secs(20) };
        let mut hot = Hot::open_without_delay(EVENTS).with_decoys(Hot::open_without_delay(EVENTS), 8);
        let mut library = Library::new(Options::new(Backend::Epoll), &mut hot, &[], EVENTS).unwrap();
        let found = in_turn(&mut library, &mut hot, amount, &clock);
        assert_eq!(found.len(), ARRIVALS_TRIED.len());
        for timing in found {
            assert_eq!((timing.returned, timing.rejected), (EVENTS as f64, 0));
            assert!(timing.calls >= 39 && timing.median_us > 0.0, "{timing:?}");
        }
    }
}
