//! Windows by which a run is judged, and their division into stretches of equal length.

use run::{AnswerTime, CensoredTimes, Hist, Summary, Trial, TrialKind};

use super::figure::Figure;
use crate::context::single::none_good;
use crate::thresholds::NEAR_CAPACITY;

/// Minimum number of stretches of all windows together. All windows are divided into the same number of stretches
/// (parts of equal length). With 10 to 30 stretches, the interval of a mean is nearly as precise as possible (B.
/// Schmeiser, *Operations Research* 30, 1982). Ten stretches are the fewest in the range of 10 to 30 stretches. The
/// fewer stretches there are, the longer and the less correlated they are.
pub(super) const STRETCHES: usize = 10;

/// Prefixes of the names of figures that describe a time other than the response time.
const TIMES: [(&str, AnswerTime); 3] =
    [("first-byte-", AnswerTime::FirstByte), ("first-event-", AnswerTime::FirstEvent), ("gap-", AnswerTime::Gap)];

/// Windows by which a run or a repeat is judged.
pub(super) struct Seen<'a>(pub(super) Vec<&'a Trial>);

impl<'a> Seen<'a> {
    /// Returns the windows of the search whose offered rate was near the capacity. If no window was near the capacity,
    /// returns the window `chosen`.
    pub(super) fn near(trials: &'a [Trial], chosen: &'a Trial, capacity: Option<f64>) -> Self {
        let near = |t: &&Trial| {
            let share = t.rates.offered_rate / capacity.unwrap_or(f64::NAN);
            t.kind == TrialKind::Search && t.broken().is_none() && (NEAR_CAPACITY..=1.0).contains(&share)
        };
        let all: Vec<&Trial> = trials.iter().filter(near).filter(|_| chosen.kind == TrialKind::Search).collect();
        Self(if all.is_empty() { vec![chosen] } else { all })
    }

    pub(super) fn of(&self, figure: &str) -> Figure {
        match figure {
            "rate" => self.rate(),
            "errors" => self.failed(),
            _ => {
                let found = TIMES.iter().find_map(|(prefix, time)| Some((*time, figure.strip_prefix(prefix)?)));
                let (time, figure) = found.unwrap_or((AnswerTime::LastByte, figure));
                self.time(time, figure)
            }
        }
    }

    /// Returns true if the windows have answers, but no good answer.
    pub(super) fn none_good(&self) -> bool {
        self.0.iter().all(|trial| none_good(trial))
    }

    /// Returns the number of answers in all windows.
    pub(super) fn answers(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, trial| sum.saturating_add(trial.measured.tally.completed))
    }

    /// Returns the histogram of a time (such as the response time) over all windows. Returns `None` if the run stored
    /// no histograms.
    pub(super) fn hist(&self, time: AnswerTime) -> Option<Hist> {
        let mut all = Hist::new();
        self.0.iter().for_each(|t| t.answer_hist(time).into_iter().for_each(|hist| all.merge(hist)));
        (!all.is_empty()).then_some(all)
    }

    /// Returns the values of a time over all windows, including lower bounds for requests that were never answered.
    pub(super) fn times(&self, time: AnswerTime) -> CensoredTimes {
        let mut all = CensoredTimes::default();
        let failed = |trial: &Trial| trial.measured.tally.errors.requests();
        self.0.iter().for_each(|trial| all.merge(&trial.answer_times(time, failed(trial))));
        all
    }

    /// Returns the share of requests that were never answered. For a time of events, returns the share of these times
    /// that is missing, because answers had no events.
    pub(super) fn lost(&self, time: AnswerTime) -> f64 {
        let sum = |of: fn(&Summary) -> u64| self.0.iter().map(|t| of(t.answer_summary(time)) as f64).sum::<f64>();
        let (lost, answered) = (sum(|times| times.unanswered), sum(|times| times.count));
        stats::number::ratio(lost, lost + answered).unwrap_or(0.0)
    }

    /// Returns for each stretch the number of answers and the sum of their response times, microseconds. Leaves out
    /// stretches without an answer.
    pub(super) fn stretches(&self) -> Vec<(f64, f64)> {
        let each = STRETCHES.div_ceil(self.0.len());
        let of = |trial: &&Trial| {
            let tenths = &trial.measured.tenths;
            let kept = if tenths.took_us.len() == tenths.answered.len() { tenths.answered.len() } else { 0 };
            let both: Vec<(u64, u64)> =
                tenths.answered.iter().copied().zip(tenths.took_us.iter().copied()).take(kept).collect();
            let sum =
                |part: &[(u64, u64)]| part.iter().fold((0.0, 0.0), |(n, us), (a, b)| (n + *a as f64, us + *b as f64));
            both.chunks(kept.div_ceil(each).max(1)).map(sum).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).filter(|(n, _)| *n > 0.0).collect()
    }
}
