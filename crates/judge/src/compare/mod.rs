//! Comparison of old runs with new runs. Each figure gets a ratio, an interval and a result word, such as "faster".
//!
//! Windows are compared only if they were measured under the same condition. A condition is a number of clients in a
//! sweep, or one load that was tried in several trials. The load of the alternating windows of two servers is a
//! condition, too. The ratio comes from means of logarithms, with equal weights for all conditions. The module
//! `contrast` explains how the interval of a ratio is computed. Only the interval of a figure decides its result word,
//! such as "faster". Figures that are tested together (a family) share one significance level (`levels`).

mod capacities;
mod contrast;
mod curves;
mod deaths;
mod differences;
mod disturbance;
mod failure_shares;
mod failures;
mod figures;
mod input;
mod levels;
mod means;
mod observations;
mod paired;
mod percentiles;
mod repeated;
mod resolution;
mod target_warnings;
mod tls;
mod windows;
mod words;

use run::{Comparison, Run, Trial, TrialKind};

use capacities::capacity;
pub(crate) use failures::SAME as SAME_FAILED_SHARE;
pub(crate) use figures::{CAPACITY, FAILED, SERVER_CPU};
use figures::{FIGURES, costs, server, timed, times, times_calls};
use input::{ComparisonInput, Line};
pub use observations::Pairing;
use percentiles::Sides;
pub use repeated::sort_by_time;
use words::{Tolerance, decide, words};

/// Compares old runs with new runs. If the runs cannot be compared, the error message gives the reason.
pub fn compare(
    old: (&str, &[Run]),
    new: (&str, &[Run]),
    threshold: f64,
    pairing: Pairing,
) -> Result<Comparison, String> {
    compare_at(old, new, threshold, (pairing, &[1.0]))
}

/// Compares the runs at one look (interim analysis) of a sequential test. `looks` contains the share of the planned
/// data at each look so far; the last entry is for this look. If the comparison is undecided, the caller measures more
/// data and compares again, until the whole planned data is measured. If comparisons of live servers saved the runs
/// ([`Pairing::Kept`]), their windows are pairs.
pub fn compare_at(
    old: (&str, &[Run]),
    new: (&str, &[Run]),
    threshold: f64,
    (pairing, looks): (Pairing, &[f64]),
) -> Result<Comparison, String> {
    let deaths = deaths::deaths(old.1, new.1);
    let died = deaths.iter().any(|death| death.new);
    comparable(old, false)?;
    comparable(new, died)?;
    let of = |runs: &'_ [Run]| runs.iter().map(|run| run.plan.load.protocol.name()).collect::<Vec<_>>();
    same_protocol((old.0, &of(old.1)), (new.0, &of(new.1)))?;
    let pairing = if pairing == Pairing::Kept { repeated::pairing(old.1, new.1) } else { pairing };
    let pairs = windows::pairs(old.1, new.1, pairing);
    let both = ComparisonInput { runs: [old.1, new.1], sides: Sides::of(&pairs), pairs, pairing };
    let mut lines = both.lines();
    if lines.is_empty() && !died {
        return Err(nothing_in_common(old, new));
    }
    lines.extend(both.costs());
    let failed = old.1.first().map_or(0.0, |run| run.findings.limits.errors);
    let tolerance = Tolerance { threshold, failed };
    let measured_s = measured_s(old.1, new.1, pairing);
    let comparisons = words(lines, tolerance, measured_s, looks);
    let mut swept = windows::pairs(old.1, new.1, Pairing::Kept);
    if pairing.is_live() {
        swept.retain(|[old, _]| old.iter().all(|window| window.trial.kind == TrialKind::Sweep));
    }
    let mut comparison = Comparison {
        old: old.0.into(),
        new: new.0.into(),
        differences: differences::differences(old.1, new.1),
        tls: tls::share(old, new, &comparisons),
        no_common_load: both.pairs.is_empty(),
        notes: target_warnings::warnings(old.1, new.1)
            .into_iter()
            .chain(windows::empty(&both.pairs))
            .chain(both.disturbed())
            .collect(),
        deaths,
        curves: curves::curves(&swept, &both.sides),
        comparisons,
        threshold,
        measured_s,
        ..Comparison::default()
    };
    decide(&mut comparison, tolerance);
    resolution::of_comparison(&mut comparison, old.1.len().min(new.1.len()));
    Ok(comparison)
}

impl ComparisonInput<'_> {
    /// Compares all figures, except the costs that are only listed.
    fn lines(&self) -> Vec<Line> {
        let [old, _] = self.runs;
        let mut lines: Vec<Line> = FIGURES.iter().filter_map(|f| self.figure(f)).collect();
        lines.extend(times(old).iter().filter_map(|time| self.time(&time.name, &|t| timed(t, time))));
        lines.extend(failures::failed(self));
        lines.extend(capacity(self));
        capacities::say_below_rate(&mut lines, old);
        lines
    }

    /// Compares the costs per request that the servers of both sides have.
    fn costs(&self) -> Vec<Line> {
        let [old, new] = self.runs.map(costs);
        let shown = old.iter().filter(|(id, _)| new.contains_key(*id));
        shown.filter_map(|(id, unit)| self.cost(id, *unit, &|t| server(t, id))).collect()
    }
}

/// Returns the length, in seconds, of the measurement that could be repeated with more windows: the longest run, or all
/// comparisons of the same live processes together.
fn measured_s(old: &[Run], new: &[Run], pairing: Pairing) -> f64 {
    let of = |runs: &[Run]| {
        let times = runs.iter().map(|run| run.elapsed_s);
        if pairing.is_live() { times.sum() } else { times.fold(0.0, f64::max) }
    };
    of(old).max(of(new))
}

/// Checks that all servers of both sides speak one protocol. If the protocols differ, the error names two servers with
/// different protocols.
pub fn same_protocol(old: (&str, &[&str]), new: (&str, &[&str])) -> Result<(), String> {
    let spoken: Vec<(&str, &str)> =
        [old, new].into_iter().flat_map(|(who, all)| all.iter().map(move |protocol| (who, *protocol))).collect();
    let Some((first, other)) = spoken.first().zip(spoken.iter().find(|(_, p)| *p != spoken[0].1)) else {
        return Ok(());
    };
    Err(format!(
        "{} speaks {} and {} speaks {}: loadline cannot compare different protocols",
        first.0, first.1, other.0, other.1
    ))
}

/// Checks that the runs of one side can be compared. If `died` is true, runs without a completed request are accepted.
fn comparable((name, runs): (&str, &[Run]), died: bool) -> Result<(), String> {
    if runs.is_empty() || runs.iter().all(|r| r.trials.is_empty()) {
        return Err(format!("{name} has no trial, so there is nothing to compare"));
    }
    if runs.iter().all(Run::only_watched) {
        return Err(format!(
            "{name} only watched a server, so its response times and errors are unknown; compare runs of `loadline load` \
             or `loadline find`"
        ));
    }
    if runs.iter().all(|run| run.interrupted && run.trials.iter().all(Trial::is_cut_off)) {
        return Err(format!(
            "{name} was interrupted before it had measured a tenth of a second, so there is nothing to compare: measure it \
             again"
        ));
    }
    let something = |t: &Trial| t.measured.tally.completed > 0 || times_calls(t);
    if !died && !runs.iter().any(|r| r.trials.iter().any(something)) {
        return Err(format!("{name} completed no request, so there is nothing to compare"));
    }
    Ok(())
}

/// Returns a sentence that says why no condition was measured on both sides.
fn nothing_in_common(old: (&str, &[Run]), new: (&str, &[Run])) -> String {
    let chosen = |runs: &[Run]| {
        let mut kinds = runs.iter().flat_map(|r| &r.trials).map(|t| t.kind);
        kinds.any(|kind| matches!(kind, TrialKind::Fixed | TrialKind::Sweep | TrialKind::Experiment))
    };
    match [old, new].iter().find(|(_, runs)| !chosen(runs)) {
        Some((name, _)) => format!(
            "{name} has only windows of a search or an experiment, whose loads no other run shares: compare whole runs of \
             `loadline find`, or runs of `loadline load` with the same flags"
        ),
        None => {
            format!(
                "{} and {} have no load level in common: compare runs of one command with the same flags",
                old.0, new.0
            )
        }
    }
}

#[cfg(test)]
mod burst_tests;
#[cfg(test)]
mod error_rate_tests;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod regression_tests;
#[cfg(test)]
mod repeat_tests;
#[cfg(test)]
mod tests;
