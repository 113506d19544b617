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

use super::asked::{Asked, SPREAD, Shown, What};
use super::estimate::Estimate;
use super::grid::{Grid, scatter};
use super::slow::widened;

/// The dispersion that is thought likely before any scatter was seen, as a multiple of M/M/1's, and for how many windows that
/// thought counts: Poisson arrivals and equal gaps.
const EXPECTED: (f64, f64) = (1.0, 0.3);
const THOUGHT: f64 = 8.0;
/// How far it may be off: a machine that is now quicker and now slower scatters windows too, and is told apart from queues that forget
/// slowly by [`super::speed`].
const SCALE: (f64, f64) = (0.2, 1.5);

/// The capacity by all windows; `None` without a window, or where nothing shown is a number.
pub(super) fn estimate(windows: &[Shown], asked: &Asked) -> Option<Estimate> {
    let sound = |w: &&Shown| w.rate > 0.0 && w.rate.is_finite() && w.answered > 0.0 && w.late >= 0.0;
    let windows: Vec<Shown> = windows.iter().filter(sound).copied().collect();
    let rates = || windows.iter().map(|w| w.rate).chain(asked.full);
    let (least, most) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    let whole = ((least * 0.3).ln(), (most * 1.6).ln());
    let grid = Grid::new(&windows, asked, whole);
    let mut dispersion = EXPECTED.0;
    let mut found: Option<Estimate> = None;
    for _ in 0..2 {
        let dispersions = dispersions(&windows, asked, found, dispersion);
        let now = grid.posterior(&dispersions).estimate()?;
        // Always from what was thought first: a pass that took its own answer for a thought would believe itself.
        let more = scatter((&windows, &dispersions), asked, &now, (dispersion / EXPECTED.0, THOUGHT));
        dispersion = EXPECTED.0 * more.clamp(SCALE.0, SCALE.1);
        found = Some(now);
    }
    let dispersions = dispersions(&windows, asked, found, dispersion);
    let near = Grid::new(&windows, asked, grid.posterior(&dispersions).span());
    near.posterior(&dispersions).estimate().map(|found| widened(found, asked))
}

/// Draws that a window past saturation is worth at most: when its queue passes the limit hangs on the moment at which the load began
/// and on how fast the server was just then, which are known to some percent of the window.
const PAST: f64 = 50.0;

/// Independent draws that one window is worth, before any scatter was seen.
pub(super) fn worth(window: &Shown, asked: &Asked) -> f64 {
    let dispersion = dispersions(std::slice::from_ref(window), asked, None, EXPECTED.0);
    dispersion.first().map_or(1.0, |dispersion| window.answered / dispersion)
}

/// Refused requests that are worth one draw, at most: what a limiter has room for bounds how long it remembers.
const LIMITER: f64 = 100.0;

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
