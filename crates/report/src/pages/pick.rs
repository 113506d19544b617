//! Trials of one kind, and what a trial is called. Which of them decide stands in the findings (`run::Picks`).

use run::{Intensity, Run, Trial, TrialKind};

use crate::plot::Look;
use run::number::{count, number};

/// Trials of some kinds, in the order they were run.
pub(super) fn of<'a>(run: &'a Run, kinds: &[TrialKind]) -> Vec<&'a Trial> {
    run.trials.iter().filter(|t| kinds.contains(&t.kind)).collect()
}

/// How the points of these trials are drawn: a line through several repeats would go to and fro.
pub(super) fn look(trials: &[&Trial]) -> Look {
    if trials.iter().any(|t| t.repeat > 0) { Look::Dots } else { Look::LineDots }
}

/// Requests in flight: what was measured, else what was asked for.
pub(super) fn concurrency(trial: &Trial) -> f64 {
    let measured = trial.rates.concurrency;
    if measured.is_finite() && measured > 0.0 { measured } else { asked(trial).unwrap_or(f64::NAN) }
}

/// The concurrency that a closed loop asks for.
pub(super) fn asked(trial: &Trial) -> Option<f64> {
    trial.intensity.in_flight()
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

/// What a load keeps under way, a figure and of what: `16` `connections`.
pub(super) fn in_flight(trial: &Trial) -> [String; 2] {
    match &trial.intensity {
        Intensity::Closed { connections: n, .. } => connections(f64::from(*n)),
        Intensity::Open { rate, .. } => [number(*rate), "requests/s".into()],
        Intensity::SClients { descriptors, .. } => [count(u64::from(*descriptors)), "descriptors".into()],
    }
}

/// So many connections, a figure and the word.
pub(super) fn connections(n: f64) -> [String; 2] {
    [number(n), if n == 1.0 { "connection" } else { "connections" }.into()]
}
