//! Difference between two sides that were measured under several conditions, in several runs or repeats.
//!
//! The interval uses Student's t distribution. If both sides have at least three runs or repeats, each run or repeat is
//! an observation. The windows of one run scatter less than different runs do, because memory layout and neighbouring
//! virtual machines stay the same within a run.
//!
//! If a side has fewer than three runs or repeats, each window (measured period) is one observation. If two live
//! servers are compared, each pair of windows may be one observation (module `paired`). If a side has only one window
//! under some condition, the difference between the sides under each condition is one observation.

use std::collections::BTreeMap;

use super::disturbance::Disturbance;
use super::observations::{Cell, Observation, Pairing, Uncertainty};
use super::paired;
use crate::thresholds::{BETWEEN_RUNS, FEWEST_WINDOWS};
use run::NeededData;
use stats::two_means::{Trimmed, welch};
use stats::{Sample, average};

/// Values of both sides, with the uncertainty of their difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    /// Logarithms of the old value and the new value.
    pub(super) sides: [f64; 2],
    /// Uncertainty of the difference of the logarithms; `None` with too few observations.
    pub(super) uncertainty: Option<Uncertainty>,
}

/// Compares both sides over all conditions. Returns `None` if the sides have no condition in common. If the CPU use of
/// other programs certainly affected the windows of live servers, both servers are compared at an equal such CPU use.
pub(super) fn contrast(cells: &[Cell], pairing: Pairing) -> Option<Contrast> {
    let Some(disturbance) = Disturbance::of(cells, pairing) else { return unadjusted(cells, pairing) };
    let apart = unadjusted(&disturbance.adjusted(cells), pairing)?;
    Some(Contrast { uncertainty: apart.uncertainty.map(|adjusted| disturbance.widened(adjusted)), ..apart })
}

/// Compares both sides by the values as measured, without adjustment for the CPU use of other programs.
pub(super) fn unadjusted(cells: &[Cell], pairing: Pairing) -> Option<Contrast> {
    let side = |at: usize| average(&cells.iter().map(|cell| middle(&lns(&cell[at]))).collect::<Vec<_>>());
    let sides = match paired::differences(cells, pairing) {
        Some(differences) => around(f64::midpoint(side(0), side(1)), middle(&differences)),
        None => [side(0), side(1)],
    };
    (!cells.is_empty()).then(|| Contrast { sides, uncertainty: uncertainty(cells, pairing, None) })
}

/// Returns the uncertainty of the difference between both sides. `again` is the standard error from a bootstrap, which
/// is used for a percentile of merged windows.
pub(super) fn uncertainty(cells: &[Cell], pairing: Pairing, again: Option<f64>) -> Option<Uncertainty> {
    let units = [0, 1].map(|side| units(cells, side));
    if units.iter().all(|units| units.len() >= FEWEST_WINDOWS) {
        return match pairing {
            Pairing::Repeated => paired::by_comparisons(&units),
            _ => by_units(&units.map(|units| units.into_values().collect())),
        };
    }
    let or_again = |uncertainty: Uncertainty| Uncertainty { error: again.unwrap_or(uncertainty.error), ..uncertainty };
    let within = match (paired::differences(cells, pairing), cells.iter().flatten().all(|side| side.len() > 1)) {
        (Some(differences), _) => paired::uncertainty(&differences).map(or_again),
        (None, true) => by_windows(cells).map(or_again),
        (None, false) => by_conditions(cells),
    };
    let between = between(pairing, (units[0].len(), units[1].len()));
    within.map(|uncertainty| Uncertainty { error: uncertainty.error.hypot(between), between, ..uncertainty })
}

/// Returns the part of the standard error that comes from differences between runs; 0 if live servers are compared. The
/// second argument is the number of runs or repeats of each side.
pub(super) fn between(pairing: Pairing, (old, new): (usize, usize)) -> f64 {
    match pairing {
        Pairing::InTurns | Pairing::AtOnce => 0.0,
        Pairing::Repeated | Pairing::Kept => BETWEEN_RUNS * (1.0 / old as f64 + 1.0 / new as f64).sqrt(),
    }
}

/// Returns one value for each run or repeat of one of the two compared sides, by its index. The value is the mean of
/// all observations of the run or repeat. Before the mean is computed, the mean of both sides under the same condition
/// is subtracted from each observation.
fn units(cells: &[Cell], side: usize) -> BTreeMap<usize, f64> {
    let off = |cell: &Cell| {
        let centre = f64::midpoint(middle(&lns(&cell[0])), middle(&lns(&cell[1])));
        cell[side].iter().map(|observation| (observation.unit, observation.ln - centre)).collect::<Vec<_>>()
    };
    means_of_units(cells.iter().flat_map(off))
}

/// Returns the mean value of each run or repeat, by its index. Each value comes with the index of its run or repeat.
pub(super) fn means_of_units(values: impl Iterator<Item = (usize, f64)>) -> BTreeMap<usize, f64> {
    let mut of_units: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    values.for_each(|(unit, value)| of_units.entry(unit).or_default().push(value));
    of_units.into_iter().map(|(unit, values)| (unit, average(&values))).collect()
}

/// Returns the uncertainty of the difference between both sides, with one observation for each run or repeat. The two
/// sides may scatter differently (Welch's test, 1947).
pub(super) fn by_units([old, new]: &[Vec<f64>; 2]) -> Option<Uncertainty> {
    let (a, b) = (Sample::of(old)?, Sample::of(new)?);
    let (error, freedom) = welch([a, b].map(|side| (side.error().powi(2), side.n - 1.0)));
    Some(Uncertainty { error, freedom, between: 0.0, of: NeededData::Runs })
}

/// Returns the uncertainty of the difference between both sides, with one observation for each window. Assumes that the
/// windows of one side scatter equally under all conditions. The means are trimmed, so the variance is Yuen's
/// winsorized variance.
fn by_windows(cells: &[Cell]) -> Option<Uncertainty> {
    let (old, new) = counts(cells);
    if old < FEWEST_WINDOWS || new < FEWEST_WINDOWS {
        return None;
    }
    let side = |at: usize| {
        let each: Vec<Trimmed> = cells.iter().map(|cell| Trimmed::of(&lns(&cell[at]))).collect();
        let of = |part: fn(&Trimmed) -> f64| each.iter().map(part).sum::<f64>();
        let (squares, freedom, over) = (of(|t| t.squares), of(|t| t.left - 1.0), of(|t| 1.0 / t.left));
        (squares / freedom * over / (cells.len() as f64).powi(2), freedom)
    };
    let (error, freedom) = welch([side(0), side(1)]);
    let uncertainty = Uncertainty { error, freedom, between: 0.0, of: NeededData::Windows };
    (freedom >= 1.0).then_some(uncertainty)
}

/// Returns the uncertainty of the difference between both sides, with one observation for each condition. This function
/// is for sides that have only one window under some condition.
fn by_conditions(cells: &[Cell]) -> Option<Uncertainty> {
    let apart: Vec<f64> = cells.iter().map(|cell| middle(&lns(&cell[1])) - middle(&lns(&cell[0]))).collect();
    let sample = Sample::of(&apart).filter(|_| apart.len() >= FEWEST_WINDOWS)?;
    Some(Uncertainty { error: sample.error(), freedom: sample.n - 1.0, between: 0.0, of: NeededData::Windows })
}

/// Returns two values whose mean is `centre` and whose difference is `apart`.
fn around(centre: f64, apart: f64) -> [f64; 2] {
    [centre.midpoint(centre - apart), centre.midpoint(centre + apart)]
}

/// Returns the number of observations of each side, over all conditions.
pub(super) fn counts(cells: &[Cell]) -> (usize, usize) {
    let count = |side: usize| cells.iter().map(|cell| cell[side].len()).sum();
    (count(0), count(1))
}

fn lns(observations: &[Observation]) -> Vec<f64> {
    observations.iter().map(|observation| observation.ln).collect()
}

/// Returns the mean of the middle three fifths of the values. Disturbed windows hardly change this trimmed mean.
/// Without disturbed windows, the trimmed mean is nearly as precise as the mean of all values (Tukey 1960).
fn middle(values: &[f64]) -> f64 {
    Trimmed::of(values).mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::normal;

    /// Simulated runs of both sides, with several conditions and windows. Runs and windows scatter with the given
    /// standard deviations.
    struct Simulated {
        conditions: usize,
        windows: [usize; 2],
        runs: [usize; 2],
        run_sd: [f64; 2],
        window_sd: [f64; 2],
    }

    impl Simulated {
        fn cells(&self, apart: f64, random: &mut fastrand::Rng) -> Vec<Cell> {
            let runs = [0, 1]
                .map(|side| (0..self.runs[side]).map(|_| self.run_sd[side] * normal(random)).collect::<Vec<f64>>());
            let mut cell = |condition: usize| {
                [0, 1].map(|side| {
                    let centre = condition as f64 + if side == 1 { apart } else { 0.0 };
                    let of_run = |(unit, run): (usize, &f64)| {
                        let ln = centre + run;
                        (0..self.windows[side])
                            .map(|turn| {
                                let ln = ln + self.window_sd[side] * normal(random);
                                Observation { unit, turn, others: None, ln }
                            })
                            .collect()
                    };
                    runs[side].iter().enumerate().map(of_run).collect::<Vec<Vec<Observation>>>().concat()
                })
            };
            (0..self.conditions).map(&mut cell).collect()
        }

        /// Returns the number of wrong intervals among 1,000 comparisons of equal sides. An interval is wrong if it
        /// does not contain 0.
        fn misses(&self, pairing: Pairing) -> usize {
            let mut random = fastrand::Rng::with_seed(21);
            let missed = |_: &usize| {
                let apart = contrast(&self.cells(0.0, &mut random), pairing).unwrap();
                let uncertainty = apart.uncertainty.unwrap();
                (apart.sides[1] - apart.sides[0]).abs() > uncertainty.error * stats::student::t95(uncertainty.freedom)
            };
            (0..1000).filter(missed).count()
        }
    }

    /// About 5 of 100 intervals do not contain the true difference, for any kind and number of observations.
    #[test]
    fn intervals_miss_as_often_as_they_say() {
        let of = |conditions, windows, runs, run_sd| Simulated {
            conditions,
            windows,
            runs,
            run_sd: [run_sd; 2],
            window_sd: [0.02; 2],
        };
        // In one case, the side with fewer observations scatters ten times as much as the other side.
        let uneven = |run_sd, window_sd, case| Simulated { run_sd, window_sd, ..case };
        let cases = [
            (of(1, [20, 20], [1, 1], 0.0), Pairing::InTurns),
            (of(1, [7, 7], [1, 1], 0.0), Pairing::InTurns),
            (of(8, [2, 2], [1, 1], 0.0), Pairing::InTurns),
            (of(8, [5, 1], [1, 1], 0.0), Pairing::InTurns),
            (of(8, [1, 1], [1, 1], 0.0), Pairing::InTurns),
            (of(8, [1, 1], [1, 1], 0.01), Pairing::Kept),
            (of(1, [20, 20], [1, 1], 0.01), Pairing::Kept),
            (of(8, [1, 1], [5, 5], 0.01), Pairing::Kept),
            (of(8, [3, 3], [3, 3], 0.03), Pairing::Kept),
            (uneven([0.005, 0.05], [0.0; 2], of(1, [1, 1], [40, 3], 0.0)), Pairing::Kept),
            (uneven([0.005, 0.05], [0.005; 2], of(4, [2, 2], [12, 4], 0.0)), Pairing::Kept),
            (uneven([0.0; 2], [0.005, 0.05], of(1, [40, 6], [1, 1], 0.0)), Pairing::InTurns),
            (uneven([0.0; 2], [0.005, 0.05], of(8, [10, 2], [1, 1], 0.0)), Pairing::InTurns),
        ];
        for (case, pairing) in cases {
            let missed = case.misses(pairing);
            println!(
                "{} conditions, windows {:?}, runs {:?}: {missed} of 1000",
                case.conditions, case.windows, case.runs
            );
            assert!((8..=75).contains(&missed), "{missed}");
        }
    }

    #[test]
    fn a_difference_under_one_condition_of_many_counts() {
        let case = Simulated { conditions: 8, windows: [1, 1], runs: [1, 1], run_sd: [0.0; 2], window_sd: [0.001; 2] };
        let mut cells = case.cells(0.0, &mut fastrand::Rng::with_seed(3));
        cells[7][1].iter_mut().for_each(|observation| observation.ln += 0.3);
        let apart = contrast(&cells, Pairing::InTurns).unwrap();
        assert!((apart.sides[1] - apart.sides[0] - 0.3 / 8.0).abs() < 0.002, "{apart:?}");
    }

    #[test]
    fn too_little_that_was_repeated_has_no_interval() {
        for windows in [[1, 1], [2, 1]] {
            let case = Simulated { conditions: 2, windows, runs: [1, 1], run_sd: [0.0; 2], window_sd: [0.01; 2] };
            let apart = contrast(&case.cells(0.0, &mut fastrand::Rng::with_seed(4)), Pairing::Kept).unwrap();
            assert_eq!(apart.uncertainty, None, "{windows:?}");
        }
        assert_eq!(contrast(&[], Pairing::Kept), None);
    }
}
