//! Test double: a simulated closed queueing network whose queues can be slowed by levers. Service times are
//! exponential, so the exact elasticities are known.

use run::{LeverSlots, ProofTrial};

use super::estimate;
use stats::queueing::{Station, elasticities};

/// Queues (stations) in a cycle with a delay that no lever changes. Each station has one server, and one lever that
/// slows it.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) stations: Vec<Station>,
    pub(super) delay_s: f64,
    pub(super) clients: u32,
}

/// Number of slots in a trial.
const SLOTS: usize = 160;
/// Length of a slot, in mean service times of the slowest station.
const SLOT: f64 = 40.0;
/// Speed of a station while its lever is on; 1 is full speed.
const LEFT: f64 = 0.8;

impl Network {
    /// Returns the exact elasticity of each station while all levers are off.
    pub(super) fn exact(&self) -> Vec<f64> {
        let mut all = self.stations.clone();
        all.push(Station::delay(self.delay_s));
        elasticities(&all, self.clients)[..self.stations.len()].to_vec()
    }

    /// Simulates one trial. All times are exponential, so the network is a Markov chain: the next event depends only on
    /// the current state.
    pub(super) fn trial(&self, seed: u64) -> ProofTrial {
        let mut random = fastrand::Rng::with_seed(seed);
        let on: Vec<Vec<bool>> = self.stations.iter().map(|_| balanced(&mut random)).collect();
        let mut at = vec![0u32; self.stations.len()];
        let mut thinking = if self.delay_s > 0.0 { self.clients } else { 0 };
        at[0] = self.clients - thinking;
        let mut completed_rate = Vec::new();
        for slot in 0..SLOTS {
            let speeds: Vec<f64> = on.iter().map(|on| if on[slot] { LEFT } else { 1.0 }).collect();
            completed_rate.push(self.slot(&mut random, &speeds, &mut at, &mut thinking) / SLOT);
        }
        let lever = |(i, on): (usize, &Vec<bool>)| LeverSlots {
            lever: format!("station {i}"),
            host: String::new(),
            on: on.clone(),
            // Measured speeds have an error of up to 3 %.
            speed: on.iter().map(|on| if *on { LEFT } else { 1.0 } * (1.0 + 0.06 * (random.f64() - 0.5))).collect(),
            ..LeverSlots::default()
        };
        let levers = on.iter().enumerate().map(lever).collect();
        ProofTrial { slot_s: SLOT, completed_rate, levers, ..ProofTrial::default() }
    }

    /// Simulates one slot (short period) of an experiment. Returns the number of completed requests.
    fn slot(&self, random: &mut fastrand::Rng, speeds: &[f64], at: &mut [u32], thinking: &mut u32) -> f64 {
        let (mut now, mut completed) = (0.0, 0.0);
        let rates: Vec<f64> = self.stations.iter().zip(speeds).map(|(s, speed)| speed / s.demand_s).collect();
        loop {
            let think = if self.delay_s > 0.0 { f64::from(*thinking) / self.delay_s } else { 0.0 };
            let busy = |i: usize| if at[i] > 0 { rates[i] } else { 0.0 };
            let all: f64 = (0..at.len()).map(busy).sum::<f64>() + think;
            now -= random.f64().max(1e-300).ln() / all;
            if now > SLOT {
                return completed;
            }
            let mut left = random.f64() * all;
            let next = (0..at.len()).find(|i| {
                left -= busy(*i);
                left < 0.0
            });
            completed += f64::from(u8::from(self.moved(next, at, thinking)));
        }
    }

    /// Moves one client on from a station, or from the delay (`None`). Returns true if this move completed a request.
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

/// Returns for each slot whether the lever is on: in a random half of every 8 slots.
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
        let found = estimate(&network.trial(seed)).unwrap();
        for (i, e) in found.elasticities.iter().enumerate() {
            covered.each[i] += u32::from((e.low..=e.high).contains(&exact[i]));
            covered.bias[i] += (e.value - exact[i]) / seeds as f64;
        }
        covered.remainder += u32::from((found.remainder.low..=found.remainder.high).contains(&left));
    }
    covered
}
