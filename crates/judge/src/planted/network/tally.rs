//! Counts of verdicts on simulated networks: wrong and unknown verdicts, and the share of right verdicts in each band
//! of confidence.

use run::ProofOutcome;

use super::calibration::{Answer, Case};
use crate::planted::PLANTED;

/// Counts of verdicts on one set of simulated networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) worlds: usize,
    /// Number of wrong verdicts with a confidence of 0.9 or more.
    pub(super) surely_wrong: usize,
    /// Number of wrong verdicts that the experiment called proven.
    pub(super) wrong_and_proven: usize,
    pub(super) wrong: usize,
    pub(super) unknown: usize,
    /// Number of wrong verdicts with a confidence of 0.9 or more, from the counters alone (before the experiment).
    pub(super) surely_wrong_by_counters: usize,
    pub(super) wrong_by_counters: usize,
    pub(super) unknown_by_counters: usize,
}

impl Tally {
    pub(super) fn of(cases: &[Case]) -> Self {
        let count = |is: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count();
        Self {
            worlds: cases.len(),
            surely_wrong: count(&|case| case.answer.surely_wrong()),
            wrong_and_proven: count(&|case| case.answer.wrong() && case.outcome == ProofOutcome::Proven),
            wrong: count(&|case| case.answer.wrong()),
            unknown: count(&|case| case.answer.unknown()),
            surely_wrong_by_counters: count(&|case| case.counters.surely_wrong()),
            wrong_by_counters: count(&|case| case.counters.wrong()),
            unknown_by_counters: count(&|case| case.counters.unknown()),
        }
    }
}

/// Counts of the verdicts whose confidence is in one range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    /// Lowest confidence that belongs to the range.
    pub(super) from: f64,
    /// Upper end of the range of confidence; exclusive.
    pub(super) to: f64,
    pub(super) verdicts: usize,
    pub(super) right: usize,
}

/// Borders between the bands of confidence.
const BORDERS: [f64; 5] = [0.0, 0.5, 0.7, 0.9, 1.01];

/// Returns the bands of confidence with their numbers of verdicts, the highest band first. Leaves out verdicts
/// `unknown`.
pub(super) fn bands(answers: &[&Answer]) -> Vec<Band> {
    let known = || answers.iter().filter(|answer| !answer.unknown());
    let band = |borders: &[f64]| {
        let inside = || known().filter(|answer| (borders[0]..borders[1]).contains(&answer.confidence));
        let (verdicts, right) = (inside().count(), inside().filter(|answer| answer.right).count());
        Band { from: borders[0], to: borders[1], verdicts, right }
    };
    BORDERS.windows(2).rev().map(band).collect()
}

/// Returns the verdicts on the made-up runs, each of which has one cause.
pub(super) fn planted() -> Vec<Answer> {
    let judged = |planted: &crate::planted::Planted| {
        let mut run = planted.run();
        crate::judge(&mut run);
        let verdict = run.findings.bottleneck;
        Answer {
            right: verdict.id == planted.id,
            id: verdict.id,
            confidence: verdict.confidence,
            sentence: verdict.sentence,
        }
    };
    PLANTED.iter().filter(|planted| planted.id != "unknown").map(judged).collect()
}
