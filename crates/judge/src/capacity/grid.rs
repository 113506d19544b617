//! The posterior on a grid: of every capacity and steepness, how likely the windows are, at every scatter of the machine's speed. What
//! is thought before any window stands here too.

use super::asked::{Asked, Line, SPREAD, Shown, What};
use super::estimate::Estimate;
use super::speed::{Kernel, SCATTERS as SPEEDS, exp, smoothed};
use super::weights::Posterior;

/// Steps of the grid: of the capacity in each pass, and of the steepness.
const RATES: usize = 160;
const STEEPS: usize = 30;
/// Range of the steepness.
const STEEP: (f64, f64) = (1.5, 3000.0);
/// How far the mean of the closed loop's full steps and where the open loop is full may be apart: most often, and else.
const APART: [(f64, f64); 2] = [(0.75, 0.05), (0.25, 0.25)];

/// Variance of the unfinished work, in services: 2 for M/M, 1 for M/D, more for servers that work in batches or stand still now and
/// then; and how far off that may be, as a standard deviation of its logarithm. A long limit takes many services to pass, so its
/// line is steep; windows too short for it to be passed at all would else leave open that it is flat.
const SCATTERS: (f64, f64) = (4.0, 1.5);

/// What of the scatter of speeds is left in the mean of the closed loop's steps, of which some four are full.
const STEPS_SHARE: f64 = 0.5;

/// Axes of a grid.
struct Axes {
    rates: Vec<f64>,
    steeps: Vec<f64>,
    /// Between two rates, in logarithm.
    step: f64,
}

impl Axes {
    /// Rates between two logarithms, and all steepnesses.
    fn new((from, to): (f64, f64)) -> Self {
        let step = (to - from) / (RATES - 1) as f64;
        let ratio = (STEEP.1 / STEEP.0).ln() / (STEEPS - 1) as f64;
        Self {
            rates: (0..RATES).map(|i| (from + step * i as f64).exp()).collect(),
            steeps: (0..STEEPS).map(|j| STEEP.0 * (ratio * j as f64).exp()).collect(),
            step,
        }
    }

    /// The line of each cell: of a steepness, over the rates.
    fn lines(&self, asked: &Asked) -> Vec<Vec<Line>> {
        // A limiter's rate is in proportion to the capacity, and finding it takes a while.
        let row = |steep: &f64| {
            let one = asked.line(1.0, *steep);
            self.rates.iter().map(|c| one.at(*c)).collect()
        };
        self.steeps.iter().map(row).collect()
    }
}

/// The windows as they are weighed. What does not hang on how many draws a window is worth is worked out once: passes differ in that.
pub(super) struct Grid {
    axes: Axes,
    /// Logarithm of what was thought before any window, by scatter of speeds.
    priors: Vec<Vec<Vec<f64>>>,
    /// Of each steepness and window, over the rates: the logarithm of the likelihood of one draw.
    of_a_draw: Vec<Vec<Vec<f64>>>,
    /// Answers of each window.
    answered: Vec<f64>,
}

impl Grid {
    /// Capacities between two logarithms.
    pub(super) fn new(windows: &[Shown], asked: &Asked, span: (f64, f64)) -> Self {
        let axes = Axes::new(span);
        let lines = axes.lines(asked);
        let weigh = |row: &Vec<Line>| {
            windows.iter().map(|w| row.iter().map(|line| of_a_draw(asked, w, line)).collect()).collect()
        };
        Self {
            priors: priors(asked, &lines),
            of_a_draw: lines.iter().map(weigh).collect(),
            answered: windows.iter().map(|w| w.answered).collect(),
            axes,
        }
    }

    /// The posterior where so many answers of each window are worth one draw.
    pub(super) fn posterior(&self, dispersions: &[f64]) -> Posterior {
        let draws: Vec<f64> = self.answered.iter().zip(dispersions).map(|(answered, d)| answered / d).collect();
        let mut by_speed = self.by_speed(&draws);
        let top = by_speed.iter().flat_map(|rows| rows.iter().flatten()).copied().fold(f64::NEG_INFINITY, f64::max);
        by_speed.iter_mut().for_each(|rows| rows.iter_mut().flatten().for_each(|l| *l = exp(*l - top)));
        let mass = |rows: &Vec<Vec<f64>>| rows.iter().flatten().sum::<f64>();
        let whole: f64 = by_speed.iter().map(mass).sum();
        let speeds = SPEEDS.iter().zip(&by_speed).map(|((speeds, _), rows)| speeds * mass(rows) / whole).sum();
        let cell = |i: usize, j: usize| by_speed.iter().map(|rows| rows[j][i]).sum::<f64>();
        let cells = (0..RATES).flat_map(|i| (0..STEEPS).map(move |j| (i, j)));
        let cells = cells.map(|(i, j)| (self.axes.rates[i], self.axes.steeps[j], cell(i, j))).collect();
        Posterior { cells, steeps: STEEPS, step: self.axes.step, speeds }
    }

    /// What was thought and what the windows say together, by how much the speeds scatter.
    fn by_speed(&self, draws: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let kernels: Vec<Kernel> = SPEEDS.iter().map(|(speeds, _)| Kernel::new(*speeds, self.axes.step)).collect();
        let mut by_speed = self.priors.clone();
        for (j, windows) in self.of_a_draw.iter().enumerate() {
            for (at_speed, smoothed) in by_speed.iter_mut().zip(smoothed(&kernels, windows, draws)) {
                at_speed[j].iter_mut().zip(smoothed).for_each(|(sum, more)| *sum += more);
            }
        }
        by_speed
    }
}

/// Logarithm of the likelihood of one draw of a window.
fn of_a_draw(asked: &Asked, w: &Shown, line: &Line) -> f64 {
    let (shown, law) = (w.late / w.answered, asked.shown_ln(w, line));
    match asked.what {
        What::Share { .. } | What::Refused { .. } => {
            let share = shown.min(1.0);
            share * law + (1.0 - share) * (-law.exp()).ln_1p()
        }
        What::Mean => -0.5 * (shown.max(1e-9).ln() - law).powi(2) / SPREAD,
    }
}

/// What was thought before any window, in logarithm, by how much the speeds scatter: every logarithm of the capacity alike, but for
/// where its line reaches 0 and how much the work scatters. The closed loop's steps had speeds of their own.
fn priors(asked: &Asked, lines: &[Vec<Line>]) -> Vec<Vec<Vec<f64>>> {
    let scatter = |line: &Line| line.scatter.map_or(0.0, |s| -0.5 * ((s / SCATTERS.0).ln() / SCATTERS.1).powi(2));
    let off = |line: &Line| asked.full.map(|full| (line.full / full).ln());
    let cells: Vec<Vec<_>> = lines.iter().map(|row| row.iter().map(|l| (scatter(l), off(l))).collect()).collect();
    let of = |&(speeds, thought): &(f64, f64)| {
        let bells = APART.map(|(share, apart)| (share, apart.hypot(speeds * STEPS_SHARE)));
        let prior =
            |(scatter, off): &(f64, Option<f64>)| scatter + off.map_or(0.0, |off| bells_ln(bells, off)) + thought.ln();
        cells.iter().map(|row| row.iter().map(prior).collect()).collect()
    };
    SPEEDS.iter().map(of).collect()
}

/// Two normal densities, each with its share and its standard deviation, in logarithm.
fn bells_ln(bells: [(f64, f64); 2], off: f64) -> f64 {
    let bell = |(share, sd): (f64, f64)| share / sd * exp(-0.5 * (off / sd).powi(2));
    bells.map(bell).iter().sum::<f64>().max(1e-12).ln()
}

/// How much more the windows scatter than was thought, counted with that thought; `scaled` is what the dispersions hold of it already,
/// `thought` for how many windows that thought counts.
pub(super) fn scatter(
    (windows, dispersions): (&[Shown], &[f64]),
    asked: &Asked,
    found: &Estimate,
    (scaled, thought): (f64, f64),
) -> f64 {
    let line = asked.line(found.rate, found.steep);
    let of = |(w, dispersion): (&Shown, &f64)| {
        let (shown, draws, law) = (w.late / w.answered, w.answered / dispersion, asked.shown_ln(w, &line));
        let squared = match asked.what {
            What::Share { .. } | What::Refused { .. } => (shown - law.exp()).powi(2) / (law.exp() * (1.0 - law.exp())),
            What::Mean => (shown.max(1e-9).ln() - law).powi(2) / SPREAD,
        };
        (squared * draws).min(20.0)
    };
    let sum: f64 = scaled * windows.iter().zip(dispersions).map(of).sum::<f64>();
    let more = (windows.len() as f64 - 2.0).max(0.0);
    (thought + sum) / (thought + more)
}
