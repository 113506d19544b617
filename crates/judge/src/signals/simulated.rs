//! Simulations that calibrate the signal of a full thread: closed queueing networks with a known limit. The number of
//! clients grows as in the sweep of `loadline find`.

use stats::queueing::{Station, closed};

use crate::thresholds::{FLAT, FULL_MIDDLE, FULL_WIDTH};

/// Mean share of the time for which a full thread does not run according to its counters, because of wake-ups,
/// interrupts and the scheduler. Express, HAProxy and Redis at their limit ran 88 to 99 % of the time.
const UNSEEN: f64 = 0.04;
/// Maximum number of clients of a sweep.
const MOST_CLIENTS: u32 = 128;
const DRAWS: u64 = 2000;

/// Random numbers, 0 to 1 (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.next()).ln()
    }

    /// Draws a demand (time per request) between 0.1 and 3 times the demand of the thread.
    fn demand(&mut self) -> f64 {
        (0.1_f64.ln() + self.next() * 30.0_f64.ln()).exp()
    }
}

/// Simulates a sweep of a random network. Returns the share of the time for which the thread runs at the plateau, as
/// its counters would show it. Also returns true if the thread is the limit: throughput changes by more than half as
/// much as the thread's speed (elasticity above 0.5).
fn network(seed: u64) -> (f64, bool) {
    let mut draw = Draw(seed);
    let others = (draw.next() * 4.0) as usize;
    let mut stations: Vec<Station> = (0..others).map(|_| Station::queue(draw.demand())).collect();
    if draw.next() < 0.6 {
        stations.push(Station::delay(draw.demand()));
    }
    let rate = |thread_s: f64, clients: u32| {
        let all: Vec<Station> = stations.iter().copied().chain([Station::queue(thread_s)]).collect();
        closed(&all, clients).throughput
    };
    let mut clients = 1;
    while clients < MOST_CLIENTS && rate(1.0, 2 * clients) > (1.0 + FLAT) * rate(1.0, clients) {
        clients *= 2;
    }
    let (x, slower) = (rate(1.0, 2 * clients), 1.03);
    let elasticity = (x / rate(slower, 2 * clients)).ln() / slower.ln();
    (x * (1.0 - draw.exponential(UNSEEN)).max(0.0), elasticity > 0.5)
}

/// Of the simulated threads with about equal busy shares, only some limit the throughput. The share of threads that are
/// the limit must be close to the probability that the signal states.
#[test]
fn a_thread_is_the_limit_as_often_as_its_busy_share_says() {
    let draws: Vec<(f64, bool)> = (1..=DRAWS).map(|seed| network(seed.wrapping_mul(0x51_7cc1))).collect();
    let mut tried = 0;
    for (low, high) in [(0.0, 0.7), (0.7, 0.8), (0.8, 0.86), (0.86, 0.9), (0.9, 0.94), (0.94, 0.97), (0.97, 1.01)] {
        let band: Vec<&(f64, bool)> = draws.iter().filter(|(ran, _)| (low..high).contains(ran)).collect();
        let n = band.len() as f64;
        let seen = band.iter().filter(|(_, limits)| *limits).count() as f64 / n;
        let says = band.iter().map(|(ran, _)| super::chance((ran - FULL_MIDDLE) / FULL_WIDTH)).sum::<f64>() / n;
        // The tolerance is three standard errors, plus the error of a curve that has only two parameters.
        let allowed = 3.0 * (seen * (1.0 - seen) / n).sqrt() + 0.12;
        assert!((seen - says).abs() <= allowed, "{low} to {high}: {seen} of {n}, and the signal says {says}");
        tried += band.len();
    }
    assert_eq!(tried, draws.len());
}
