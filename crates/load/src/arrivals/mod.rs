//! When requests of an open loop are due: one file an arrival process, one row in [`ARRIVALS`].
//!
//! A process is a pure sequence of gaps made from a seed. Two copies with one seed give the same times, which is how the
//! worker keeps no list of requests that are due but not sent: one copy counts what is due, the other one, behind it,
//! says what the next request to be sent was due for.

mod bursty;
mod constant;
mod poisson;
mod self_similar;

use fastrand::Rng;
use run::Arrival;

/// One row of [`ARRIVALS`].
#[derive(Clone, Copy, Debug)]
pub struct ArrivalSpec {
    /// Name in plans.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
}

/// Every arrival process.
pub const ARRIVALS: &[ArrivalSpec] = &[
    ArrivalSpec { name: "constant", help: "equal gaps; threads are offset so that together they are equal too" },
    ArrivalSpec { name: "poisson", help: "exponential gaps: independent users" },
    ArrivalSpec {
        name: "bursty",
        help: "Poisson with a rate that peaks: PEAK times the mean for SHARE of each PERIOD",
    },
    ArrivalSpec { name: "self-similar", help: "many on-off sources with Pareto periods; bursts at every time scale" },
];

/// The due times of one shard, nanoseconds since its start.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
    rng: Rng,
    at_ns: f64,
}

#[derive(Clone, Debug)]
enum Process {
    Constant(constant::Constant),
    Poisson(poisson::Poisson),
    Bursty(bursty::Bursty),
    SelfSimilar(Box<self_similar::SelfSimilar>),
}

impl Arrivals {
    /// The share of shard `shard` of `shards` in a process of `rate` requests per second in all. `phase` is where in a gap
    /// of the shard its equal gaps begin, 0 to 1 ([`run::LoadPlan::phase_of`]).
    pub fn new(arrival: &Arrival, rate: f64, (shard, shards): (u32, u32), phase: f64, seed: u64) -> Self {
        let shards = shards.max(1);
        let rate_ns = (rate / f64::from(shards) / 1e9).max(1e-18);
        let mut rng = Rng::with_seed(seed ^ u64::from(shard).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (process, offset_ns) = match *arrival {
            Arrival::Constant => {
                let p = constant::Constant::new(rate_ns);
                (Process::Constant(p), (phase - 1.0) / rate_ns)
            }
            Arrival::Poisson => (Process::Poisson(poisson::Poisson::new(rate_ns)), 0.0),
            Arrival::Bursty { peak, share, period_s } => {
                (Process::Bursty(bursty::Bursty::new(rate_ns, peak, share, period_s * 1e9)), 0.0)
            }
            Arrival::SelfSimilar { hurst } => {
                (Process::SelfSimilar(Box::new(self_similar::SelfSimilar::new(rate_ns, hurst, &mut rng))), 0.0)
            }
        };
        Self { process, rng, at_ns: offset_ns }
    }

    /// The next due time.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        let rng = &mut self.rng;
        self.at_ns += match &mut self.process {
            Process::Constant(p) => p.gap_ns(),
            Process::Poisson(p) => p.gap_ns(rng),
            Process::Bursty(p) => p.gap_ns(self.at_ns, rng),
            Process::SelfSimilar(p) => p.gap_ns(rng),
        };
        self.at_ns as u64
    }
}

/// An exponentially distributed gap of mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    // 1 - f64() lies in (0, 1], so the logarithm is finite.
    -(1.0 - rng.f64()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrival: &Arrival, rate: f64, seconds: f64) -> Vec<u64> {
        let mut a = Arrivals::new(arrival, rate, (0, 1), 0.0, 7);
        std::iter::from_fn(|| Some(a.next_ns())).take_while(|&t| t < (seconds * 1e9) as u64).collect()
    }

    #[test]
    fn each_process_keeps_its_mean_rate() {
        let cases = [
            (Arrival::Constant, 0.001),
            (Arrival::Poisson, 0.02),
            (Arrival::Bursty { peak: 6.0, share: 0.05, period_s: 1.0 }, 0.03),
            (Arrival::SelfSimilar { hurst: 0.75 }, 0.15),
        ];
        for (arrival, tolerance) in cases {
            let n = times(&arrival, 1000.0, 100.0).len() as f64;
            assert!((n / 100_000.0 - 1.0).abs() <= tolerance, "{arrival:?}: {n}");
        }
    }

    #[test]
    fn two_copies_give_the_same_times_in_order() {
        for arrival in [Arrival::Poisson, Arrival::SelfSimilar { hurst: 0.8 }] {
            let all = times(&arrival, 500.0, 2.0);
            assert_eq!(all, times(&arrival, 500.0, 2.0));
            assert!(all.windows(2).all(|w| w[0] <= w[1]));
        }
    }

    #[test]
    fn constant_shards_interleave() {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|shard| {
                let mut a = Arrivals::new(&Arrival::Constant, 1000.0, (shard, 4), f64::from(shard) / 4.0, 1);
                (0..5).map(move |_| a.next_ns()).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|w| w[1].abs_diff(w[0]).abs_diff(1_000_000) <= 2), "{all:?}");
    }

    #[test]
    fn every_arrival_of_a_plan_has_its_row() {
        for (spec, arrival) in ARRIVALS.iter().zip([
            Arrival::Constant,
            Arrival::Poisson,
            Arrival::Bursty { peak: 2.0, share: 0.1, period_s: 1.0 },
            Arrival::SelfSimilar { hurst: 0.7 },
        ]) {
            let text = serde_json::to_string(&arrival).unwrap();
            assert!(text.contains(&format!("\"{}\"", spec.name)), "{text}");
        }
    }
}
