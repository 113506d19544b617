//! The posterior on a grid: of every capacity and steepness, how likely the windows are, at every scatter of the machine's speed. What
//! is thought before any window stands here too.

use super::asked::{Asked, MOST, SPREAD, Shown, What, mean_ln, refused_ln};
use super::estimate::Estimate;
use super::speed::{Kernel, SCATTERS as SPEEDS};

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

/// The windows as they are weighed.
pub(super) struct Grid<'a> {
    pub(super) windows: &'a [Shown],
    pub(super) asked: &'a Asked,
    /// Requests of each that are worth one.
    pub(super) dispersions: Vec<f64>,
}

impl Grid<'_> {
    /// Logarithm of the likelihood of one window.
    fn ln_likelihood(&self, (w, dispersion): (&Shown, f64), c: f64, steep: f64, limiter: f64) -> f64 {
        let shown = w.late / w.answered;
        match self.asked.what {
            What::Share { .. } | What::Refused { .. } => {
                let (p_ln, share) = (self.share_ln(w, c, steep, limiter), shown.min(1.0));
                w.answered / dispersion * (share * p_ln + (1.0 - share) * (-p_ln.exp()).ln_1p())
            }
            What::Mean => {
                let off = shown.max(1e-9).ln() - mean_ln(w.rate, c, steep);
                -0.5 * off * off * w.answered / (SPREAD * dispersion)
            }
        }
    }

    /// The rate of the limiter, where that is what is asked.
    fn limiter(&self, c: f64, steep: f64) -> f64 {
        if let What::Refused { .. } = self.asked.what { self.asked.saturation(c, steep) } else { c }
    }

    fn share_ln(&self, window: &Shown, c: f64, steep: f64, limiter: f64) -> f64 {
        match self.asked.what {
            What::Share { allowed, limit_s } => self.asked.late_ln(window, (c, steep), (allowed, limit_s)),
            What::Refused { .. } | What::Mean => refused_ln(window.rate / limiter - 1.0, steep).min(MOST.ln()),
        }
    }

    /// What was thought before any window: every logarithm of `c` alike, but for where the line reaches 0 and how much the work
    /// scatters. The closed loop's steps had speeds of their own.
    fn ln_prior(&self, c: f64, steep: f64, speeds: f64) -> f64 {
        let scatter = self.asked.scatter(c, steep).map_or(0.0, |s| -0.5 * ((s / SCATTERS.0).ln() / SCATTERS.1).powi(2));
        let Some(full) = self.asked.full else { return scatter };
        let off = (self.asked.saturation(c, steep) / full).ln();
        let bell = |(share, apart): (f64, f64)| {
            let sd = apart.hypot(speeds * STEPS_SHARE);
            share / sd * (-0.5 * (off / sd).powi(2)).exp()
        };
        scatter + APART.iter().copied().map(bell).sum::<f64>().max(1e-12).ln()
    }

    /// Likelihoods of the windows and what was thought before, by how much the speeds scatter.
    fn by_speed(&self, rates: &[f64], steeps: &[f64], step: f64) -> Vec<AtSpeeds> {
        let windows: Vec<Vec<Vec<f64>>> = steeps.iter().map(|steep| self.windows_ln(rates, *steep)).collect();
        let of = |&(speeds, thought): &(f64, f64)| {
            let kernel = Kernel::new(speeds, step);
            let row = |(steep, windows): (&f64, &Vec<Vec<f64>>)| {
                let prior = |c: &f64| self.ln_prior(*c, *steep, speeds) + thought.ln();
                let mut row: Vec<f64> = rates.iter().map(prior).collect();
                windows.iter().for_each(|window| add(&mut row, &kernel.smoothed(window)));
                row
            };
            AtSpeeds { speeds, rows: steeps.iter().zip(&windows).map(row).collect() }
        };
        SPEEDS.iter().map(of).collect()
    }

    /// Logarithms of the likelihoods of each window over the rates.
    fn windows_ln(&self, rates: &[f64], steep: f64) -> Vec<Vec<f64>> {
        // A limiter's rate is in proportion to the capacity; finding it takes a while.
        let limiter = self.limiter(1.0, steep);
        let of = |(w, d): (&Shown, &f64)| {
            rates.iter().map(|c| self.ln_likelihood((w, *d), *c, steep, c * limiter)).collect()
        };
        self.windows.iter().zip(&self.dispersions).map(of).collect()
    }

    /// The posterior over capacities between two logarithms and all steepnesses.
    pub(super) fn posterior(&self, (from, to): (f64, f64)) -> Posterior {
        let step = (to - from) / (RATES - 1) as f64;
        let ratio = (STEEP.1 / STEEP.0).ln() / (STEEPS - 1) as f64;
        let rates: Vec<f64> = (0..RATES).map(|i| (from + step * i as f64).exp()).collect();
        let steeps: Vec<f64> = (0..STEEPS).map(|j| STEEP.0 * (ratio * j as f64).exp()).collect();
        let mut by_speed = self.by_speed(&rates, &steeps, step);
        let all = by_speed.iter().flat_map(|at| at.rows.iter().flatten());
        let top = all.copied().fold(f64::NEG_INFINITY, f64::max);
        by_speed.iter_mut().for_each(|at| at.rows.iter_mut().flatten().for_each(|l| *l = (*l - top).exp()));
        let whole: f64 = by_speed.iter().map(AtSpeeds::mass).sum();
        let speeds = by_speed.iter().map(|at| at.speeds * at.mass() / whole).sum();
        let cell = |i: usize, j: usize| by_speed.iter().map(|at| at.rows[j][i]).sum::<f64>();
        let cells = (0..RATES).flat_map(|i| (0..STEEPS).map(move |j| (i, j)));
        Posterior { cells: cells.map(|(i, j)| (rates[i], steeps[j], cell(i, j))).collect(), step, speeds }
    }

    /// How much more the windows scatter than was thought, counted with that thought; `scaled` is what the dispersions hold of
    /// it already, `thought` for how many windows that thought counts.
    pub(super) fn scatter(&self, found: &Estimate, scaled: f64, thought: f64) -> f64 {
        let of = |(w, dispersion): (&Shown, &f64)| {
            let (shown, draws) = (w.late / w.answered, w.answered / dispersion);
            let squared = match self.asked.what {
                What::Share { .. } | What::Refused { .. } => {
                    let limiter = self.limiter(found.rate, found.steep);
                    let p = self.share_ln(w, found.rate, found.steep, limiter).exp();
                    (shown - p).powi(2) / (p * (1.0 - p))
                }
                What::Mean => (shown.max(1e-9).ln() - mean_ln(w.rate, found.rate, found.steep)).powi(2) / SPREAD,
            };
            (squared * draws).min(20.0)
        };
        let sum: f64 = scaled * self.windows.iter().zip(&self.dispersions).map(of).sum::<f64>();
        let more = (self.windows.len() as f64 - 2.0).max(0.0);
        (thought + sum) / (thought + more)
    }
}

/// What was made of the windows where speeds scatter so.
struct AtSpeeds {
    speeds: f64,
    /// Of each steepness, over the rates.
    rows: Vec<Vec<f64>>,
}

impl AtSpeeds {
    fn mass(&self) -> f64 {
        self.rows.iter().flatten().sum()
    }
}

/// Capacities and steepnesses with their weights.
pub(super) struct Posterior {
    cells: Vec<(f64, f64, f64)>,
    /// Between two rates of the grid, in logarithm.
    step: f64,
    /// How much the speed of the machine is thought to change from window to window, in logarithm.
    speeds: f64,
}

impl Posterior {
    /// Rates with their share of the whole, in order.
    fn rates(&self) -> Vec<(f64, f64)> {
        let of = |row: &[(f64, f64, f64)]| (row[0].0, row.iter().map(|c| c.2).sum::<f64>());
        let rows: Vec<(f64, f64)> = self.cells.chunks(STEEPS).map(of).collect();
        let all: f64 = rows.iter().map(|r| r.1).sum();
        rows.into_iter().map(|(c, w)| (c, w / all)).collect()
    }

    /// Where all but next to nothing of it lies, in logarithm.
    pub(super) fn span(&self) -> (f64, f64) {
        let rates = self.rates();
        let kept = || rates.iter().filter(|(_, w)| *w > 1e-6).map(|(c, _)| c.ln());
        let (low, high) = (kept().fold(f64::INFINITY, f64::min), kept().fold(f64::NEG_INFINITY, f64::max));
        let beyond = self.step + 2.0 * self.speeds;
        (low - beyond, high + beyond)
    }

    fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (c, w) in self.rates() {
            if below + w >= share {
                // Within a cell the mass is taken as even.
                let within = if w > 0.0 { (share - below) / w - 0.5 } else { 0.0 };
                return c * (within * self.step).exp();
            }
            below += w;
        }
        f64::NAN
    }

    pub(super) fn estimate(&self) -> Option<Estimate> {
        let all: f64 = self.cells.iter().map(|c| c.2).sum();
        let steep = (self.cells.iter().map(|c| c.2 * c.1.ln()).sum::<f64>() / all).exp();
        let found = Estimate {
            rate: self.quantile(0.5),
            low: self.quantile(0.025),
            high: self.quantile(0.975),
            steep,
            speeds: self.speeds,
        };
        (found.rate.is_finite() && found.low.is_finite() && found.high.is_finite()).then_some(found)
    }
}

fn add(sum: &mut [f64], more: &[f64]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
