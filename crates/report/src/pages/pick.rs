//! Which trials a page looks at, out of all of a run, and what they are called.

use run::{Intensity, Run, Trial, TrialKind};

use crate::number::{count, number};

/// A capacity below this share of the highest rate is another figure than that.
const APART: f64 = 0.9;

/// The trial of the least load: the first step of the sweep, else the one of the lowest offered rate.
pub(super) fn unloaded(run: &Run) -> Option<&Trial> {
    let sweep = of(run, &[TrialKind::Sweep]);
    sweep.into_iter().min_by(|a, b| concurrency(a).total_cmp(&concurrency(b)))
}

/// The trial in which the bottleneck shows: of those within 3 % of the highest completed rate, the one of least load,
/// because beyond it only queues grow.
pub(super) fn saturated(run: &Run) -> Option<&Trial> {
    let kinds = [TrialKind::Sweep, TrialKind::Search, TrialKind::Fixed, TrialKind::Experiment];
    let all = of(run, &kinds);
    let sweep: Vec<&Trial> = all.iter().copied().filter(|t| t.kind == TrialKind::Sweep).collect();
    let from = if sweep.is_empty() { all } else { sweep };
    let rate = |t: &Trial| if t.rates.completed_rate.is_finite() { t.rates.completed_rate } else { 0.0 };
    let highest = from.iter().map(|t| rate(t)).fold(0.0, f64::max);
    from.into_iter().find(|t| rate(t) >= highest * 0.97)
}

/// The same trial, where the objective broke so far below its rate that one headline cannot hold both.
pub(super) fn beyond(run: &Run) -> Option<&Trial> {
    let held = run.findings.capacity.as_ref().filter(|c| c.held)?.rate;
    saturated(run).filter(|t| t.kind == TrialKind::Sweep && held < APART * t.rates.completed_rate)
}

/// What the state of [`saturated`] is called: a load that the user fixed need not saturate anything.
pub(super) const fn state(trial: &Trial) -> &'static str {
    if matches!(trial.kind, TrialKind::Fixed) { "as asked" } else { "saturated" }
}

/// The trial at the capacity that was found.
pub(super) fn at_capacity(run: &Run) -> Option<&Trial> {
    let rate = run.findings.capacity.as_ref().filter(|c| c.held)?.rate;
    let near = |t: &&Trial| (t.rates.completed_rate - rate).abs();
    let open = of(run, &[TrialKind::Search]);
    open.into_iter().filter(|t| near(t) <= rate * 0.05).min_by(|a, b| near(a).total_cmp(&near(b)))
}

/// The trial past the capacity.
pub(super) fn overload(run: &Run) -> Option<&Trial> {
    of(run, &[TrialKind::Overload]).into_iter().next()
}

/// Trials of some kinds, in the order they were run.
pub(super) fn of<'a>(run: &'a Run, kinds: &[TrialKind]) -> Vec<&'a Trial> {
    run.trials.iter().filter(|t| kinds.contains(&t.kind)).collect()
}

/// Requests in flight: what was measured, else what was asked for.
pub(super) fn concurrency(trial: &Trial) -> f64 {
    let measured = trial.rates.concurrency;
    if measured.is_finite() && measured > 0.0 { measured } else { asked(trial).unwrap_or(f64::NAN) }
}

/// The concurrency that a closed loop asks for.
pub(super) fn asked(trial: &Trial) -> Option<f64> {
    match &trial.intensity {
        Intensity::Closed { connections, pipeline, .. } => Some(f64::from(*connections) * f64::from(*pipeline)),
        Intensity::Open { .. } => None,
        Intensity::SClients { descriptors, .. } => Some(f64::from(*descriptors)),
    }
}

/// What a trial is called in tables and at lines.
pub(super) fn name(trial: &Trial) -> String {
    if !trial.label.is_empty() {
        return trial.label.clone();
    }
    match &trial.intensity {
        Intensity::Closed { connections: 1, .. } => "1 connection".into(),
        Intensity::Closed { connections, .. } => format!("{} connections", count(u64::from(*connections))),
        Intensity::Open { rate, .. } => format!("{}/s", number(*rate)),
        Intensity::SClients { descriptors, .. } => format!("{} descriptors", count(u64::from(*descriptors))),
    }
}
