//! Completed and failed requests in a part of a load whose rate changes.

use run::{Limits, Moment, Trial};
use stats::{average, number::ratio};

use crate::number::finite;

/// Length of the time at each edge of a part, seconds, in which failures may belong to the neighbouring part.
const EDGE_S: f64 = run::TICK_INTERVAL.as_secs_f64();

/// Counts of the requests in one part of a load.
pub(super) struct Counts {
    /// Completed requests per second.
    pub(super) completed_rate: f64,
    /// Requests that certainly belong to the part; `None` if the trial has no series of its failures.
    pub(super) inside: Option<Counted>,
    /// Requests near the beginning and near the end of the part, which may belong to the part or to its neighbour.
    edges: [Counted; 2],
}

/// Sums of rates over steps, per second: each step adds its number of requests, divided by the length of a step.
#[derive(Default)]
pub(super) struct Counted {
    completed: f64,
    /// Number of requests that failed without an answer.
    errors: f64,
    /// Answers among `completed` with an unexpected status.
    refused: f64,
}

impl Counted {
    fn plus(&self, other: &Self) -> Self {
        Self {
            completed: self.completed + other.completed,
            errors: self.errors + other.errors,
            refused: self.refused + other.refused,
        }
    }

    /// Returns the share of failed requests, 0 to 1; `None` without requests.
    pub(super) fn failed_share(&self) -> Option<f64> {
        finite((self.errors + self.refused) / (self.completed + self.errors))
    }

    /// Returns the share of requests without an answer, 0 to 1; 0 without requests.
    pub(super) fn lost_share(&self) -> f64 {
        ratio(self.errors, self.completed + self.errors).unwrap_or(0.0)
    }
}

impl Counts {
    /// Returns true if the counts show that no more requests failed than the limits allow. `counts_edge` is false for
    /// an edge whose failures belong to the neighbouring part of the load.
    pub(super) fn show_success(&self, counts_edge: [bool; 2], limits: &Limits) -> bool {
        let edges = self.edges.iter().zip(counts_edge).filter(|(_, counts)| *counts).map(|(edge, _)| edge);
        let all = self.inside.iter().chain(edges).fold(Counted::default(), |sum, counted| sum.plus(counted));
        self.inside.is_some() && all.failed_share().unwrap_or(0.0) <= limits.errors
    }
}

/// Returns the counts between two times of the window, in seconds since the window began.
pub(super) fn counts(trial: &Trial, [from_s, to_s]: [f64; 2]) -> Counts {
    let measured = &trial.measured;
    let (step_s, steps) = (measured.step_s(), measured.series_completed.len());
    let value = |series: &[f64], i: usize| series.get(i).copied().unwrap_or(0.0);
    let step = |i: usize| {
        let refused = value(&measured.series_refused, i);
        let errors = (value(&measured.series_failed, i) - refused).max(0.0);
        Counted { completed: value(&measured.series_completed, i), errors, refused }
    };
    let counted = |is_wanted: &dyn Fn(f64, f64) -> bool| {
        let wanted = (0..steps).filter(|i| is_wanted(*i as f64 * step_s, (*i + 1) as f64 * step_s));
        wanted.fold(Counted::default(), |sum, i| sum.plus(&step(i)))
    };
    // A part has no neighbour at the beginning and at the end of the window.
    let first_s = if from_s <= 0.0 { f64::NEG_INFINITY } else { from_s };
    let last_s = if to_s >= measured.length_s { f64::INFINITY } else { to_s };
    let near = |edge_s: f64| counted(&|begin_s, end_s| end_s > edge_s - EDGE_S && begin_s < edge_s + EDGE_S);
    let is_own = |i: &usize| (from_s..to_s).contains(&((*i as f64 + 0.5) * step_s));
    let own: Vec<f64> = (0..steps).filter(is_own).map(|i| value(&measured.series_completed, i)).collect();
    let inside = counted(&|begin_s, end_s| begin_s >= first_s + EDGE_S && end_s <= last_s - EDGE_S);
    Counts {
        completed_rate: average(&own),
        inside: Some(inside).filter(|_| has_failures(trial)),
        edges: [near(first_s), near(last_s)],
    }
}

/// Returns true if the series of failures of a trial is complete. Early versions of loadline wrote no series of
/// failures.
fn has_failures(trial: &Trial) -> bool {
    let failed = |m: &Moment| m.failed > 0;
    let tally = &trial.measured.tally;
    let any = match trial.moments.as_slice() {
        [] => tally.unexpected_status > 0 || tally.errors.requests() > 0,
        moments => moments.iter().any(failed),
    };
    !any || !trial.measured.series_failed.is_empty()
}
