//! Due times of the requests of an open loop. Each arrival process has its own file and a row in [`ARRIVALS`].
//!
//! An arrival process is a sequence of gaps, which depends only on its parameters and a seed. Two copies of an arrival
//! process therefore give the same times. A generator thread therefore needs no list of the requests that are due but
//! not yet sent. One copy of the arrival process counts the due requests. A second copy gives the due time of the next
//! request to send. The second copy of the arrival process lags behind the first copy.

mod bursty;
mod constant;
mod manual_rate;
mod poisson;
mod row;
mod schedule;
mod self_similar;

use fastrand::Rng;
use run::{Arrival, LoadPlan, PlanError};

use manual_rate::ManualRate;
use row::Gaps as _;
pub(crate) use row::exponential;
pub use row::{ArrivalSpec, Parameter, Unit};
use schedule::Schedule;

/// Builds the table [`ARRIVALS`], and maps each variant of [`run::Arrival`] to its arrival process. The compiler checks
/// that no variant of [`run::Arrival`] is missing.
macro_rules! arrivals {
    ($($module:ident::$Process:ident { $($parameter:ident),* }),+ $(,)?) => {
        /// All arrival processes that a load plan can name.
        pub const ARRIVALS: &[ArrivalSpec] = &[$($module::SPEC),+];

        #[derive(Clone, Debug)]
        enum Process {
            $($Process($module::$Process)),+
        }

        impl Process {
            /// Creates the arrival process that a load plan names. `rate_ns` is the mean number of arrivals per
            /// nanosecond.
            fn new(arrival: &Arrival, rate_ns: f64, rng: &mut Rng) -> Self {
                match *arrival {
                    $(Arrival::$Process { $($parameter),* } => {
                        Self::$Process($module::$Process::new(rate_ns, rng, $($parameter),*))
                    })+
                }
            }

            fn begin_ns(&self, phase: f64) -> f64 {
                match self {
                    $(Self::$Process(process) => process.begin_ns(phase)),+
                }
            }

            #[inline]
            fn gap_ns(&mut self, at_ns: f64, rng: &mut Rng) -> f64 {
                match self {
                    $(Self::$Process(process) => process.gap_ns(at_ns, rng)),+
                }
            }
        }

        /// Returns the row of a load plan's arrival process, and the values of its parameters in the order of the row.
        pub fn spec(arrival: &Arrival) -> (&'static ArrivalSpec, Vec<f64>) {
            match *arrival {
                $(Arrival::$Process { $($parameter),* } => (&$module::SPEC, vec![$($parameter),*])),+
            }
        }

        /// Builds a load plan's arrival process from its name, and from the values of its parameters in the order of
        /// the row. Returns `None` for an unknown name or a wrong number of values.
        pub fn plan(name: &str, values: &[f64]) -> Option<Arrival> {
            match *values {
                $([$($parameter),*] if name == $module::SPEC.name => Some(Arrival::$Process { $($parameter),* }),)+
                _ => None,
            }
        }
    };
}

arrivals! {
    constant::Constant {},
    poisson::Poisson {},
    bursty::Bursty { peak, share, period_s },
    self_similar::SelfSimilar { hurst },
}

/// Checks that the parameters of a load plan's arrival process are valid.
pub fn check(arrival: &Arrival) -> Result<(), PlanError> {
    let (row, values) = spec(arrival);
    let wrong = row.parameters.iter().zip(values).find(|(p, value)| !(value.is_finite() && (p.valid)(*value)));
    wrong
        .map_or(Ok(()), |(p, value)| Err(PlanError::Range { what: p.name, value: value.to_string(), advice: p.advice }))
}

/// Due times of the requests of one shard (generator thread), in nanoseconds since the shard's start.
#[derive(Clone, Debug)]
pub struct Arrivals {
    process: Process,
    rng: Rng,
    at_ns: f64,
    schedule: Option<Schedule>,
    manual_rate: Option<Box<ManualRate>>,
}

impl Arrivals {
    /// Creates the sequence of due times for shard number `shard` of `shards`. All shards (generator threads) together
    /// have `rate` requests per second. For equal gaps, `phase` (0 to 1) is the position of the shard's first arrival
    /// within a gap ([`run::LoadPlan::share_phase`]).
    pub fn new(arrival: &Arrival, rate: f64, (shard, shards): (u32, u32), phase: f64, seed: u64) -> Self {
        let shards = shards.max(1);
        let rate_ns = (rate / f64::from(shards) / 1e9).max(1e-18);
        let mut rng = Rng::with_seed(seed ^ u64::from(shard).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let process = Process::new(arrival, rate_ns, &mut rng);
        Self { at_ns: process.begin_ns(phase), process, rng, schedule: None, manual_rate: None }
    }

    /// Applies the load plan's stages or its recorded times, if the plan has any.
    #[must_use]
    pub fn with_schedule(self, plan: &LoadPlan, rate: f64, shard: (u32, u32)) -> Self {
        match plan.recorded() {
            Some(times) => self.on(Schedule::recorded(times, shard)),
            None if plan.stages.is_empty() => self,
            None => self.on(Schedule::stages(&plan.stages, rate)),
        }
    }

    fn on(self, schedule: Schedule) -> Self {
        Self { schedule: Some(schedule), ..self }
    }

    /// Returns true if the planned rate is constant over time.
    pub fn is_even(&self) -> bool {
        self.schedule.is_none()
    }

    /// Returns the end of the recorded times, nanoseconds since the start, or `None` without recorded times.
    pub(crate) fn recorded_end_ns(&self) -> Option<u64> {
        self.schedule.as_ref().and_then(Schedule::recorded_end_ns)
    }

    /// Returns true if the due times are replayed from a recording, which has a last request.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.schedule, Some(Schedule::Recorded { .. }))
    }

    /// Returns the ratio of the peak rate to the mean rate over the load plan's stages or recorded times; 1 if the plan
    /// has neither.
    pub fn peak(&self) -> f64 {
        self.schedule.as_ref().map_or(1.0, Schedule::peak)
    }

    /// Returns the due time of the next request.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        self.at_ns += self.process.gap_ns(self.at_ns, &mut self.rng);
        match (&mut self.schedule, &mut self.manual_rate) {
            (None, None) => self.at_ns as u64,
            (Some(schedule), _) => schedule.due_ns(self.at_ns),
            (None, Some(manual_rate)) => manual_rate.due_ns(self.at_ns),
        }
    }

    /// From `now_ns` (nanoseconds since the start) on, runs the arrival process `factor` times as fast as planned.
    /// Copies of the process stay identical if this function is called with equal arguments on each copy. If stages or
    /// recorded times set the rate, changes nothing and returns false.
    pub fn change_rate(&mut self, now_ns: u64, factor: f64) -> bool {
        if self.schedule.is_some() {
            return false;
        }
        self.manual_rate.get_or_insert_default().change_rate(now_ns, factor);
        true
    }

    /// Returns the most recent due time again. If the rate has changed in the meantime, returns the corrected due time.
    pub fn latest_ns(&mut self) -> u64 {
        self.manual_rate.as_mut().map_or(self.at_ns as u64, |manual_rate| manual_rate.due_ns(self.at_ns))
    }
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
    fn every_row_is_what_plans_say() {
        for row in ARRIVALS {
            // The values of the parameters do not matter. The test compares the names and the order of the parameters
            // in the row and in the load plan.
            let values: Vec<f64> = (0..row.parameters.len()).map(|i| i as f64 + 0.5).collect();
            let arrival = plan(row.name, &values).unwrap();
            assert_eq!((spec(&arrival).0.name, spec(&arrival).1), (row.name, values.clone()));
            let written = serde_json::to_value(&arrival).unwrap();
            assert_eq!(
                (written["name"].as_str(), written.as_object().unwrap().len()),
                (Some(row.name), values.len() + 1)
            );
            for (parameter, value) in row.parameters.iter().zip(&values) {
                assert_eq!(written[parameter.name].as_f64(), Some(*value), "{} {}", row.name, parameter.name);
            }
            assert_eq!(plan(row.name, &[values, vec![1.0]].concat()), None);
        }
    }

    #[test]
    fn impossible_parameters_are_named() {
        let bursty = |peak, share, period_s| Arrival::Bursty { peak, share, period_s };
        assert!(check(&bursty(6.0, 0.05, 100.0)).is_ok() && check(&Arrival::Poisson).is_ok());
        for (arrival, what) in [
            (bursty(f64::NAN, 0.05, 1.0), "peak"),
            (bursty(0.5, 0.05, 1.0), "peak"),
            (bursty(6.0, 1.5, 1.0), "share"),
            (bursty(6.0, 0.05, 0.0), "period_s"),
            (bursty(6.0, 0.05, f64::INFINITY), "period_s"),
            (Arrival::SelfSimilar { hurst: 0.5 }, "hurst"),
        ] {
            assert!(check(&arrival).unwrap_err().to_string().starts_with(what), "{arrival:?}");
        }
    }
}
