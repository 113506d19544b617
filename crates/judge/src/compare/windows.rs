//! Windows of both sides, matched by the condition under which they were measured.

use std::collections::BTreeMap;

use run::{Intensity, Run, Trial, TrialKind};

use super::figures::{asked, times_calls};
use super::observations::Pairing;
use crate::context::other_programs::taken_by_others;
use crate::number::{counted, finite};

/// A window, with the index of the run or repeat that it belongs to (`unit`). All runs of the same live processes count
/// as one run.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) unit: usize,
    /// Index among the comparable windows of all runs of its side. Windows of two live servers with the same index ran
    /// directly after each other, or at the same time.
    pub(super) turn: usize,
    /// CPU use of other programs on the server's machine, in CPUs. Known only for alternating windows of live servers.
    pub(super) others: Option<f64>,
    pub(super) trial: &'a Trial,
}

/// Windows of the old and of the new server that were measured under the same condition, such as the same offered rate.
pub(super) type Pair<'a> = [Vec<Window<'a>>; 2];

/// Returns the windows of both sides, for each condition that both sides have.
pub(super) fn pairs<'a>(old: &'a [Run], new: &'a [Run], pairing: Pairing) -> Vec<Pair<'a>> {
    // The runs of one comparison may have different numbers of windows, if one server died. The first windows of the
    // next comparison must have equal indexes on both sides.
    let most = old.iter().map(|run| run.trials.len()).max().max(new.iter().map(|run| run.trials.len()).max());
    let turns = most.unwrap_or(0);
    let (old, mut new) = (by_condition(old, pairing, turns), by_condition(new, pairing, turns));
    old.into_iter().filter_map(|(condition, old)| Some([old, new.remove(&condition)?])).collect()
}

/// Returns the windows of one side. The window indexes of each run begin `turns` higher than those of the preceding
/// run.
fn by_condition(runs: &[Run], pairing: Pairing, turns: usize) -> BTreeMap<String, Vec<Window<'_>>> {
    let mut all: BTreeMap<String, Vec<Window<'_>>> = BTreeMap::new();
    let repeats = runs.iter().flat_map(|run| run.repeats().map(|trials| (run.interrupted, trials)));
    for (at, (interrupted, trials)) in repeats.enumerate() {
        let unit = if pairing.is_live() { 0 } else { at };
        let whole = trials.iter().filter(|trial| !(interrupted && trial.is_cut_off()));
        for (index, trial) in whole.filter(|trial| comparable(trial, pairing)).enumerate() {
            if let Some(condition) = condition(trial) {
                let others = Some(trial).filter(|_| pairing == Pairing::InTurns).and_then(taken_by_others);
                all.entry(condition).or_default().push(Window { unit, turn: at * turns + index, others, trial });
            }
        }
    }
    all
}

/// Returns true if a trial is comparable with trials of the other side. Steps of a search cannot be compared, because
/// each search tries different rates.
fn comparable(trial: &Trial, pairing: Pairing) -> bool {
    match pairing {
        // Each step of the two servers' searches was tried only once, so these steps are used only to compare the
        // capacities.
        Pairing::InTurns | Pairing::AtOnce | Pairing::Repeated => trial.kind == TrialKind::Fixed,
        Pairing::Kept => matches!(trial.kind, TrialKind::Fixed | TrialKind::Sweep | TrialKind::Experiment),
    }
}

/// Describes the load of a trial. Equal loads of two runs get equal descriptions. Returns `None` for a window that
/// ended early, or that neither sent requests nor timed function calls.
fn condition(trial: &Trial) -> Option<String> {
    // A window in which no request was answered is a valid result. A trial without requests is valid if it timed
    // function calls.
    let told = asked(trial) || times_calls(trial);
    if trial.broken().is_some() || finite(trial.rates.completed_rate).is_none() || !told {
        return None;
    }
    // The label is left out, because each repeat has a different label.
    let asked = match &trial.intensity {
        Intensity::Open { rate, .. } => format!("open {rate}"),
        other => format!("{:?} {other:?}", trial.kind),
    };
    Some(format!("{asked} {:?}", trial.key))
}

/// Returns a sentence for each side with windows in which no request completed.
pub(super) fn empty(pairs: &[Pair<'_>]) -> Vec<String> {
    let of = |(side, word): (usize, &str)| {
        let windows = || pairs.iter().flat_map(move |pair| &pair[side]);
        let empty = windows().filter(|w| asked(w.trial) && w.trial.rates.completed_rate <= 0.0).count();
        let all = windows().count();
        (empty > 0).then(|| {
            format!(
                "{empty} of {} of the {word} server completed nothing: they count as rate 0, without response time \
                 or cost per request",
                counted(all as f64, "window")
            )
        })
    };
    [(0, "old"), (1, "new")].into_iter().filter_map(of).collect()
}
