//! Finds change points in simulated series with known steps, and compares the result with the result of Apache Otava
//! for the same series. Series without a step show the rate of false alarms.
//!
//! `LOADLINE_WRITE_SERIES=FILE` writes the series, and `otava_f1.py FILE` prints the values of [`OTAVA`] for these
//! series.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use fastrand::Rng;
use loadline_stats::change_points::change_points;
use loadline_stats::normal;

/// Number of series of each kind.
const SERIES: u64 = 250;
/// A step in the test data counts as found if the tested function reports a change at most `NEAR` values before or
/// after the step.
const NEAR: usize = 5;
/// Minimum number of values between two steps, and before the first or after the last step.
const APART: usize = 15;
/// Sizes of the injected steps, relative to the mean of the series.
const STEPS: [f64; 4] = [0.005, 0.01, 0.02, 0.05];
/// Minimum standard deviation of a value, relative to the mean, as for stored runs.
const RESOLUTION: f64 = 0.001;

/// One kind of noise that the test adds to a series.
struct Noise {
    /// Correlation of neighbouring values.
    correlation: f64,
    /// Share of outliers: values that are 5 to 15 standard deviations too large.
    outliers: f64,
    /// Maximum allowed false-alarm rate: share of the step-free series in which loadline finds a change.
    max_alarms: f64,
}

const NOISES: [Noise; 4] = [
    Noise { correlation: 0.0, outliers: 0.0, max_alarms: 0.04 },
    Noise { correlation: 0.4, outliers: 0.0, max_alarms: 0.10 },
    Noise { correlation: 0.0, outliers: 0.05, max_alarms: 0.05 },
    Noise { correlation: 0.4, outliers: 0.05, max_alarms: 0.08 },
];

/// F1 score of Apache Otava 0.8.0 with Otava's defaults (window 50, p below 0.001), for each kind of noise.
/// `otava_f1.py` prints these F1 scores.
const OTAVA: [f64; 4] = [0.792, 0.617, 0.566, 0.535];
/// False-alarm rate of Otava: share of the step-free series in which it reports a change, for each kind of noise.
const OTAVA_ALARMS: [f64; 4] = [0.068, 0.584, 0.272, 0.328];

/// A series and the indexes of its steps.
struct Simulated {
    values: Vec<f64>,
    steps: Vec<usize>,
}

fn simulated(noise: &Noise, seed: u64, most_steps: usize) -> Simulated {
    let mut random = Rng::with_seed(seed);
    let n = random.usize(60..=200);
    let mut steps: Vec<usize> = Vec::new();
    let wanted = if most_steps > 0 { random.usize(1..=most_steps) } else { 0 };
    // A short series may have no space for the last step, so the number of attempts is limited.
    for _ in 0..100 {
        let at = random.usize(APART..=n - APART);
        if steps.len() < wanted && steps.iter().all(|step| step.abs_diff(at) >= APART) {
            steps.push(at);
        }
    }
    steps.sort_unstable();
    let sizes: Vec<f64> = steps.iter().map(|_| STEPS[random.usize(..4)] * [-1.0, 1.0][random.usize(..2)]).collect();
    let sd = 0.005 + 0.005 * random.f64();
    let (mut level, mut last, mut values) = (0.0, normal(&mut random), Vec::with_capacity(n));
    for i in 0..n {
        level += steps.iter().position(|step| *step == i).map_or(0.0, |step| sizes[step]);
        last = noise.correlation * last + (1.0 - noise.correlation.powi(2)).sqrt() * normal(&mut random);
        let outlier = if random.f64() < noise.outliers { 5.0 + 10.0 * random.f64() } else { 0.0 };
        values.push(1000.0 * (level + sd * (last + outlier)).exp());
    }
    Simulated { values, steps }
}

/// Returns all test series that have steps, for one kind of noise.
fn all(kind: usize) -> impl Iterator<Item = Simulated> {
    (0..SERIES).map(move |seed| simulated(&NOISES[kind], 1000 * kind as u64 + seed, 3))
}

/// Returns one test series that has no step.
fn flat(noise: &Noise, seed: u64) -> Simulated {
    simulated(noise, 77_000 + seed, 0)
}

fn found(values: &[f64]) -> Vec<usize> {
    let lns: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    change_points(&lns, RESOLUTION).iter().map(|point| point.at).collect()
}

/// Returns the number of injected steps near which a change was found.
fn matched(found: &[usize], steps: &[usize]) -> usize {
    let mut left = steps.to_vec();
    for at in found {
        if let Some(near) = left.iter().position(|step| step.abs_diff(*at) <= NEAR) {
            left.remove(near);
        }
    }
    steps.len() - left.len()
}

/// Returns the F1 score over all series of one kind of noise: the harmonic mean of precision and recall.
fn f1(kind: usize) -> f64 {
    let counts = all(kind).map(|series| {
        let found = found(&series.values);
        [matched(&found, &series.steps), found.len(), series.steps.len()]
    });
    let [hits, found, steps] = counts.fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    2.0 * hits as f64 / (found + steps) as f64
}

#[test]
fn injected_steps_are_found_at_least_as_well_as_by_otava() {
    let ours: Vec<f64> = (0..NOISES.len()).map(f1).collect();
    let worse = ours.iter().zip(OTAVA).any(|(ours, otava)| *ours < otava);
    println!("F1 of loadline {ours:.3?}, of Otava {OTAVA:.3?}");
    assert!(!worse && ours.iter().all(|f1| *f1 > 0.5), "F1 {ours:.3?}, of Otava {OTAVA:.3?}");
}

#[test]
fn series_without_a_step_raise_few_alarms() {
    let alarms = |noise: &Noise| (0..SERIES).filter(|seed| !found(&flat(noise, *seed).values).is_empty()).count();
    let shares: Vec<f64> = NOISES.iter().map(|noise| alarms(noise) as f64 / SERIES as f64).collect();
    println!("share of series without a step that have a change {shares:.3?}, of Otava {OTAVA_ALARMS:.3?}");
    let few = NOISES.iter().zip(&shares).all(|(noise, share)| *share <= noise.max_alarms);
    assert!(few && shares.iter().zip(OTAVA_ALARMS).all(|(ours, otava)| *ours < otava), "{shares:?}");
}

/// Writes the series for `otava_f1.py`, one per line: the kind of noise, the indexes of the steps and the values.
#[test]
fn series_can_be_written() {
    let mut text = String::new();
    for (kind, noise) in NOISES.iter().enumerate() {
        for Simulated { values, steps } in all(kind).chain((0..SERIES).map(|seed| flat(noise, seed))) {
            writeln!(text, "{kind};{steps:?};{values:?}").unwrap();
        }
    }
    if let Some(file) = std::env::var_os("LOADLINE_WRITE_SERIES") {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(text.lines().count(), 2 * NOISES.len() * SERIES as usize);
}
