//! Steadiness of the throughput while an experiment switches its levers, and the return of throughput to its level
//! after all levers are off. A lever is a temporary change that an experiment makes, such as slowing a CPU.
//!
//! The effects of the levers are subtracted from the throughput of each time slot. The residuals are averaged over
//! stretches of eight time slots. The means of the stretches (groups of eight time slots) scatter for two reasons:
//! noise of single slots, and slower changes. Other programs or the server itself cause the slower changes of
//! throughput.

use run::{Estimate, ProofTrial, Steadiness};

use super::against::{Against, of_levers};
use super::estimate::DEFAULT_DOSE;
use super::estimate::slots::{throughput, usable};
use super::part_text::part;
use crate::thresholds::NOT_BACK;
use stats::fit::{linear, robust};
use stats::student::t95;
use stats::{Sample, average};

/// Number of time slots in a stretch. The constant is also the usual number of time slots with all levers off at the
/// end of a trial.
const STRETCH: usize = 8;
/// Minimum number of stretches ([`STRETCH`] time slots each) for an estimate of their scatter. Also the minimum number
/// of time slots with all levers off at the end of a trial, for a comparison with the earlier throughput.
const FEWEST: usize = 4;
/// Width of a 99.9 % interval, divided by the width of a 95 % interval (Student's t for the dozen stretches of a
/// trial).
const SURE: f64 = 2.0;

/// Returns the steadiness of the throughput in a trial. Returns `None` if the trial has too few time slots.
/// `is_disturbed` returns true for the number of a time slot in which other programs took an unusual share of the CPUs.
/// Disturbed time slots at the end of the trial do not show whether the throughput returned to its earlier level.
pub(super) fn steadiness(trial: &ProofTrial, is_disturbed: impl Fn(usize) -> bool) -> Option<Steadiness> {
    let slots = usable(trial).ok()?;
    let left = left(trial, &slots)?;
    let last_on = slots.iter().rposition(|t| trial.levers.iter().any(|lever| lever.on[*t]))?;
    let stretches: Vec<&[f64]> = left[..=last_on].chunks_exact(STRETCH).collect();
    let means: Vec<f64> = stretches.iter().map(|stretch| average(stretch)).collect();
    if means.len() < FEWEST {
        return None;
    }
    // The first time slot after the last slot with a lever is left out. This time slot still serves requests that
    // queued up in the preceding slot.
    let tail = left.iter().zip(&slots).skip(last_on + 2).filter(|(_, slot)| !is_disturbed(**slot));
    let back = back(&means, &tail.map(|(left, _)| *left).collect::<Vec<f64>>());
    let is_back = back.as_ref().map(|back| surely(back) <= NOT_BACK);
    Some(Steadiness { noise: noise(&stretches), drift: drift(&means)?, back, is_back })
}

/// Returns the reason why the time slots prove nothing, if something else changed throughput as much as the levers did.
/// `dose` is the smallest dose (share of its resource that a lever takes) of all levers.
pub(super) fn doubt(steadiness: &Steadiness, dose: Option<f64>) -> Option<String> {
    let largest = -(1.0 - dose.unwrap_or(DEFAULT_DOSE).clamp(0.0, 0.9)).ln();
    let other = "another program, or the server itself";
    match &steadiness.back {
        Some(back) if steadiness.is_back == Some(false) => Some(format!(
            "throughput did not return after the experiment: {} of what it was before, so something else changed it ({other})",
            part(back)
        )),
        _ if surely(&steadiness.drift) > largest => Some(format!(
            "throughput drifted during the experiment, to {} of what it was at the start ({other})",
            part(&steadiness.drift)
        )),
        _ => None,
    }
}

/// Returns a lower bound of the distance of a ratio from 1, as a logarithm. The bound is below 0 if the ratio may be 1.
fn surely(ratio: &Estimate) -> f64 {
    let half = (ratio.high.ln() - ratio.low.ln()) / 2.0;
    ratio.value.ln().abs() - SURE * half
}

/// Returns the logarithm of each time slot's throughput. From each value, the effects of the levers in this time slot
/// and in the preceding slot are subtracted.
fn left(trial: &ProofTrial, slots: &[usize]) -> Option<Vec<f64>> {
    let y = throughput(trial, slots);
    let found = Against::best(&trial.levers, slots, &y).ok()?.fit(&y).ok()?;
    let rows: Vec<Vec<f64>> = slots.iter().map(|t| of_levers(&trial.levers, *t)).collect();
    Some(robust::residuals(&y, &rows, &found.coefficients))
}

/// Returns the standard deviation of single time slots, each relative to the mean of its stretch.
fn noise(stretches: &[&[f64]]) -> f64 {
    let variances: Vec<f64> = stretches.iter().filter_map(|s| Some(Sample::of(s)?.sd.powi(2))).collect();
    average(&variances).sqrt()
}

fn drift(means: &[f64]) -> Option<Estimate> {
    let points: Vec<(f64, f64)> = means.iter().enumerate().map(|(i, mean)| (i as f64, *mean)).collect();
    let (line, span) = (linear(&points)?, (means.len() - 1) as f64);
    let end = |slope: f64| (slope * span).exp();
    let at = line.slope_interval;
    Some(Estimate { value: end(line.slope), low: end(at.low), high: end(at.high) })
}

/// Returns throughput in the time slots `tail` (after the last lever), divided by mean throughput in the stretches
/// before these slots.
fn back(means: &[f64], tail: &[f64]) -> Option<Estimate> {
    let before = Sample::of(means).filter(|_| tail.len() >= FEWEST)?;
    let shorter = (STRETCH as f64 / tail.len() as f64).max(1.0);
    let half = t95(before.n - 1.0) * before.sd * (shorter + 1.0 / before.n).sqrt();
    let moved = average(tail) - before.mean;
    Some(Estimate { value: moved.exp(), low: (moved - half).exp(), high: (moved + half).exp() })
}

#[cfg(test)]
mod tests {
    use run::LeverSlots;

    use super::super::estimate;
    use super::*;
    use stats::normal;

    const SLOTS: usize = 118;
    const AFTER: usize = 8;
    const SEEDS: u64 = 200;

    /// Simulates a trial of a server whose CPU is the only limit. `noise` is the standard deviation of a time slot's
    /// noise, and `speed` returns the machine's speed in each slot.
    fn trial(seed: u64, noise: f64, speed: impl Fn(usize) -> f64) -> ProofTrial {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut on = || (0..SLOTS).map(|t| t < SLOTS - AFTER && random.bool()).collect::<Vec<bool>>();
        let (server, client) = (on(), on());
        let taken = |on: &[bool]| on.iter().map(|on| if *on { 0.75 } else { 1.0 }).collect::<Vec<f64>>();
        let rate = |t: usize| 1000.0 * speed(t) * taken(&server)[t] * (noise * normal(&mut random)).exp();
        let completed_rate = (0..SLOTS).map(rate).collect();
        let lever = |name: &str, on: &Vec<bool>| LeverSlots {
            lever: name.into(),
            speed: taken(on),
            on: on.clone(),
            ..LeverSlots::default()
        };
        let levers = vec![lever("server-cpu", &server), lever("client-cpu", &client)];
        ProofTrial { completed_rate, levers, ..ProofTrial::default() }
    }

    fn doubted(noise: f64, speed: impl Fn(usize) -> f64) -> usize {
        let of = |seed| steadiness(&trial(seed, noise, &speed), |_| false).unwrap();
        (0..SEEDS).filter(|seed| doubt(&of(*seed), None).is_some()).count()
    }

    #[test]
    fn throughput_that_returns_raises_no_doubt() {
        let holds = |seed: &u64| {
            let said = steadiness(&trial(*seed, 0.1, |_| 1.0), |_| false).unwrap();
            let back = said.back.unwrap();
            assert!((0.07..0.13).contains(&said.noise), "{said:?}");
            back.low <= 1.0 && back.high >= 1.0 && said.drift.low <= 1.5 && said.drift.high >= 0.67
        };
        let held = (0..SEEDS).filter(holds).count();
        assert!(held as f64 >= 0.93 * SEEDS as f64, "{held} of {SEEDS}");
        assert_eq!(doubted(0.1, |_| 1.0), 0);
    }

    #[test]
    fn throughput_that_does_not_return_is_reported_and_proves_nothing() {
        let stays = |t: usize| if t >= SLOTS - AFTER { 0.7 } else { 1.0 };
        assert!(doubted(0.05, stays) as f64 > 0.95 * SEEDS as f64);
        let said = doubt(&steadiness(&trial(1, 0.02, stays), |_| false).unwrap(), None).unwrap();
        assert!(said.contains("did not return"), "{said}");
        let disturbed = steadiness(&trial(1, 0.02, stays), |slot| slot >= SLOTS - AFTER).unwrap();
        assert_eq!((disturbed.is_back, doubt(&disturbed, None)), (None, None), "others took the CPUs at the end");
    }

    #[test]
    fn a_server_that_drifts_during_an_experiment_is_reported() {
        let grows = |t: usize| 1.0 + 1.5 * t as f64 / SLOTS as f64;
        assert!(doubted(0.05, grows) as f64 > 0.95 * SEEDS as f64);
        let said = doubt(&steadiness(&trial(1, 0.02, grows), |_| false).unwrap(), None).unwrap();
        assert!(said.contains("drifted during the experiment"), "{said}");
    }

    /// Another program starts in the middle of the trial and takes a fifth of the machine. The intervals of the
    /// elasticities still contain the true values, but become wider.
    #[test]
    fn a_foreign_load_that_begins_meanwhile_widens_intervals_that_still_hold_the_truth() {
        let begins = |t: usize| if t > 65 { 0.8 } else { 1.0 };
        let of = |seed, speed: &dyn Fn(usize) -> f64| estimate(&trial(seed, 0.03, speed)).unwrap().elasticities[0];
        let all: Vec<Estimate> = (0..SEEDS).map(|seed| of(seed, &begins)).collect();
        let held = all.iter().filter(|e| e.low <= 1.0 && e.high >= 1.0).count();
        assert!(held as f64 >= 0.93 * SEEDS as f64, "{held} of {SEEDS}");
        let width = |all: &[Estimate]| average(&all.iter().map(Estimate::half).collect::<Vec<f64>>());
        let alone: Vec<Estimate> = (0..SEEDS).map(|seed| of(seed, &|_| 1.0)).collect();
        assert!(width(&all) > width(&alone), "{} {}", width(&all), width(&alone));
        let drift = steadiness(&trial(1, 0.03, begins), |_| false).unwrap().drift;
        assert!(drift.high < 0.9, "{drift:?}");
    }

    #[test]
    fn too_few_slots_give_no_steadiness() {
        let mut few = trial(1, 0.02, |_| 1.0);
        few.completed_rate.truncate(30);
        few.levers.iter_mut().for_each(|l| (l.on.truncate(30), l.speed.truncate(30)).0);
        assert_eq!(steadiness(&few, |_| false), None);
    }
}
