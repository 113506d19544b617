//! Computes the posterior distribution on a grid of capacities and steepnesses, for each possible scatter of the
//! machine's speed. The posterior combines the prior distribution with the likelihood of the measured windows.

use super::constraint::{CapacityModel, Constraint, ConstraintKind, SPREAD, WindowObservation};
use super::estimate::CapacityEstimate;
use super::speed::{Kernel, SCATTERS as SPEEDS, exp, smoothed};
use super::weights::Posterior;

/// Number of capacities in the grid.
pub(super) const RATES: usize = 100;
/// Number of capacities in the first, coarse grid, which only finds the range of the second grid.
pub(super) const COARSE_RATES: usize = 60;
/// Number of steepnesses in the grid.
const STEEPS: usize = 30;
/// Minimum and maximum steepness of the grid (`steep` in the formula of `posterior/mod.rs`).
const STEEPNESS_RANGE: (f64, f64) = (1.5, 3000.0);
/// Prior distribution of the distance, in logarithms, between the saturation rate that the closed loop measured and the
/// saturation rate of the model. The prior is a mixture of two normal densities, each with a weight and a standard
/// deviation.
const SATURATION_DISTANCE: [(f64, f64); 2] = [(0.75, 0.05), (0.25, 0.25)];

/// Prior distribution of the variance of the server's unfinished work, in service times: its median, and the standard
/// deviation of its logarithm. The variance of the unfinished work is 2 for M/M, 1 for M/D, and larger for servers that
/// work in batches or pause. If the latency limit equals many service times, the share of late answers rises steeply
/// with the rate. Without a prior of the variance, windows that are too short for late answers would also fit another
/// model. In this model, the share of late answers hardly rises.
const SCATTERS: (f64, f64) = (4.0, 1.5);

/// Standard deviation of the machine's mean speed during the closed loop, divided by the standard deviation of its
/// speed in one window. The value is 0.5 because the closed loop has about four load levels at saturation, over which
/// the speed is averaged.
const STEPS_SHARE: f64 = 0.5;

/// Prior probability that a window was disturbed without any sign in the counters. Examples are a garbage collection, a
/// checkpoint, or another guest of the machine. A disturbance never makes a server faster. A disturbed window therefore
/// shows more late requests than the capacity predicts, never fewer.
const SPOILED: f64 = 0.05;

/// Axes of the grid: its capacities and its steepnesses.
struct Axes {
    rates: Vec<f64>,
    steeps: Vec<f64>,
    /// Difference between the logarithms of neighbouring rates.
    step: f64,
}

impl Axes {
    /// Creates the axes: capacities whose logarithms lie in the given range, and all steepnesses.
    fn new((from, to): (f64, f64), count: usize) -> Self {
        let step = (to - from) / (count - 1) as f64;
        let ratio = (STEEPNESS_RANGE.1 / STEEPNESS_RANGE.0).ln() / (STEEPS - 1) as f64;
        Self {
            rates: (0..count).map(|i| (from + step * i as f64).exp()).collect(),
            steeps: (0..STEEPS).map(|j| STEEPNESS_RANGE.0 * (ratio * j as f64).exp()).collect(),
            step,
        }
    }

    /// Returns the model of each cell, one row per steepness with one cell per rate.
    fn lines(&self, constraint: &Constraint) -> Vec<Vec<CapacityModel>> {
        // The rates of a model are proportional to the capacity. The saturation rate takes long to compute, so it is
        // computed once per steepness.
        let row = |steep: &f64| {
            let one = constraint.line(1.0, *steep);
            self.rates.iter().map(|c| one.at(*c)).collect()
        };
        self.steeps.iter().map(row).collect()
    }
}

/// The grid of capacities and steepnesses, with the likelihood of each window of a capacity search in each cell. An
/// estimate uses the grid in several passes over the windows. Each pass over the windows assumes another number of
/// independent draws per window. The grid stores all values that do not depend on the number of draws, so they are
/// computed only once.
pub(super) struct Grid {
    axes: Axes,
    /// Logarithm of the prior probability of each grid cell, for each possible scatter of the machine's speed.
    priors: Vec<Vec<Vec<f64>>>,
    /// Log likelihood of one independent draw, by steepness, window and rate.
    of_a_draw: Vec<Vec<Vec<f64>>>,
    /// For each window, the log likelihood of one independent draw under a model that predicts exactly the observed
    /// share of late requests.
    exact: Vec<f64>,
    /// Number of answers in each window.
    answered: Vec<f64>,
}

impl Grid {
    /// Creates a grid with capacities whose logarithms lie in `span`.
    pub(super) fn new(windows: &[WindowObservation], constraint: &Constraint, span: (f64, f64), rates: usize) -> Self {
        let axes = Axes::new(span, rates);
        let lines = axes.lines(constraint);
        let weigh = |row: &Vec<CapacityModel>| {
            windows.iter().map(|w| row.iter().map(|line| of_a_draw(constraint, w, line)).collect()).collect()
        };
        Self {
            priors: priors(constraint, &lines),
            of_a_draw: lines.iter().map(weigh).collect(),
            exact: windows.iter().map(|w| exact(constraint, w)).collect(),
            answered: windows.iter().map(|w| w.answered).collect(),
            axes,
        }
    }

    /// Returns the posterior distribution over the cells of the grid. `dispersions` has one value per window: the
    /// number of answers that carry as much information as one independent answer.
    pub(super) fn posterior(&self, dispersions: &[f64]) -> Posterior {
        let draws: Vec<f64> = self.answered.iter().zip(dispersions).map(|(answered, d)| answered / d).collect();
        let mut by_speed = self.by_speed(&draws);
        let top = by_speed.iter().flat_map(|rows| rows.iter().flatten()).copied().fold(f64::NEG_INFINITY, f64::max);
        by_speed.iter_mut().for_each(|rows| rows.iter_mut().flatten().for_each(|l| *l = exp(*l - top)));
        let mass = |rows: &Vec<Vec<f64>>| rows.iter().flatten().sum::<f64>();
        let whole: f64 = by_speed.iter().map(mass).sum();
        let speeds = SPEEDS.iter().zip(&by_speed).map(|((speeds, _), rows)| speeds * mass(rows) / whole).sum();
        let cell = |i: usize, j: usize| by_speed.iter().map(|rows| rows[j][i]).sum::<f64>();
        let cells = (0..self.axes.rates.len()).flat_map(|i| (0..STEEPS).map(move |j| (i, j)));
        let cells = cells.map(|(i, j)| (self.axes.rates[i], self.axes.steeps[j], cell(i, j))).collect();
        Posterior { cells, steeps: STEEPS, step: self.axes.step, speeds }
    }

    /// Returns, for each scatter of the speed and each cell, the logarithm of the prior probability times the
    /// likelihood.
    fn by_speed(&self, draws: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let kernels: Vec<Kernel> = SPEEDS.iter().map(|(speeds, _)| Kernel::new(*speeds, self.axes.step)).collect();
        let mut by_speed = self.priors.clone();
        for (j, windows) in self.of_a_draw.iter().enumerate() {
            let of_window = |((row, exact), draws): ((&Vec<f64>, &f64), &f64)| or_spoiled(row, *exact, *draws);
            let windows: Vec<Vec<f64>> = windows.iter().zip(&self.exact).zip(draws).map(of_window).collect();
            for (at_speed, smoothed) in by_speed.iter_mut().zip(smoothed(&kernels, &windows)) {
                at_speed[j].iter_mut().zip(smoothed).for_each(|(sum, more)| *sum += more);
            }
        }
        by_speed
    }
}

/// Returns the log likelihood of one independent draw of a window under a model.
fn of_a_draw(constraint: &Constraint, w: &WindowObservation, line: &CapacityModel) -> f64 {
    let (shown, law) = (w.late / w.answered, constraint.shown_ln(w, line));
    match constraint.kind {
        ConstraintKind::Share { .. } | ConstraintKind::Refused { .. } => {
            let share = shown.min(1.0);
            share * law + (1.0 - share) * (-law.exp()).ln_1p()
        }
        ConstraintKind::Mean => -0.5 * (shown.max(1e-9).ln() - law).powi(2) / SPREAD,
    }
}

/// Returns the log likelihood of one independent draw of a window under a model that predicts exactly the observed
/// share of late requests.
fn exact(constraint: &Constraint, w: &WindowObservation) -> f64 {
    let share = (w.late / w.answered).clamp(1e-12, 1.0 - 1e-12);
    match constraint.kind {
        ConstraintKind::Share { .. } | ConstraintKind::Refused { .. } => {
            share * share.ln() + (1.0 - share) * (1.0 - share).ln()
        }
        // Beyond saturation, mean response times far above the limit are common, so they are no sign of a disturbed
        // window.
        ConstraintKind::Mean => f64::NEG_INFINITY,
    }
}

/// Returns the log likelihood of a window for each capacity, given the log likelihood of one draw. If a capacity
/// predicts fewer late requests than the window had, the window may also have been disturbed ([`SPOILED`]).
fn or_spoiled(of_a_draw: &[f64], exact: f64, draws: f64) -> Vec<f64> {
    // The predicted share of late requests falls as the capacity grows. For capacities below the best one, the model
    // predicts more late requests than the window had.
    let best = of_a_draw.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(i, _)| i);
    let (sound, spoiled) = ((1.0 - SPOILED).ln(), draws * exact + SPOILED.ln());
    let of = |(i, l): (usize, &f64)| {
        let plain = draws * l + sound;
        let (most, least) = (plain.max(spoiled), plain.min(spoiled));
        if i < best { plain } else { most + exp(least - most).ln_1p() }
    };
    of_a_draw.iter().enumerate().map(of).collect()
}

/// Returns the logarithm of the prior probability of each grid cell (one steepness, one capacity). The result has one
/// grid for each possible scatter of the machine's speed. Apart from the priors on the saturation rate and on the
/// variance of the unfinished work, all logarithms of the capacity are equally likely. If the machine's speed scatters,
/// the saturation rate is less certain, because each load level of the closed loop ran at another speed.
fn priors(constraint: &Constraint, lines: &[Vec<CapacityModel>]) -> Vec<Vec<Vec<f64>>> {
    let scatter =
        |line: &CapacityModel| line.scatter.map_or(0.0, |s| -0.5 * ((s / SCATTERS.0).ln() / SCATTERS.1).powi(2));
    let off = |line: &CapacityModel| constraint.full.map(|full| (line.full / full).ln());
    let cells: Vec<Vec<_>> = lines.iter().map(|row| row.iter().map(|l| (scatter(l), off(l))).collect()).collect();
    let of = |&(speeds, thought): &(f64, f64)| {
        let densities = SATURATION_DISTANCE.map(|(share, apart)| (share, apart.hypot(speeds * STEPS_SHARE)));
        let prior = |(scatter, off): &(f64, Option<f64>)| {
            scatter + off.map_or(0.0, |off| log_sum_normals(densities, off)) + thought.ln()
        };
        cells.iter().map(|row| row.iter().map(prior).collect()).collect()
    };
    SPEEDS.iter().map(of).collect()
}

/// Returns the logarithm of a mixture of two normal densities around 0, each with a weight and a standard deviation.
fn log_sum_normals(densities: [(f64, f64); 2], off: f64) -> f64 {
    let density = |(share, sd): (f64, f64)| share / sd * exp(-0.5 * (off / sd).powi(2));
    densities.map(density).iter().sum::<f64>().max(1e-12).ln()
}

/// Returns the variance between the windows, divided by the variance that the prior predicts, and averaged with a prior
/// ratio of 1. The given dispersions contain the factor `scaled`, but the result is relative to the prior without this
/// factor. `thought` is the weight of the prior, as a number of windows.
pub(super) fn scatter(
    (windows, dispersions): (&[WindowObservation], &[f64]),
    constraint: &Constraint,
    found: &CapacityEstimate,
    (scaled, thought): (f64, f64),
) -> f64 {
    let line = constraint.line(found.rate, found.steep);
    let of = |(w, dispersion): (&WindowObservation, &f64)| {
        let (shown, draws, law) = (w.late / w.answered, w.answered / dispersion, constraint.shown_ln(w, &line));
        let squared = match constraint.kind {
            ConstraintKind::Share { .. } | ConstraintKind::Refused { .. } => {
                (shown - law.exp()).powi(2) / (law.exp() * (1.0 - law.exp()))
            }
            ConstraintKind::Mean => (shown.max(1e-9).ln() - law).powi(2) / SPREAD,
        };
        (squared * draws).min(20.0)
    };
    let sum: f64 = scaled * windows.iter().zip(dispersions).map(of).sum::<f64>();
    let more = (windows.len() as f64 - 2.0).max(0.0);
    (thought + sum) / (thought + more)
}
