//! How far two sides are apart, from values that were measured under several conditions, in runs or repeats of their own.
//!
//! What counts as one observation depends on what was repeated. Where both sides have three runs or repeats, each of these is one: what
//! changes from run to run (memory layout, neighbours of a virtual machine) is the same in all windows of a run. Otherwise windows
//! are, within their condition; and where a condition has one window on a side, conditions are. The interval is Student's.

use crate::thresholds::{BETWEEN_RUNS, FEWEST_WINDOWS};
use run::MoreOf;
use stats::ranks::{self, Ranks};
use stats::two_means::{Trimmed, welch};

use stats::student;
use stats::{Sample, average};

/// One value, as a logarithm, and the run or repeat that it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) unit: usize,
    pub(super) ln: f64,
}

/// What both sides had under one condition; neither is empty.
pub(super) type Cell = [Vec<Observation>; 2];

/// How the two sides came to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Windows in turns, by one program: what changes from run to run is the same for both.
    InTurns,
    /// Runs that were kept, each made by itself.
    Kept,
}

/// ComparisonInput sides, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    /// Logarithms of both.
    pub(super) sides: [f64; 2],
    /// How surely; absent where too little was repeated.
    pub(super) uncertainty: Option<Uncertainty>,
}

/// How surely two sides are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard error of the difference of the logarithms.
    pub(super) error: f64,
    /// Degrees of freedom of it.
    pub(super) freedom: f64,
    /// The part of the error that more windows of the same runs do not narrow.
    pub(super) between: f64,
    /// What was repeated.
    pub(super) of: MoreOf,
    /// What ranks alone say.
    pub(super) ranks: Option<Ranks>,
}

impl Uncertainty {
    /// Half of the 95 % interval of a difference.
    pub(super) fn half(&self) -> f64 {
        self.error * student::t95(self.freedom)
    }

    /// Chance that two equal servers are so far apart: Student's, and no less than what ranks say where so few can say as much.
    pub(super) fn chance(&self, difference: f64) -> f64 {
        let by_student = student::two_sided(difference / self.error, self.freedom);
        match self.ranks {
            // A few windows that were disturbed can move a mean against most of the ranks.
            Some(ranks) if ranks.sign * difference <= 0.0 => 1.0,
            Some(ranks) if ranks.p > ranks.least_p => by_student.max(ranks.p),
            _ => by_student,
        }
    }
}

/// Looks of both sides under every condition; `None` without one.
pub(super) fn contrast(cells: &[Cell], pairing: Pairing) -> Option<Contrast> {
    let side = |at: usize| average(&cells.iter().map(|cell| middle(&lns(&cell[at]))).collect::<Vec<_>>());
    let sides = [side(0), side(1)];
    (!cells.is_empty()).then(|| Contrast { sides, uncertainty: uncertainty(cells, pairing, None) })
}

/// How surely both are apart. `again` is the error of drawing the windows again, where a figure is none of a single window.
pub(super) fn uncertainty(cells: &[Cell], pairing: Pairing, again: Option<f64>) -> Option<Uncertainty> {
    let units = [0, 1].map(|side| units(cells, side));
    if units.iter().all(|units| units.len() >= FEWEST_WINDOWS) {
        return by_units(&units);
    }
    let within = match cells.iter().flatten().all(|observations| observations.len() > 1) {
        true => by_windows(cells)
            .map(|uncertainty| Uncertainty { error: again.unwrap_or(uncertainty.error), ..uncertainty }),
        false => by_conditions(cells),
    };
    let between = between(pairing, (units[0].len(), units[1].len()));
    within.map(|uncertainty| Uncertainty { error: uncertainty.error.hypot(between), between, ..uncertainty })
}

/// The same of plain values some of which are 0, which has no logarithm, and none of which is cut off: where nothing came back is no
/// disturbance. The ratio is that of the means, its error that of the means as shares of themselves.
pub(super) fn of_means(cells: &[Cell], pairing: Pairing) -> Option<Contrast> {
    let plain =
        |observations: &[Observation]| observations.iter().map(|observation| observation.ln).collect::<Vec<f64>>();
    let mean = |observations: &[Observation]| average(&plain(observations));
    let cells: Vec<&Cell> =
        cells.iter().filter(|cell| cell.iter().all(|observations| mean(observations) > 0.0)).collect();
    let side = |at: usize| average(&cells.iter().map(|cell| mean(&cell[at]).ln()).collect::<Vec<_>>());
    // Each value as a share of its side's mean under the condition: what is left of it to scatter.
    let share = |cell: &Cell| {
        [0, 1].map(|at| {
            let mean = mean(&cell[at]);
            cell[at]
                .iter()
                .map(|observation| Observation { ln: observation.ln / mean - 1.0, ..*observation })
                .collect::<Vec<_>>()
        })
    };
    let shares: Vec<Cell> = cells.iter().map(|cell| share(cell)).collect();
    let runs = [0, 1].map(|side| units(&shares, side));
    let uncertainty = if runs.iter().all(|runs| runs.len() >= FEWEST_WINDOWS) {
        by_units(&runs)
    } else {
        let windows = [0, 1].map(|side| shares.iter().flat_map(|cell| plain(&cell[side])).collect::<Vec<f64>>());
        let between = between(pairing, (runs[0].len().max(1), runs[1].len().max(1)));
        let enough = windows.iter().all(|side| side.len() >= FEWEST_WINDOWS);
        let uncertainty = by_units(&windows).filter(|_| enough);
        uncertainty.map(|uncertainty| Uncertainty {
            error: uncertainty.error.hypot(between),
            between,
            of: MoreOf::Windows,
            ..uncertainty
        })
    };
    // Ranks outvote what a few windows say, and here a few windows are the figure.
    let uncertainty = uncertainty.map(|uncertainty| Uncertainty { ranks: None, ..uncertainty });
    (!cells.is_empty()).then(|| Contrast { sides: [side(0), side(1)], uncertainty })
}

/// What so many runs or repeats of both sides are apart by themselves, as a standard error.
pub(super) fn between(pairing: Pairing, (old, new): (usize, usize)) -> f64 {
    match pairing {
        Pairing::InTurns => 0.0,
        Pairing::Kept => BETWEEN_RUNS * (1.0 / old as f64 + 1.0 / new as f64).sqrt(),
    }
}

/// Of each run or repeat of a side: the mean over its conditions of how far it is from the middle of both sides.
fn units(cells: &[Cell], side: usize) -> Vec<f64> {
    let mut off: std::collections::BTreeMap<usize, Vec<f64>> = std::collections::BTreeMap::new();
    for cell in cells {
        let centre = f64::midpoint(middle(&lns(&cell[0])), middle(&lns(&cell[1])));
        for observation in &cell[side] {
            off.entry(observation.unit).or_default().push(observation.ln - centre);
        }
    }
    off.values().map(|values| average(values)).collect()
}

/// Runs of both sides, each side with a scatter of its own (Welch 1947).
fn by_units([old, new]: &[Vec<f64>; 2]) -> Option<Uncertainty> {
    let (a, b) = (Sample::of(old)?, Sample::of(new)?);
    let (error, freedom) = welch([a, b].map(|side| (side.error().powi(2), side.n - 1.0)));
    let ranks = ranks::within(&[[old.clone(), new.clone()]]);
    Some(Uncertainty { error, freedom, between: 0.0, of: MoreOf::Runs, ranks })
}

/// Windows within their conditions, which scatter alike on a side, and on each side by themselves. Yuen's winsorized variance, since
/// the means are trimmed.
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
    let pairs: Vec<_> = cells.iter().map(|[old, new]| [lns(old), lns(new)]).collect();
    let uncertainty = Uncertainty { error, freedom, between: 0.0, of: MoreOf::Windows, ranks: ranks::within(&pairs) };
    (freedom >= 1.0).then_some(uncertainty)
}

/// Conditions that have one window on a side: each is one difference.
fn by_conditions(cells: &[Cell]) -> Option<Uncertainty> {
    let apart: Vec<f64> = cells.iter().map(|cell| middle(&lns(&cell[1])) - middle(&lns(&cell[0]))).collect();
    let sample = Sample::of(&apart).filter(|_| apart.len() >= FEWEST_WINDOWS)?;
    let ranks = ranks::signed(&apart);
    Some(Uncertainty { error: sample.error(), freedom: sample.n - 1.0, between: 0.0, of: MoreOf::Windows, ranks })
}

/// Looks of both sides under all conditions.
pub(super) fn counts(cells: &[Cell]) -> (usize, usize) {
    let count = |side: usize| cells.iter().map(|cell| cell[side].len()).sum();
    (count(0), count(1))
}

fn lns(observations: &[Observation]) -> Vec<f64> {
    observations.iter().map(|observation| observation.ln).collect()
}

/// The mean of the middle three fifths: a window that the machine disturbed is outvoted, and next to nothing is lost where none
/// was (Tukey 1960).
fn middle(values: &[f64]) -> f64 {
    Trimmed::of(values).mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::normal;

    /// Runs of both sides with windows under some conditions: how far runs and windows scatter, and how far the new side is off.
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
                            .map(|_| Observation { unit, ln: ln + self.window_sd[side] * normal(random) })
                            .collect()
                    };
                    runs[side].iter().enumerate().map(of_run).collect::<Vec<Vec<Observation>>>().concat()
                })
            };
            (0..self.conditions).map(&mut cell).collect()
        }

        /// In how many of 1,000 draws of equal sides the interval misses, and the chance is below 5 %.
        fn misses(&self, pairing: Pairing) -> (usize, usize) {
            let mut random = fastrand::Rng::with_seed(21);
            let mut all = (0, 0);
            for _ in 0..1000 {
                let apart = contrast(&self.cells(0.0, &mut random), pairing).unwrap();
                let (difference, uncertainty) = (apart.sides[1] - apart.sides[0], apart.uncertainty.unwrap());
                all.0 += usize::from(difference.abs() > uncertainty.half());
                all.1 += usize::from(uncertainty.chance(difference) < 0.05);
            }
            all
        }
    }

    /// The interval of equal sides leaves out 0 in about 5 of 100, whatever was repeated and however unevenly.
    #[test]
    fn intervals_miss_as_often_as_they_say() {
        let of = |conditions, windows, runs, run_sd| Simulated {
            conditions,
            windows,
            runs,
            run_sd: [run_sd; 2],
            window_sd: [0.02; 2],
        };
        // The side with the fewer observations scatters ten times as much.
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
            let (missed, sure) = case.misses(pairing);
            println!(
                "{} conditions, windows {:?}, runs {:?}: {missed} and {sure} of 1000",
                case.conditions, case.windows, case.runs
            );
            assert!((8..=75).contains(&missed) && sure <= missed + 5, "{missed} {sure}");
        }
    }

    #[test]
    fn what_is_slower_under_one_condition_of_many_is_not_trimmed_away() {
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
