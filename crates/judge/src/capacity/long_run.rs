//! Rate that a server sustains in a long load. While a server is idle, some limits build up a reserve: a rate limiter
//! allows a burst later, or a buffer becomes empty. With this reserve, the server completes more requests in a window
//! of one second than it can sustain. The experiment that tests a verdict lasts several seconds and uses the reserve
//! up, so its load shows the sustained rate.

use run::{Capacity, LongRun, ProofTrial, Trial, TrialKind};
use stats::student::t95;
use stats::{NORMAL_95, Sample, average};

use super::found::{Found, nearest, past, without_rate};
use crate::Facts;
use crate::context::single::{clients, closed, good, refused};
use crate::context::sweep::Plateau;
use crate::estimate::objective::holds;
use crate::thresholds::{FEWEST_WINDOWS, HELD_RATE};

/// Rate of good answers in a long load, with its 95 % interval, requests per second.
#[derive(Clone, Copy, Debug)]
struct LongRate {
    rate: f64,
    low: f64,
    high: f64,
    length_s: f64,
}

/// Replaces a capacity that contradicts the long load of the run by the rate of this load.
pub(super) fn kept_up<'a>(facts: &Facts<'a>, chances: &[Option<f64>], found: Found<'a>) -> Found<'a> {
    let first_rate = found.capacity.rate;
    let long = LongRate::of(facts).filter(|long| found.capacity.held && long.contradicts(facts, first_rate));
    let Some(long) = long else { return found };
    let failing = past(facts, chances, long.rate);
    let long_run = LongRun { length_s: long.length_s, first_rate };
    let capacity = Capacity {
        rate: long.rate,
        low: Some(long.low),
        high: Some(long.high),
        method: long_run.words(),
        long_run: Some(long_run),
        held: true,
        ..without_rate(facts, failing)
    };
    Found { capacity, trial: nearest(facts, long.rate).unwrap_or(found.trial), failing }
}

impl LongRate {
    /// Returns the rate of the long load of the experiment. Returns `None` if the run has no experiment, if the
    /// experiment's load was hardly longer than a window of the search, or if this load was too light to show a limit.
    fn of(facts: &Facts<'_>) -> Option<Self> {
        let is_long_load = |t: &&Trial| t.kind == TrialKind::Proof && closed(t) && t.broken().is_none();
        let trial = facts.run.trials.iter().rfind(is_long_load)?;
        let length_s = |t: &Trial| t.measured.window.length_s();
        let window_s = facts.search.iter().map(|t| length_s(t)).reduce(f64::max)?;
        let refuses = refused(trial) > facts.limits.errors;
        let is_enough = refuses || matches!(facts.plateau, Plateau::Flat { from, .. } if clients(trial) >= from);
        let is_long = length_s(trial) >= FEWEST_WINDOWS as f64 * window_s;
        let (rate, error) = if refuses { counted(trial) } else { without_levers(facts, trial)? };
        let (low, high) = (rate * (-error).exp(), rate * error.exp());
        (is_enough && is_long).then_some(Self { rate, low, high, length_s: length_s(trial) })
    }

    /// Returns true if the server cannot keep up `rate`: the long load and every overload above `rate` completed less.
    /// The long load alone is not enough, because a closed loop may have had too few clients. The overloads alone are
    /// not enough, because an overload may slow a server down. If both completed less than `rate`, short windows met
    /// `rate` only because of a reserve, such as an empty buffer.
    fn contradicts(&self, facts: &Facts<'_>, rate: f64) -> bool {
        let is_overload = |t: &&Trial| !closed(t) && t.rates.offered_rate > rate && !holds(t, &facts.limits);
        let all = facts.search.iter().chain(&facts.spoiled).copied();
        let overloads: Vec<f64> = all.filter(is_overload).map(good).collect();
        self.high < rate && !overloads.is_empty() && overloads.iter().all(|good| *good < HELD_RATE * rate)
    }
}

/// Returns the rate of good answers of a load that is partly refused, and half its interval on a logarithmic scale.
/// Assumes that the number of good answers has a Poisson distribution.
fn counted(trial: &Trial) -> (f64, f64) {
    let answers = good(trial) * trial.measured.window.length_s();
    (good(trial), NORMAL_95 / answers.max(1.0).sqrt())
}

/// Returns the mean rate of an experiment's load in the slots in which no lever slowed anything, and half its interval
/// on a logarithmic scale.
fn without_levers(facts: &Facts<'_>, trial: &Trial) -> Option<(f64, f64)> {
    let proof = facts.run.findings.proof.as_ref()?;
    let of_trial = |one: &&ProofTrial| one.label == trial.label && one.slot_times.is_empty();
    let slots = proof.trials.iter().rfind(of_trial)?;
    let is_off = |slot: usize| slots.levers.iter().all(|lever| lever.on.get(slot) == Some(&false));
    let rates = slots.completed_rate.iter().enumerate().filter(|(slot, rate)| is_off(*slot) && rate.is_finite());
    let rates: Vec<f64> = rates.map(|(_, rate)| *rate).collect();
    let (mean, sample) = (average(&rates), Sample::of(&rates).filter(|_| rates.len() >= FEWEST_WINDOWS)?);
    (mean > 0.0).then(|| (mean, t95(sample.n - 1.0) * sample.error() / mean))
}

#[cfg(test)]
mod tests {
    use run::{LeverSlots, Proof, Run};

    use super::*;
    use crate::planted::{PlantedRun, Point};

    /// Makes the run of a server that keeps up 200 requests/s. Windows of a second at 280 and 300 requests/s met the
    /// objective, because a buffer had free room. Higher loads completed `overload` requests per second. The
    /// experiment's load completed `long` requests per second in the slots without a lever, and half as many in the
    /// other slots.
    fn run(overload: f64, long: f64) -> Run {
        let change = move |t: &mut Trial, p: &Point| {
            let completed = if p.offered > 350.0 { overload } else { p.offered };
            if p.offered > 200.0 {
                t.rates.completed_rate = completed;
                t.measured.tally.completed = (completed * t.measured.window.length_s()) as u64;
                let us = if p.offered > 350.0 { 1e6 } else { 21_000.0 };
                (t.latency_us.p50, t.latency_us.p99) = (us, us);
            }
            if !closed(t) {
                let mut times = run::Hist::new();
                times.record_many_ns((1e3 * t.latency_us.p50) as u64, t.measured.tally.completed);
                t.histograms.insert("response".into(), times);
            }
        };
        let mut run = PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.8, 1.4, 1.5, 2.0, 2.5]).change(change).run();
        let mut trial = run.trials[4].clone();
        (trial.kind, trial.label) = (TrialKind::Proof, "proof".into());
        trial.measured.window.end_s = 8.0;
        run.trials.push(trial);
        let on: Vec<bool> = (0..64).map(|slot| slot % 2 == 0).collect();
        let noise = |slot: usize| 1.0 + 0.01 * (slot % 3) as f64;
        let rate = |(slot, on): (usize, &bool)| if *on { 0.5 * long } else { long * noise(slot) };
        let completed_rate = on.iter().enumerate().map(rate).collect();
        let levers = vec![LeverSlots { lever: "server-cpu".into(), on, ..LeverSlots::default() }];
        let slots = ProofTrial { label: "proof".into(), completed_rate, levers, ..ProofTrial::default() };
        run.findings.proof = Some(Proof { trials: vec![slots], ..Proof::default() });
        run
    }

    fn capacity(mut run: Run) -> Capacity {
        crate::judge(&mut run);
        run.findings.capacity.unwrap()
    }

    /// An earlier version of loadline reported the rate of a window of a second.
    #[test]
    fn stored_credit_is_no_capacity() {
        let found = capacity(run(200.0, 200.0));
        assert!(found.held && (found.rate - 202.0).abs() < 2.0, "{found:?}");
        assert!(found.low.unwrap() > 195.0 && found.high.unwrap() < 210.0, "{found:?}");
        assert!(found.long_run.is_some_and(|long| long.first_rate > 270.0), "{found:?}");
        assert!(found.method.contains("the first second of a load reached "), "{found:?}");
    }

    /// A closed loop with too few clients completes less than an open loop. A server that an overload slows down
    /// completes less in an overload than at its capacity.
    #[test]
    fn one_witness_against_a_window_is_not_enough() {
        for (overload, long) in [(300.0, 200.0), (200.0, 310.0)] {
            let found = capacity(run(overload, long));
            assert!(found.long_run.is_none() && found.rate > 270.0, "{overload} {long}: {found:?}");
        }
        let mut without = run(200.0, 200.0);
        without.findings.proof = None;
        assert_eq!(capacity(without).long_run, None);
    }
}
