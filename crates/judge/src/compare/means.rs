//! Difference between two sides whose values may be 0, such as the rate of a window without answers. Logarithms of 0 do
//! not exist, so means of the plain values are compared.
//!
//! A side may have completed nothing under one condition, which is a result, too. If a side completed nothing under a
//! condition, the ratio of the sides under this condition is 0 or infinite. Under each condition, the *share* of the
//! new side is therefore computed: its mean divided by the sum of the means of both sides. The shares of all conditions
//! have equal weights. The ratio of the sides is the mean share of the new side, divided by the mean share of the old
//! side. No value is trimmed, because a window without answers is a result, not a disturbance.
//!
//! The observations are runs, windows or conditions, by the rules of the module `contrast`.

use run::NeededData;
use stats::two_means::welch;
use stats::{Sample, average};

use super::contrast::{Contrast, between, by_units, counts, means_of_units};
use super::observations::{Cell, Observation, Pairing, Uncertainty};
use crate::thresholds::FEWEST_WINDOWS;

/// Compares both sides by plain values instead of logarithms (in the field `ln` of each observation). Returns `None` if
/// a side has no value above 0. Leaves out conditions under which neither side has a value above 0.
pub(super) fn of_means(cells: &[Cell], pairing: Pairing) -> Option<Contrast> {
    let means = |cell: &Cell| [0, 1].map(|side| mean(&cell[side]));
    let kept: Vec<(&Cell, [f64; 2])> =
        cells.iter().map(|cell| (cell, means(cell))).filter(|(_, [old, new])| old + new > 0.0).collect();
    let shares: Vec<f64> = kept.iter().map(|(_, [old, new])| new / (old + new)).collect();
    let share = average(&shares);
    if kept.is_empty() || share <= 0.0 || share >= 1.0 {
        return None;
    }
    // Derivative of the logarithm of the ratio with respect to the share.
    let slope = 1.0 / (share * (1.0 - share));
    let deviations: Vec<Cell> = kept.iter().map(|(cell, means)| deviations(cell, *means, slope)).collect();
    let scale = average(&kept.iter().map(|(_, [old, new])| (old + new).ln()).collect::<Vec<_>>());
    let sides = [1.0 - share, share].map(|share| share.ln() + scale);
    Some(Contrast { sides, uncertainty: uncertainty(&deviations, &shares, slope, pairing) })
}

/// Returns the deviation of each value from its side's mean under the condition, expressed as a change of the ratio's
/// logarithm.
fn deviations(cell: &Cell, means: [f64; 2], slope: f64) -> Cell {
    [0, 1].map(|side| {
        let weight = slope * means[1 - side] / (means[0] + means[1]).powi(2);
        let of = |one: &Observation| Observation { ln: (one.ln - means[side]) * weight, ..*one };
        cell[side].iter().map(of).collect()
    })
}

fn uncertainty(deviations: &[Cell], shares: &[f64], slope: f64, pairing: Pairing) -> Option<Uncertainty> {
    let runs = [0, 1].map(|side| by_run(deviations, side));
    if runs.iter().all(|runs| runs.len() >= FEWEST_WINDOWS) {
        return by_units(&runs);
    }
    let within = match deviations.iter().flatten().all(|side| side.len() > 1) {
        true => by_windows(deviations),
        false => by_conditions(shares, slope),
    };
    let between = between(pairing, (runs[0].len().max(1), runs[1].len().max(1)));
    within.map(|uncertainty| Uncertainty { error: uncertainty.error.hypot(between), between, ..uncertainty })
}

/// Returns the mean deviation of each run or repeat of a side.
fn by_run(deviations: &[Cell], side: usize) -> Vec<f64> {
    means_of_units(deviations.iter().flat_map(|cell| &cell[side]).map(|one| (one.unit, one.ln))).into_values().collect()
}

/// Returns the uncertainty with one observation for each window. The mean of each condition was computed from the
/// windows, so each condition costs one degree of freedom.
fn by_windows(deviations: &[Cell]) -> Option<Uncertainty> {
    let (old, new) = counts(deviations);
    let conditions = deviations.len() as f64;
    let side = |side: usize, windows: usize| {
        let squares: f64 = deviations.iter().flat_map(|cell| &cell[side]).map(|one| one.ln.powi(2)).sum();
        let over: f64 = deviations.iter().map(|cell| 1.0 / cell[side].len() as f64).sum();
        let freedom = windows as f64 - conditions;
        (squares / freedom * over / conditions.powi(2), freedom)
    };
    let (error, freedom) = welch([side(0, old), side(1, new)]);
    let found = Uncertainty { error, freedom, between: 0.0, of: NeededData::Windows };
    (old.min(new) >= FEWEST_WINDOWS && freedom >= 1.0).then_some(found)
}

/// Returns the uncertainty of the new side's mean share. The share of each condition is one observation. This function
/// is for sides that have only one window under some condition.
fn by_conditions(shares: &[f64], slope: f64) -> Option<Uncertainty> {
    let sample = Sample::of(shares).filter(|_| shares.len() >= FEWEST_WINDOWS)?;
    let (error, freedom) = (sample.error() * slope, sample.n - 1.0);
    Some(Uncertainty { error, freedom, between: 0.0, of: NeededData::Windows })
}

fn mean(observations: &[Observation]) -> f64 {
    average(&observations.iter().map(|one| one.ln).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::normal;
    use stats::student::t95;

    fn windows(values: &[f64]) -> Vec<Observation> {
        values.iter().enumerate().map(|(turn, ln)| Observation { unit: 0, turn, others: None, ln: *ln }).collect()
    }

    /// The rates of six conditions have the ratios 0.7 to 1.4, and under the last condition the new side completed
    /// nothing.
    #[test]
    fn a_condition_without_answers_counts_and_conditions_that_scatter_decide_nothing() {
        let ratios = [0.7, 1.4, 0.8, 1.3, 1.0, 0.0];
        let cells: Vec<Cell> = ratios.map(|ratio| [windows(&[100.0]), windows(&[100.0 * ratio])]).into();
        let Contrast { sides, uncertainty } = of_means(&cells, Pairing::Kept).unwrap();
        let (apart, uncertainty) = (sides[1] - sides[0], uncertainty.unwrap());
        assert!((apart.exp() - 0.71662).abs() < 1e-4, "{apart}");
        assert!(uncertainty.error > 0.3 && uncertainty.freedom == 5.0, "{uncertainty:?}");
        assert!(of_means(&cells[4..], Pairing::Kept).unwrap().uncertainty.is_none(), "two conditions have no interval");
        assert_eq!(of_means(&cells[5..], Pairing::Kept), None, "one side completed nothing");
    }

    #[test]
    fn one_condition_has_the_ratio_and_the_errors_of_its_means() {
        let [old, new] = [windows(&[90.0, 110.0, 100.0]), windows(&[0.0, 100.0, 50.0])];
        let Contrast { sides, uncertainty } = of_means(&[[old, new]], Pairing::InTurns).unwrap();
        assert!((sides[0] - 100_f64.ln()).abs() < 1e-12 && (sides[1] - 50_f64.ln()).abs() < 1e-12, "{sides:?}");
        // The relative standard deviations are 10 % and 100 %, and each side has three windows.
        assert!((uncertainty.unwrap().error - (1.01_f64 / 3.0).sqrt()).abs() < 1e-9, "{uncertainty:?}");
    }

    /// Simulates two equal servers, which complete nothing in one of ten windows.
    #[test]
    fn equal_sides_with_windows_without_answers_differ_in_at_most_five_of_a_hundred_comparisons() {
        for (conditions, each) in [(1, 20), (5, 2), (6, 5), (8, 1)] {
            let mut random = fastrand::Rng::with_seed(17);
            let mut rate = |_: usize| match random.f64() < 0.1 {
                true => 0.0,
                false => 100.0 * (0.05 * normal(&mut random)).exp(),
            };
            let mut side = || windows(&(0..each).map(&mut rate).collect::<Vec<_>>());
            let wrong = (0..1000).filter(|_| {
                let cells: Vec<Cell> = (0..conditions).map(|_| [side(), side()]).collect();
                let Contrast { sides, uncertainty } = of_means(&cells, Pairing::InTurns).unwrap();
                uncertainty.is_some_and(|u| (sides[1] - sides[0]).abs() > u.error * t95(u.freedom))
            });
            let wrong = wrong.count();
            println!("{conditions} conditions with {each} windows: {wrong} of 1000");
            assert!(wrong <= 75, "{wrong} of 1000: {conditions} conditions with {each} windows");
        }
    }
}
