//! Test double: a simulated closed queueing network whose queues can be slowed by levers. A lever is a temporary change
//! that an experiment makes, such as slowing a CPU. Service times are exponential, so the exact elasticities are known.

use run::{Effect, Estimate, LeverSlots, ProofTrial};

use super::{Estimates, estimate, utilization};
use stats::queueing::{Station, closed, elasticities};

/// Queues (stations) in a cycle with a delay that no lever changes. Each station has one server. The first stations
/// have a lever each that slows them.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) stations: Vec<Station>,
    pub(super) delay_s: f64,
    pub(super) clients: u32,
    /// Speed of a station while its lever is on; 1 is full speed.
    pub(super) left: f64,
    /// Length of a time slot, in mean service times of the slowest station. In a time slot that is shorter than some
    /// response times, queues do not settle.
    pub(super) slot_s: f64,
    /// Number of stations that have a lever; these stations come first.
    pub(super) slowed: usize,
}

/// Number of time slots in a trial.
const SLOTS: usize = 160;

impl Network {
    /// Returns the exact elasticity of throughput for the speed of each station with a lever, while all levers are off.
    pub(super) fn exact(&self) -> Vec<f64> {
        let mut all = self.stations.clone();
        all.push(Station::delay(self.delay_s));
        elasticities(&all, self.clients)[..self.slowed].to_vec()
    }

    /// Returns the exact utilization of each station while all levers are off.
    fn utilizations(&self) -> Vec<f64> {
        let mut all = self.stations.clone();
        all.push(Station::delay(self.delay_s));
        let rate = closed(&all, self.clients).throughput;
        self.stations.iter().map(|station| rate * station.demand_s).collect()
    }

    /// Simulates one trial. Returns the trial, and the two utilizations of each station with a lever: in the time slots
    /// without this lever, and in a load before the trial. All times are exponential, so the network is a Markov chain:
    /// the next event depends only on the current state.
    pub(super) fn trial(&self, seed: u64) -> (ProofTrial, Vec<Vec<f64>>) {
        let mut random = fastrand::Rng::with_seed(seed);
        let on: Vec<Vec<bool>> = (0..self.slowed).map(|_| balanced(&mut random)).collect();
        let mut at = vec![0u32; self.stations.len()];
        let mut thinking = if self.delay_s > 0.0 { self.clients } else { 0 };
        at[0] = self.clients - thinking;
        let slot_s = self.slot_s;
        let mut completed_rate = Vec::new();
        let mut busy = vec![Vec::new(); on.len()];
        for slot in 0..SLOTS {
            let speeds: Vec<f64> = on.iter().map(|on| if on[slot] { self.left } else { 1.0 }).collect();
            let (completed, in_use_s) = self.slot(&mut random, &speeds, &mut at, &mut thinking);
            completed_rate.push(completed / slot_s);
            let without = (0..on.len()).filter(|i| !on[*i][slot]);
            without.for_each(|i| busy[i].push(in_use_s[i] / slot_s));
        }
        let lever = |(i, on): (usize, &Vec<bool>)| LeverSlots {
            lever: format!("station {i}"),
            host: String::new(),
            on: on.clone(),
            // Measured speeds have an error of up to 3 %.
            speed: on
                .iter()
                .map(|on| if *on { self.left } else { 1.0 } * (1.0 + 0.06 * (random.f64() - 0.5)))
                .collect(),
            ..LeverSlots::default()
        };
        let levers = on.iter().enumerate().map(lever).collect();
        let before = self.utilizations();
        let used = busy.iter().zip(before).map(|(busy, before)| vec![stats::average(busy), before]).collect();
        (ProofTrial { slot_s, completed_rate, levers, ..ProofTrial::default() }, used)
    }

    /// Simulates one trial, and estimates the elasticities of its stations.
    pub(super) fn estimated(&self, seed: u64) -> Estimates {
        let (trial, used) = self.trial(seed);
        let mut found = estimate(&trial).unwrap();
        let effect = |(ratio, dose): (&Estimate, &f64)| Effect {
            dose: *dose,
            ratio: ratio.value,
            low: ratio.low,
            high: ratio.high,
            ..Effect::default()
        };
        let effects: Vec<Effect> = found.ratios.iter().zip(&found.doses).map(effect).collect();
        utilization::lower(&mut found, &effects, &used);
        found
    }

    /// Simulates one slot (short period) of an experiment. Returns the number of completed requests, and the time for
    /// which each station was in use.
    fn slot(&self, random: &mut fastrand::Rng, speeds: &[f64], at: &mut [u32], thinking: &mut u32) -> (f64, Vec<f64>) {
        let slot_s = self.slot_s;
        let (mut now, mut completed, mut in_use_s) = (0.0, 0.0, vec![0.0; at.len()]);
        let rates: Vec<f64> = self
            .stations
            .iter()
            .zip(speeds.iter().chain(std::iter::repeat(&1.0)))
            .map(|(s, speed)| speed / s.demand_s)
            .collect();
        loop {
            let think = if self.delay_s > 0.0 { f64::from(*thinking) / self.delay_s } else { 0.0 };
            let busy = |i: usize| if at[i] > 0 { rates[i] } else { 0.0 };
            let all: f64 = (0..at.len()).map(busy).sum::<f64>() + think;
            let until: f64 = f64::min(now - random.f64().max(1e-300).ln() / all, slot_s);
            in_use_s.iter_mut().zip(&*at).for_each(|(s, n)| *s += if *n > 0 { until - now } else { 0.0 });
            now = until;
            if now >= slot_s {
                return (completed, in_use_s);
            }
            let mut left = random.f64() * all;
            let next = (0..at.len()).find(|i| {
                left -= busy(*i);
                left < 0.0
            });
            completed += f64::from(u8::from(self.moved(next, at, thinking)));
        }
    }

    /// Moves one client on from a station, or from the delay (`None`). Returns true if a request completed.
    fn moved(&self, from: Option<usize>, at: &mut [u32], thinking: &mut u32) -> bool {
        let Some(i) = from else {
            *thinking -= 1;
            at[0] += 1;
            return false;
        };
        at[i] -= 1;
        match at.get_mut(i + 1) {
            Some(next) => *next += 1,
            None if self.delay_s > 0.0 => *thinking += 1,
            None => at[0] += 1,
        }
        i + 1 == at.len()
    }
}

/// Returns for each time slot true if the lever is on. In every 8 time slots, the lever is on in a random half.
fn balanced(random: &mut fastrand::Rng) -> Vec<bool> {
    let mut all = Vec::with_capacity(SLOTS);
    while all.len() < SLOTS {
        let mut part = [true, true, true, true, false, false, false, false];
        random.shuffle(&mut part);
        all.extend(part);
    }
    all
}

/// Accuracy of the estimates over all seeds.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    /// For each station, the number of seeds whose interval contains the exact elasticity.
    pub(super) each: Vec<u32>,
    /// Number of seeds whose interval contains the exact remainder: 1 minus the sum of the elasticities.
    pub(super) remainder: u32,
    /// For each station, the mean error of the elasticity.
    pub(super) bias: Vec<f64>,
}

/// Simulates and estimates one trial for each seed.
pub(super) fn coverage(network: &Network, seeds: u64) -> Coverage {
    let exact = network.exact();
    let left = 1.0 - exact.iter().sum::<f64>();
    let mut covered = Coverage { each: vec![0; exact.len()], bias: vec![0.0; exact.len()], remainder: 0 };
    for seed in 0..seeds {
        let found = network.estimated(seed);
        for (i, e) in found.elasticities.iter().enumerate() {
            covered.each[i] += u32::from((e.low..=e.high).contains(&exact[i]));
            covered.bias[i] += (e.value - exact[i]) / seeds as f64;
        }
        covered.remainder += u32::from((found.remainder.low..=found.remainder.high).contains(&left));
    }
    covered
}
