//! Where the share of late answers crosses what is allowed, from all windows together, with an interval.
//!
//! The model is that of a queue near its limit: waits there are exponential (Kingman 1962), and their mean grows as one over
//! what the rate is short of saturation. So the logarithm of the share of answers that take longer than a limit is a straight
//! line of the offered rate, and reaches 0 where the server is full: `ln P(rate) = ln allowed + steep * (rate - c) / c`. For
//! M/M/1 this is exact. `c` is the capacity, `steep` its elasticity. Both are given a posterior on a grid:
//!
//! - Answers of one window are no independent draws: a queue that is long stays long. Its relaxation time makes a window
//!   worth `answered / dispersion` of them, with a dispersion of about `4 (1 + steep / ln(1 / allowed))^2` (twice the relaxation
//!   time of M/M/1 times its rate; Morse 1955), scaled by what the scatter of the windows says.
//! - The rate at which the closed loop was full says where the line should reach 0, within some 5 % or so.
//!
//! A grid needs no convergence, takes windows in which everything or nothing was late, and has an interval that is as lopsided
//! as the evidence.

use super::asked::{Asked, MOST, Shown, What, mean_ln, refused_ln};

/// A capacity with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median of the posterior, requests per second.
    pub rate: f64,
    /// 2.5 % of the posterior lie below.
    pub low: f64,
    /// 2.5 % lie above.
    pub high: f64,
    /// Elasticity of the late share there.
    pub steep: f64,
}

impl Estimate {
    /// Half the interval as a share of the rate.
    pub fn precision(&self) -> f64 {
        (self.high - self.low) / (2.0 * self.rate)
    }

    /// A rate past the capacity that tells much of it: there so many more are late that a window has some, and not so many that
    /// its queue no longer forgets.
    pub fn beyond(&self, asked: &Asked) -> f64 {
        match asked.what {
            What::Share { allowed, .. } => self.rate * (1.0 - BEYOND * allowed.ln() / self.steep),
            What::Refused { .. } => asked.saturation(self.rate, self.steep),
            What::Mean => self.rate * (1.0 + BEYOND / self.steep),
        }
    }
}

/// How far on the way to saturation [`Estimate::beyond`] lies; by simulation.
const BEYOND: f64 = 0.4;
/// Steps of the grid: of the capacity in each pass, and of the steepness.
const RATES: usize = 160;
const STEEPS: usize = 30;
/// Range of the steepness.
const STEEP: (f64, f64) = (1.5, 3000.0);
/// The dispersion that is thought likely before any scatter was seen, as a multiple of M/M/1's, and for how many windows that
/// thought counts: Poisson arrivals and equal gaps.
const EXPECTED: (f64, f64) = (1.0, 0.3);
const THOUGHT: f64 = 8.0;
/// How far the closed loop's highest rate and the open loop's may be apart: most often, and else.
const APART: [(f64, f64); 2] = [(0.75, 0.05), (0.25, 0.25)];

/// The capacity by all windows; `None` without a window, or where nothing shown is a number.
pub(super) fn estimate(windows: &[Shown], asked: &Asked) -> Option<Estimate> {
    let sound = |w: &&Shown| w.rate > 0.0 && w.rate.is_finite() && w.answered > 0.0 && w.late >= 0.0;
    let windows: Vec<Shown> = windows.iter().filter(sound).copied().collect();
    let rates = || windows.iter().map(|w| w.rate).chain(asked.full);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let whole = ((least * 0.3).ln(), (most * 1.6).ln());
    let mut dispersion = EXPECTED.0;
    let mut found: Option<Estimate> = None;
    for _ in 0..3 {
        let grid = Grid { windows: &windows, asked, dispersions: dispersions(&windows, asked, found, dispersion) };
        let coarse = grid.posterior(whole);
        let fine = grid.posterior(coarse.span());
        let now = fine.estimate()?;
        // Always from what was thought first: a pass that took its own answer for a thought would believe itself.
        dispersion = EXPECTED.0 * grid.scatter(&now, dispersion / EXPECTED.0);
        found = Some(now);
    }
    found
}

/// Draws that a window past saturation is worth at most: when its queue passes the limit hangs on the moment at which the load began
/// and on how fast the server was just then, which are known to some percent of the window.
const PAST: f64 = 50.0;

/// Independent draws that one window is worth, before any scatter was seen.
pub(super) fn worth(window: &Shown, asked: &Asked) -> f64 {
    let dispersion = dispersions(std::slice::from_ref(window), asked, None, EXPECTED.0);
    dispersion.first().map_or(1.0, |dispersion| window.answered / dispersion)
}

/// Standard deviation of the logarithm of a mean of so many draws.
pub(super) fn mean_spread(draws: f64) -> f64 {
    (SPREAD / draws).sqrt()
}

/// How many answers of each window are worth one: twice the relaxation time of M/M/1 times the rate, on either side of
/// saturation. A window is worth one draw at least.
fn dispersions(windows: &[Shown], asked: &Asked, found: Option<Estimate>, scale: f64) -> Vec<f64> {
    let full = asked.full.or(found.map(|f| asked.saturation(f.rate, f.steep)));
    let of = |w: &Shown| {
        let short = full.map_or(0.1, |full| (1.0 - w.rate / full).abs());
        let forgets = if let What::Refused { .. } = asked.what { LIMITER } else { f64::INFINITY };
        let kind = if w.equal_gaps { EXPECTED.1 / EXPECTED.0 } else { 1.0 };
        let past = full.is_some_and(|full| w.rate > full);
        let least = if past { w.answered / PAST } else { 1.0 };
        (scale * kind * (4.0 / (short * short)).min(forgets)).max(least).clamp(1.0, w.answered.max(1.0))
    };
    windows.iter().map(of).collect()
}

/// Variance of the logarithm of a mean of one draw: of an exponential time.
const SPREAD: f64 = 1.0;

/// Variance of the unfinished work, in services: 2 for M/M, 1 for M/D, more for servers that work in batches or stand still now and
/// then; and how far off that may be, as a standard deviation of its logarithm. A long limit takes many services to pass, so its
/// line is steep; windows too short for it to be passed at all would else leave open that it is flat.
const SCATTERS: (f64, f64) = (4.0, 1.5);

struct Grid<'a> {
    windows: &'a [Shown],
    asked: &'a Asked,
    dispersions: Vec<f64>,
}

impl Grid<'_> {
    fn ln_likelihood(&self, c: f64, steep: f64, limiter: f64) -> f64 {
        let of = |(w, dispersion): (&Shown, &f64)| {
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
        };
        self.windows.iter().zip(&self.dispersions).map(of).sum()
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
    /// scatters.
    fn ln_prior(&self, c: f64, steep: f64) -> f64 {
        let scatter = self.asked.scatter(c, steep).map_or(0.0, |s| -0.5 * ((s / SCATTERS.0).ln() / SCATTERS.1).powi(2));
        let Some(full) = self.asked.full else { return scatter };
        let off = (self.asked.saturation(c, steep) / full).ln();
        let bell = |(share, sd): (f64, f64)| share / sd * (-0.5 * (off / sd).powi(2)).exp();
        scatter + APART.iter().copied().map(bell).sum::<f64>().max(1e-12).ln()
    }

    fn posterior(&self, (from, to): (f64, f64)) -> Posterior {
        let step = (to - from) / (RATES - 1) as f64;
        let steeps = (STEEP.1 / STEEP.0).ln() / (STEEPS - 1) as f64;
        let cells = (0..RATES).flat_map(|i| (0..STEEPS).map(move |j| (i, j)));
        let steep = |j: usize| STEEP.0 * (steeps * j as f64).exp();
        // A limiter's rate is in proportion to the capacity; finding it takes a while.
        let limiters: Vec<f64> = (0..STEEPS).map(|j| self.limiter(1.0, steep(j))).collect();
        let weighed: Vec<(f64, f64, f64)> = cells
            .map(|(i, j)| {
                let (c, steep) = ((from + step * i as f64).exp(), steep(j));
                (c, steep, self.ln_likelihood(c, steep, c * limiters[j]) + self.ln_prior(c, steep))
            })
            .collect();
        let top = weighed.iter().map(|w| w.2).fold(f64::NEG_INFINITY, f64::max);
        Posterior { cells: weighed.into_iter().map(|(c, steep, l)| (c, steep, (l - top).exp())).collect(), step }
    }

    /// How much more the windows scatter than was thought, counted with that thought; `scaled` is what the dispersions hold of
    /// it already.
    fn scatter(&self, found: &Estimate, scaled: f64) -> f64 {
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
        ((THOUGHT + sum) / (THOUGHT + more)).clamp(0.2, 5.0)
    }
}

/// Refused requests that are worth one draw, at most: what a limiter has room for bounds how long it remembers.
const LIMITER: f64 = 100.0;

struct Posterior {
    cells: Vec<(f64, f64, f64)>,
    /// Between two rates of the grid, in logarithm.
    step: f64,
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
    fn span(&self) -> (f64, f64) {
        let rates = self.rates();
        let kept = || rates.iter().filter(|(_, w)| *w > 1e-6).map(|(c, _)| c.ln());
        let (low, high) = (kept().fold(f64::INFINITY, f64::min), kept().fold(f64::NEG_INFINITY, f64::max));
        (low - self.step, high + self.step)
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

    fn estimate(&self) -> Option<Estimate> {
        let all: f64 = self.cells.iter().map(|c| c.2).sum();
        let steep = (self.cells.iter().map(|c| c.2 * c.1.ln()).sum::<f64>() / all).exp();
        let found = Estimate { rate: self.quantile(0.5), low: self.quantile(0.025), high: self.quantile(0.975), steep };
        (found.rate.is_finite() && found.low.is_finite() && found.high.is_finite()).then_some(found)
    }
}
