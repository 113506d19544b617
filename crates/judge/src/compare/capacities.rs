//! The capacities of both, each with the interval of its own windows.

use run::{Compared, FigureUnit, Interval, Limits, Run, TrialKind};

use super::contrast::{Cell, Contrast, FEWEST, Look, Pairing, Told, between, contrast};
use super::figures::CAPACITY;
use super::over::compared;
use crate::capacity::pooled;
use crate::sample::ln_sd;

/// The capacities of a run: one for each repeat, with the interval of its own windows.
fn capacities(run: &Run) -> Vec<(f64, Option<Interval>)> {
    let interval = |low: Option<f64>, high: Option<f64>| low.zip(high).map(|(low, high)| Interval { low, high });
    let repeats = &run.findings.repeats;
    if repeats.is_empty() {
        let held = run.findings.capacity.iter().filter(|c| c.held);
        return held.map(|c| (c.rate, interval(c.low, c.high))).collect();
    }
    repeats.iter().filter_map(|r| Some((r.capacity?, interval(r.low, r.high)))).collect()
}

/// The capacities of both. Three runs or repeats a side show themselves how far they scatter; of fewer the windows of each say it.
pub(super) fn capacity(old: &[Run], new: &[Run], pairing: Pairing) -> Option<Compared> {
    // One objective for both: where nobody named one, each run made its own of what it saw unloaded.
    let limits = old.first().map(|run| &run.findings.limits)?;
    let held = [old, new].map(|runs| held(runs, limits));
    let cell: Cell = [0, 1].map(|side| looks(&held[side]));
    if cell.iter().any(Vec::is_empty) {
        return None;
    }
    let units = cell.iter().map(Vec::len).min().unwrap_or(0);
    let windows = (held[0].len(), held[1].len());
    let apart = contrast(&[cell], pairing)?;
    let own = own_error(&held);
    let told = match apart.told.filter(|_| units >= FEWEST) {
        // Repeats that are alike by chance know no more than their windows.
        Some(told) => Some(Told { error: told.error.max(own.unwrap_or(0.0)), ..told }),
        None => {
            own.map(|own| Told { error: own.hypot(between(pairing, windows)), freedom: f64::INFINITY, ranks: None })
        }
    };
    let compared = compared(Contrast { told, ..apart }, windows);
    Some(Compared { figure: CAPACITY.into(), unit: FigureUnit::PerSecond, more_is_better: true, ..compared })
}

fn held(runs: &[Run], limits: &Limits) -> Vec<(f64, Option<Interval>)> {
    // Where nothing was searched, the capacity is only what was tried.
    let searched = runs.iter().filter(|r| r.trials.iter().any(|t| t.kind == TrialKind::Search));
    let of = |run: &Run| if alike(&run.findings.limits, limits) { capacities(run) } else { against(run, limits) };
    searched.flat_map(of).filter(|(c, _)| *c > 0.0).collect()
}

fn alike(a: &Limits, b: &Limits) -> bool {
    let all = |l: &Limits| [l.p50_us, l.p99_us, l.p99_9_us, l.mean_us, Some(l.errors)];
    let near = |(a, b): (Option<f64>, Option<f64>)| a.zip(b).map_or(a == b, |(a, b)| (a - b).abs() <= 1e-6 * b.abs());
    all(a).into_iter().zip(all(b)).all(near)
}

/// What the windows of each repeat of a run say of the capacity under another objective than its own.
fn against(run: &Run, limits: &Limits) -> Vec<(f64, Option<Interval>)> {
    let found = run.repeats().filter_map(|trials| pooled(trials, limits)).map(|pooled| pooled.estimate);
    found.map(|e| (e.rate, Some(Interval { low: e.low, high: e.high }))).collect()
}

fn looks(held: &[(f64, Option<Interval>)]) -> Vec<Look> {
    held.iter().enumerate().map(|(unit, (rate, _))| Look { unit, ln: rate.ln() }).collect()
}

/// Standard error of the difference of the logarithms by the intervals of the capacities; `None` where one has none.
fn own_error(held: &[Vec<(f64, Option<Interval>)>; 2]) -> Option<f64> {
    let side = |held: &Vec<(f64, Option<Interval>)>| {
        let squares: Option<f64> =
            held.iter().map(|(_, interval)| interval.map(|i| ln_sd(i.low, i.high).powi(2))).sum();
        squares.map(|squares| squares.sqrt() / held.len() as f64)
    };
    let error = side(&held[0])?.hypot(side(&held[1])?);
    Some(error).filter(|error| *error > 0.0 && error.is_finite())
}
