//! Selects trials for pages, and names these trials. `run::Picks` (in the findings) lists the important trials.

use run::{Intensity, Run, Trial, TrialKind};

use crate::plot::Look;
use run::number::{count, number, prose::counted};

/// Returns the trials of the given kinds, in the order of the run.
pub(super) fn of<'a>(run: &'a Run, kinds: &[TrialKind]) -> Vec<&'a Trial> {
    run.trials.iter().filter(|t| kinds.contains(&t.kind)).collect()
}

/// Returns the style in which a chart draws trials. If the run has repeats, the style has no line, because a line
/// through repeats would jump up and down.
pub(super) fn look(trials: &[&Trial]) -> Look {
    if trials.iter().any(|t| t.repeat > 0) { Look::Dots } else { Look::LineDots }
}

/// Returns the measured mean number of requests in flight. If the measured mean is unknown, returns the planned number
/// of requests in flight.
pub(super) fn concurrency(trial: &Trial) -> f64 {
    let measured = trial.rates.concurrency;
    if measured.is_finite() && measured > 0.0 { measured } else { asked(trial).unwrap_or(f64::NAN) }
}

/// Returns the planned number of requests in flight; `None` for a load without a fixed number.
pub(super) fn asked(trial: &Trial) -> Option<f64> {
    trial.intensity.in_flight()
}

/// Returns true if at least two trials have different planned loads. Compares planned numbers of requests in flight
/// where they are known. Measured numbers also differ between trials with the same plan.
pub(super) fn have_different_loads(trials: &[&Trial]) -> bool {
    let load = |trial: &Trial| asked(trial).unwrap_or_else(|| concurrency(trial));
    trials.windows(2).any(|pair| load(pair[0]) != load(pair[1]))
}

/// Returns the name of a trial in tables and charts.
pub(super) fn name(trial: &Trial) -> String {
    if !trial.label.is_empty() {
        return trial.label.clone();
    }
    match &trial.intensity {
        Intensity::Closed { connections, .. } => counted(f64::from(*connections), "connection"),
        Intensity::Open { rate, .. } => format!("{}/s", number(*rate)),
        Intensity::SClients { descriptors, .. } => counted(f64::from(*descriptors), "descriptor"),
    }
}

/// Returns the intensity of a trial's load as a number and its unit, such as `16` and `connections`.
pub(super) fn in_flight(trial: &Trial) -> [String; 2] {
    match &trial.intensity {
        Intensity::Closed { connections: n, .. } => connections(f64::from(*n)),
        Intensity::Open { rate, .. } => [number(*rate), "requests/s".into()],
        Intensity::SClients { descriptors, .. } => [count(u64::from(*descriptors)), "descriptors".into()],
    }
}

/// Returns a number of connections as text, and its unit.
pub(super) fn connections(n: f64) -> [String; 2] {
    [number(n), if n == 1.0 { "connection" } else { "connections" }.into()]
}
