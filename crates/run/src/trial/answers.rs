//! The times of the answers of a trial.

use super::Trial;
use super::histograms::{answer_times, failed_times, refused_times};
use crate::{AnswerTime, CensoredTimes, Hist, Summary};

impl Trial {
    /// Returns the summary of the time that the argument `time` names. The summary is empty if an earlier version of
    /// loadline made the run and did not record this time.
    pub fn answer_summary(&self, time: AnswerTime) -> &Summary {
        match time {
            AnswerTime::LastByte => &self.latency_us,
            AnswerTime::FirstByte => &self.first_byte_us,
            AnswerTime::FirstEvent => &self.first_event_us,
            AnswerTime::Gap => &self.gap_us,
        }
    }

    /// Returns the histogram of the time that `time` names; `None` if there was no good answer, or if the run did not
    /// record this time.
    pub fn answer_hist(&self, time: AnswerTime) -> Option<&Hist> {
        let is_known = self.answer_summary(time).count > 0;
        time.of(&self.histograms).filter(|hist| is_known && !hist.is_empty())
    }

    /// Returns the times of all requests in the measured window; `time` selects the kind of time. For a request that
    /// was never answered, the time is a lower bound. `failed` is the number of failed requests, for runs without a
    /// histogram of failed requests.
    pub fn answer_times(&self, time: AnswerTime, failed: u64) -> CensoredTimes {
        answer_times(&self.histograms, time, failed)
    }

    /// Returns the times of the refused answers.
    pub fn refused_times(&self, time: AnswerTime) -> Hist {
        refused_times(&self.histograms, time)
    }

    /// Returns the times until the failure of the requests that were never answered.
    pub fn failed_times(&self, time: AnswerTime) -> Hist {
        failed_times(&self.histograms, time)
    }
}
