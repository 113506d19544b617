//! History of stored runs: when and by how much their figures changed.
//!
//! A series consists of the runs of one plan on equal machines. [`stats::change_points`] finds the changes of each
//! figure of a series. Figures are compared by their logarithms, so a change is relative. Shares of failed requests are
//! compared by their difference.

mod changes;
mod figures;
mod identity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use run::{
    Failure, History, HistoryFigure, HistoryRun, HistorySeries, HistoryValue, RunSummary, SkippedRun, SmallSeries,
};

use changes::Recent;
use figures::FIGURES;
use identity::Identity;
use stats::change_points::MIN_SEGMENT;

/// Minimum number of runs of a series in which a change can be found.
const MIN_RUNS: usize = 2 * MIN_SEGMENT;
/// Maximum number of series that are shown.
const MAX_SERIES: usize = 50;
/// Maximum number of notes about versions.
const MAX_NOTES: usize = 3;

/// Limits of a history, set by the user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryLimits {
    /// Number of runs at the end of a series that count as recent. A change is new if it is found only with the recent
    /// runs.
    pub recent: usize,
    /// Smallest relative change that affects the exit status.
    pub threshold: f64,
}

/// Stored runs of a history. Only the figures of each stored run are kept in memory.
#[derive(Clone, Debug, Default)]
pub struct HistoryRuns {
    series: BTreeMap<Identity, Vec<KeptRun>>,
    skipped: Vec<SkippedRun>,
}

#[derive(Clone, Debug)]
struct KeptRun {
    /// Start of the run, nanoseconds since 1970.
    start_ns: i128,
    version: String,
    run: HistoryRun,
    /// Values of the run's figures, in the order of [`FIGURES`].
    values: Vec<Option<HistoryValue>>,
}

impl HistoryRuns {
    /// Adds a run to the history. `start_ns` is the start of the run in nanoseconds since 1970.
    pub fn add(&mut self, directory: String, start_ns: i128, run: &RunSummary) {
        let values: Vec<_> = FIGURES.iter().map(|figure| (figure.of)(run)).collect();
        match reason_to_skip(run, &values) {
            Some(reason) => self.skip(directory, reason),
            None => {
                let label = run.label.clone().unwrap_or_default();
                let (started, version) = (run.started.clone(), run.version.clone());
                let run_of = HistoryRun { run: directory, label, started };
                let kept = KeptRun { start_ns, version, run: run_of, values };
                self.series.entry(Identity::of(run)).or_default().push(kept);
            }
        }
    }

    /// Adds a skipped file, with the reason.
    pub fn skip(&mut self, file: String, reason: String) {
        self.skipped.push(SkippedRun { file, reason });
    }

    /// Returns the number of runs in the history.
    pub fn count(&self) -> usize {
        self.series.values().map(Vec::len).sum()
    }

    /// Finds the changes of all figures in all series.
    pub fn history(self, directory: String, limits: HistoryLimits) -> History {
        let HistoryLimits { recent, threshold } = limits;
        let mut history = History { directory, recent, threshold, skipped: self.skipped, ..History::default() };
        let names = identity::names(self.series.keys());
        let mut all: Vec<(String, Vec<KeptRun>)> = names.into_iter().zip(self.series.into_values()).collect();
        for (_, runs) in &mut all {
            runs.sort_by(|a, b| (a.start_ns, &a.run.run).cmp(&(b.start_ns, &b.run.run)));
            remove_copies(runs, &mut history.skipped);
        }
        all.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.0.cmp(&b.0)));
        let large = all.iter().take(MAX_SERIES).take_while(|(_, runs)| runs.len() >= MIN_RUNS).count();
        let small = all.split_off(large);
        history.small = small.into_iter().map(|(name, runs)| SmallSeries { name, runs: runs.len() }).collect();
        for (name, runs) in all {
            add_series(&mut history, name, runs, limits);
        }
        history.fails = history.changes.iter().any(|change| change.fails);
        history
    }
}

/// Returns the reason to skip a run. Returns `None` for a usable run.
fn reason_to_skip(run: &RunSummary, values: &[Option<HistoryValue>]) -> Option<String> {
    let command = run.plan.command.as_str();
    if !["find", "load"].contains(&command) {
        return Some(format!("a run of {command:?}; a history takes runs of `loadline find` and `loadline load`"));
    }
    if run.interrupted {
        return Some("the run ended early".into());
    }
    match run.findings.failure {
        Some(Failure::Died) => Some("the server or a generator ended during the run".into()),
        _ if values.iter().all(Option::is_none) => Some("the run has no figure of a history".into()),
        _ => None,
    }
}

/// Removes runs that are stored twice. For example, a run that was also saved as a baseline is stored twice.
fn remove_copies(runs: &mut Vec<KeptRun>, skipped: &mut Vec<SkippedRun>) {
    runs.dedup_by(|copy, first| {
        let equal = copy.start_ns == first.start_ns && copy.values == first.values;
        if equal {
            let reason = format!("a copy of {}", first.run.run);
            skipped.push(SkippedRun { file: std::mem::take(&mut copy.run.run), reason });
        }
        equal
    });
}

fn add_series(history: &mut History, name: String, kept: Vec<KeptRun>, limits: HistoryLimits) {
    let index = history.series.len();
    let new_version = kept.windows(2).filter(|pair| pair[0].version != pair[1].version);
    for pair in new_version.take(MAX_NOTES.saturating_sub(history.notes.len())) {
        let [old, new] = [&pair[0].version, &pair[1].version];
        history
            .notes
            .push(format!("{name}: measured by loadline {new} since {}, before by {old}", pair[1].run.started));
    }
    let values = |figure: usize| kept.iter().map(|run| run.values[figure]).collect::<Vec<_>>();
    let all = FIGURES.iter().enumerate().map(|(at, figure)| (figure, values(at)));
    let mut figures = Vec::new();
    let recent = Recent { runs: kept.len().saturating_sub(limits.recent), threshold: limits.threshold };
    let mut changes = Vec::new();
    for (figure, values) in all.filter(|(_, values)| values.iter().flatten().count() >= MIN_RUNS) {
        changes.extend(changes::changes(figure, &values, recent));
        let (unit, more_is_better) = (figure.unit, figure.more_is_better);
        figures.push(HistoryFigure { figure: figure.name.into(), unit, more_is_better, values });
    }
    let runs: Vec<HistoryRun> = kept.into_iter().map(|kept| kept.run).collect();
    changes.sort_by_key(|change| change.at);
    for mut change in changes {
        if let Some(HistoryRun { run, label, started }) = runs.get(change.at).cloned() {
            (change.series, change.run, change.label, change.started) = (index, run, label, started);
        }
        history.changes.push(change);
    }
    history.series.push(HistorySeries { name, runs, figures });
}
