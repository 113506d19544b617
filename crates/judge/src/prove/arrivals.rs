//! Test double: a simulated open queueing network whose parts can be slowed by levers. A lever is a temporary change
//! that an experiment makes, such as slowing a CPU. Times between arrivals and service times are exponential, so the
//! exact results are known.

use run::{LeverSlots, ProofMetric, ProofTrial, SlotHist};

use super::response::RATE;
use super::response::blocks::block;

/// Queues (stations) in a row, followed by a constant delay. Each station has one server, and one lever that slows it.
/// On average, one request arrives per second, so the demand of a station in seconds equals its utilization.
#[derive(Clone, Debug)]
pub(super) struct OpenNetwork {
    pub(super) demands: Vec<f64>,
    pub(super) delay_s: f64,
    pub(super) dose: f64,
}

/// Number of blocks of time slots in a trial.
const BLOCKS: usize = 24;
/// Length of a time slot, seconds.
const SLOT_S: f64 = 1500.0;
/// Length of the part at the start of a time slot that is not measured, seconds. The measurement skips several hundred
/// service times, because the queues of the preceding time slot last that long.
const SETTLE_S: f64 = 150.0;

impl OpenNetwork {
    /// Returns each station's share of the growth of the response time when all stations and the delay are slowed by
    /// the dose. The response time is the mean, or a percentile if the network has a single station.
    pub(super) fn exact_shares(&self, of: ProofMetric) -> Vec<f64> {
        let means = match of {
            ProofMetric::P50 => 0.5_f64.recip().ln(),
            ProofMetric::P99 => 0.01_f64.recip().ln(),
            _ => 1.0,
        };
        let adds = |demand: f64| means * (demand / (1.0 - self.dose - demand) - demand / (1.0 - demand));
        let delay = self.delay_s * self.dose / (1.0 - self.dose);
        let whole: f64 = self.demands.iter().map(|d| adds(*d)).sum::<f64>() + delay;
        self.demands.iter().map(|d| adds(*d) / whole).collect()
    }

    /// Simulates one trial. The last lever of the trial changes the arrival rate.
    pub(super) fn trial(&self, seed: u64) -> ProofTrial {
        let mut random = fastrand::Rng::with_seed(seed);
        let levers = self.demands.len() + 1;
        let on = one_at_a_time(levers, &mut random);
        let times = self.times(&on, &mut random);
        let speed = |on: &[bool], noise: f64, random: &mut fastrand::Rng| -> Vec<f64> {
            let left = |on: bool| if on { 1.0 - self.dose } else { 1.0 };
            on.iter().map(|on| left(*on) * (1.0 + noise * (random.f64() - 0.5))).collect()
        };
        let lever = |(j, on): (usize, &Vec<bool>)| {
            let (name, noise) = if j + 1 == levers { (RATE.into(), 0.0) } else { (format!("station {j}"), 0.02) };
            LeverSlots { lever: name, on: on.clone(), speed: speed(on, noise, &mut random), ..LeverSlots::default() }
        };
        let levers = on.iter().enumerate().map(lever).collect();
        ProofTrial { slot_s: SLOT_S, slot_times: times, levers, ..ProofTrial::default() }
    }

    /// Returns the response times of each time slot. Requests pass each station in the order of their arrival. A second
    /// of simulated time is recorded as a millisecond.
    fn times(&self, on: &[Vec<bool>], random: &mut fastrand::Rng) -> Vec<SlotHist> {
        let slots = on.first().map_or(0, Vec::len);
        let mut counts = vec![vec![0u64; SlotHist::BUCKETS]; slots];
        let (mut due, mut free) = (0.0, vec![0.0_f64; self.demands.len()]);
        let mut exponential = |mean: f64| -random.f64().max(1e-300).ln() * mean;
        let slot_of = |at: f64| ((at / SLOT_S) as usize).min(slots - 1);
        let slowed = |lever: usize, at: f64| if on[lever][slot_of(at)] { 1.0 - self.dose } else { 1.0 };
        loop {
            due += exponential(slowed(self.demands.len(), due));
            if due >= SLOT_S * slots as f64 {
                break;
            }
            let mut at = due;
            for (station, demand) in self.demands.iter().enumerate() {
                let begin = free[station].max(at);
                at = begin + exponential(*demand) / slowed(station, begin);
                free[station] = at;
            }
            if due % SLOT_S >= SETTLE_S {
                let took_ns = (at + self.delay_s - due) * 1e6;
                counts[slot_of(due)][SlotHist::bucket(took_ns as u64)] += 1;
            }
        }
        counts.into_iter().map(SlotHist::of).collect()
    }
}

/// Returns the state of each lever in each time slot. Every lever is on in one time slot of each block, and no two
/// levers are on at once.
fn one_at_a_time(levers: usize, random: &mut fastrand::Rng) -> Vec<Vec<bool>> {
    let mut on = vec![Vec::new(); levers];
    for _ in 0..BLOCKS {
        let mut slots: Vec<usize> = (0..block(levers)).collect();
        random.shuffle(&mut slots);
        on.iter_mut().enumerate().for_each(|(j, on)| on.extend(slots.iter().map(|slot| *slot == j)));
    }
    on
}
