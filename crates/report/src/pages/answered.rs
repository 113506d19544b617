//! Decides which kind of answer (summary of the result) a run has, if any, and returns parts of this answer. All pages
//! use the functions of this file, so they agree about the contents of the answer.

use run::{Capacity, LoadState, Outcome, Run, Trial, TrialKind};

/// Returns true if the report has a summary of the run's result. If the report has a summary, other pages do not repeat
/// sentences of the summary.
pub(super) fn has_answer(run: &Run) -> bool {
    is_of_search(run) || single(run).is_some()
}

/// Returns true if the summary contains the figures that the title shows.
pub(super) fn has_title(run: &Run) -> bool {
    match is_of_search(run) {
        true => searched(run).is_some_and(|c| c.held || c.rate > 0.0),
        false => single(run).is_some_and(|(_, outcome)| outcome.good_rate.is_some_and(|rate| rate > 0.0)),
    }
}

/// Returns true if the run is a search, or if its findings describe an experiment that tests the verdict.
pub(super) fn is_of_search(run: &Run) -> bool {
    let found = &run.findings;
    let measured = !run.trials.is_empty() && run.plan.experiment().is_none();
    measured && (searched(run).is_some() || found.users.is_some() || found.proof.is_some())
}

/// Returns the capacity that a search found. Returns `None` for a load that the user chose, because one load gives no
/// capacity.
pub(super) fn searched(run: &Run) -> Option<&Capacity> {
    run.findings.capacity.as_ref().filter(|_| !asked(run))
}

/// Returns true if the run has a verdict, a number of users, a capacity, or the knee of the throughput curve.
pub(super) fn is_judged(run: &Run) -> bool {
    let found = &run.findings;
    let has_figures = found.users.is_some() || searched(run).is_some() || found.knee.is_some();
    has_figures || !found.bottleneck.sentence.is_empty() || !found.bottleneck.evidence.is_empty()
}

/// Returns the trial with the highest rate of good answers, and its rate of good answers; `None` if no trial exceeds
/// the capacity.
pub(super) fn beyond(run: &Run) -> Option<(&Trial, f64)> {
    let place = run.findings.picks.beyond?;
    run.trials.get(place).zip(run.findings.outcomes.get(place)?.good_rate)
}

/// Returns true if the user chose the load. If the user chose the load, the findings do not come from a search.
pub(super) fn asked(run: &Run) -> bool {
    run.findings.state == Some(LoadState::Requested)
}

/// Returns the trials of the load that the user chose, with their outcomes.
pub(super) fn of_load(run: &Run) -> impl Iterator<Item = (&Trial, Outcome)> {
    run.outcomes().filter(|(trial, _)| trial.kind == TrialKind::Fixed)
}

/// Returns the trial of the load that the user chose, if there is exactly one. Returns `None` for several trials,
/// because the report shows them in a table.
pub(super) fn single(run: &Run) -> Option<(&Trial, Outcome)> {
    let mut fixed = of_load(run).filter(|_| run.plan.experiment().is_none());
    fixed.next().filter(|_| fixed.next().is_none())
}
