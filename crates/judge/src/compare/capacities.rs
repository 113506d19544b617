//! The capacities of both, each with the interval of its own windows.

use run::{Compared, Interval, Run, TrialKind};

use super::figures::CAPACITY;
use super::resample::average;
use crate::sample::{NORMAL_95, Sample, normal_tail};

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

/// The capacities of both with their own intervals.
pub(super) fn capacity(old: &[Run], new: &[Run]) -> Option<Compared> {
    let of = |runs: &[Run]| -> Option<(f64, Option<f64>, usize)> {
        // Where nothing was searched, the capacity is only what was tried.
        let searched = runs.iter().filter(|r| r.trials.iter().any(|t| t.kind == TrialKind::Search));
        let held: Vec<(f64, Option<Interval>)> = searched.flat_map(capacities).filter(|(c, _)| *c > 0.0).collect();
        let logs: Vec<f64> = held.iter().map(|(rate, _)| rate.ln()).collect();
        let mean = (!logs.is_empty()).then(|| average(&logs))?;
        let known: Option<Vec<f64>> =
            held.iter().map(|(_, i)| i.map(|i| (i.high / i.low).ln() / (2.0 * NORMAL_95))).collect();
        let own = known.map(|sds| (sds.iter().map(|s| s * s).sum::<f64>()).sqrt() / sds.len() as f64);
        let scatter = Sample::of(&logs).filter(|_| logs.len() > 2).map(|sample| sample.error());
        Some((mean, own.into_iter().chain(scatter).reduce(f64::max), logs.len()))
    };
    let (a, b) = (of(old)?, of(new)?);
    let ln_ratio = b.0 - a.0;
    let sd = a.1.zip(b.1).map(|(x, y)| x.hypot(y)).filter(|sd| *sd > 0.0);
    Some(Compared {
        figure: CAPACITY.into(),
        unit: run::FigureUnit::PerSecond,
        more_is_better: true,
        old: a.0.exp(),
        new: b.0.exp(),
        ratio: ln_ratio.exp(),
        low: sd.map(|sd| (ln_ratio - NORMAL_95 * sd).exp()),
        high: sd.map(|sd| (ln_ratio + NORMAL_95 * sd).exp()),
        p: sd.map(|sd| (2.0 * normal_tail(ln_ratio.abs() / sd)).min(1.0)),
        windows: (a.2, b.2),
        ..Compared::default()
    })
}
