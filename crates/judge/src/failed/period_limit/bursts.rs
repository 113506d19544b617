//! The record of a run as a sequence of parts, and the bursts of good answers in it.

use run::{Interval, Run, TENTH_S, Tally, Trial};

use crate::failed::step::steps;
use crate::thresholds::{FEWEST_IN_BURST, REFUSED};

/// Part of a run: a step of a trial, or the time of a trial before its first step or after its last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Begin of the part, seconds since 1970.
    pub(super) from_s: f64,
    /// End of the part, seconds since 1970.
    pub(super) to_s: f64,
    /// Number of good answers.
    good: f64,
    /// Number of failed and refused requests.
    failed: f64,
    /// Number of good answers up to which this part counts as a time without answers.
    ignored: f64,
}

impl Part {
    /// Returns true if the server refused all requests.
    fn is_refused(&self) -> bool {
        self.failed > 0.0 && self.good <= self.ignored
    }
}

/// Stretch of time in which the server answered requests, between two stretches in which it refused all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Burst {
    /// Moment at which the server began to answer again, seconds since 1970; absent if no refusals came before.
    pub(super) opening: Option<Interval>,
    /// Begin of the first part of the burst, seconds since 1970.
    pub(super) from_s: f64,
    /// End of the last part of the burst, seconds since 1970.
    pub(super) until_s: f64,
    /// Number of good answers in the burst.
    pub(super) good: f64,
    /// Number of good answers among the refusals after the burst, such as slow answers to earlier requests.
    pub(super) stray: f64,
    /// True if refusals of all requests follow the burst.
    pub(super) is_used_up: bool,
}

impl Burst {
    /// Creates a burst that has one part so far. `refused_until_s` is the end of the last refusals before the burst.
    fn begin(first: &Part, refused_until_s: Option<f64>) -> Self {
        // The counts of a step come from progress reports that are a tenth of a second apart. An edge may therefore be
        // off by a tenth of a second.
        let is_answered = first.failed <= REFUSED * (first.good + first.failed);
        let latest_s = if is_answered { first.to_s.min(first.from_s + TENTH_S) } else { first.to_s };
        let opening = refused_until_s.map(|until_s| Interval { low: until_s - TENTH_S, high: latest_s });
        Self { opening, from_s: first.from_s, until_s: first.to_s, good: 0.0, stray: 0.0, is_used_up: false }
    }
}

/// Returns the parts of all loads of a run, in order of time. Returns `None` if the time of any load is unknown.
pub(super) fn record(run: &Run) -> Option<Vec<Part>> {
    let each: Option<Vec<Vec<Part>>> = run.trials.iter().map(parts).collect();
    let mut all = each?.concat();
    all.retain(|part| part.good + part.failed > NO_ANSWER);
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    Some(all)
}

/// Returns the parts of a trial: the time before its window, the steps of the window, and the rest of the window. The
/// rest is shorter than a step. The first part also counts the answers after the window, which are few.
fn parts(trial: &Trial) -> Option<Vec<Part>> {
    let (began_s, window) = (trial.measured.load_began_unix_s?, trial.measured.window);
    let steps = steps(trial);
    let within = steps.iter().map(|step| Part {
        from_s: began_s + step.from_s,
        to_s: began_s + step.to_s,
        good: step.good,
        failed: step.failed,
        ignored: NO_ANSWER,
    });
    let ([good, good_after], [failed, failed_after]) = (
        rests(trial, Tally::good, steps.iter().map(|step| step.good)),
        rests(trial, |tally| tally.unexpected_status, steps.iter().map(|step| step.failed)),
    );
    let ignored = (REFUSED * (good + failed)).max(NO_ANSWER);
    let before = Part { from_s: began_s, to_s: began_s + window.begin_s, good, failed, ignored };
    let until_s = steps.last().map_or(window.begin_s, |step| step.to_s);
    let after = Part {
        from_s: began_s + until_s,
        to_s: began_s + window.end_s.max(until_s),
        good: good_after,
        failed: failed_after,
        ignored: NO_ANSWER,
    };
    Some(std::iter::once(before).chain(within).chain([after]).collect())
}

/// Returns the numbers of answers that no step counts: those outside the window, and those in the rest of the window
/// after its last step. The counts of the steps come from progress reports, whose times differ from those of the
/// window. Both numbers are therefore the exact counts minus the counts of the steps.
fn rests(trial: &Trial, of: fn(&Tally) -> u64, steps: impl Iterator<Item = f64>) -> [f64; 2] {
    let in_steps: f64 = steps.sum();
    let after = (of(&trial.measured.tally) as f64 - in_steps).max(0.0);
    [(of(&trial.tally) as f64 - in_steps - after).max(0.0), after]
}

/// Largest count that still counts as no answer. A count between two progress reports may be a fraction of one answer.
const NO_ANSWER: f64 = 1.0 - f64::EPSILON;

/// Returns the bursts of good answers in a record. Leaves out bursts with too few answers, such as single slow answers
/// among refusals.
pub(super) fn bursts(record: &[Part]) -> Vec<Burst> {
    let (mut found, mut open): (Vec<Burst>, Option<Burst>) = (Vec::new(), None);
    let mut refused_until_s = None;
    for part in record {
        if part.is_refused() {
            let ended = open.take().map(|burst| Burst { is_used_up: true, ..burst });
            ended.into_iter().for_each(|burst| keep(&mut found, burst));
            if let Some(last) = found.last_mut() {
                last.stray += part.good;
            }
            refused_until_s = Some(part.to_s);
        } else {
            let burst = open.get_or_insert_with(|| Burst::begin(part, refused_until_s));
            (burst.good, burst.until_s) = (burst.good + part.good, part.to_s);
        }
    }
    open.into_iter().for_each(|burst| keep(&mut found, burst));
    found
}

fn keep(found: &mut Vec<Burst>, burst: Burst) {
    match found.last_mut().filter(|_| burst.good < FEWEST_IN_BURST as f64) {
        Some(last) => last.stray += burst.good,
        None if burst.good < FEWEST_IN_BURST as f64 => {}
        None => found.push(burst),
    }
}
