//! Right-censored times: distributions in which only a lower bound is known for some requests.
//!
//! A request that failed was never answered, so its response time counts as longer than any finite time. For a failed
//! request, only the time until the failure is known. A request in flight at the end of the window takes at least its
//! age. A request that is still in flight is part of the sample for times up to its age, but not for longer times. The
//! distribution is the product-limit estimate (Kaplan and Meier 1958). A request that is already in flight at the start
//! of a window joins the sample at the age that it has at that moment. Under a steady load, the requests in flight at
//! the start of the window balance the requests in flight at its end. Under a steady load, the estimate is therefore
//! the plain distribution of the requests that ended in the window. A request that is in flight throughout the window
//! and gets no answer until the end of the drain counts as failed.
//!
//! A refused answer (an answer with an unexpected status) does not count as a good answer. Quick refusals must not make
//! a percentile shorter, and slow refusals must not be ignored. Each percentile is therefore computed once for the good
//! answers and once for all answers, and the longer result is used.

mod survival;

use std::collections::BTreeMap;

/// A figure of a distribution of times, such as the median, microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeFigure {
    /// The time is known exactly.
    Exact(f64),
    /// Only a lower bound of the time is known. The exact time is unknown, because too many requests were not answered.
    AtLeast(f64),
    /// Both the value and its lower bound are unknown.
    Unknown,
}

impl TimeFigure {
    /// Returns the time if it is known exactly.
    pub fn exact(self) -> Option<f64> {
        if let Self::Exact(us) = self { Some(us) } else { None }
    }

    /// Returns the value or its lower bound.
    pub fn lowest(self) -> Option<f64> {
        if let Self::Exact(us) | Self::AtLeast(us) = self { Some(us) } else { None }
    }
}

/// Counts of requests at one point of the time scale.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    answered: u64,
    /// Number of requests that failed after exactly this time.
    failed: u64,
    /// Number of requests that the server refused after exactly this time.
    refused: u64,
    /// Number of requests that had waited for exactly this time when the window ended. The number that had waited for
    /// this time when the window started is subtracted.
    left: i64,
}

/// Times of answered requests, and lower bounds of the times of all other requests. The times of several threads, hosts
/// or windows are merged by adding their counts.
#[derive(Clone, Debug, Default)]
pub struct CensoredTimes {
    /// Counts by time in nanoseconds. A request that failed after an unknown time counts at the time 0.
    counts: BTreeMap<u64, Counts>,
}

impl CensoredTimes {
    /// Adds answered requests: pairs of a time in nanoseconds and a count.
    #[must_use]
    pub fn answered(self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        self.add(times, |counts, n| counts.answered = counts.answered.saturating_add(n))
    }

    /// Adds failed requests with the time until each failure.
    #[must_use]
    pub fn unanswered(self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        self.add(times, |counts, n| counts.failed = counts.failed.saturating_add(n))
    }

    /// Adds the ages of the requests in flight at the end of the window, and of the requests in flight at its start.
    #[must_use]
    pub fn in_flight(
        self,
        end: impl IntoIterator<Item = (u64, u64)>,
        begin: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let ended = self.add(end, |counts, n| counts.left = counts.left.saturating_add(signed(n)));
        ended.add(begin, |counts, n| counts.left = counts.left.saturating_sub(signed(n)))
    }

    /// Adds refused requests with the time until each refusal.
    #[must_use]
    pub fn refused(self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        self.add(times, |counts, n| counts.refused = counts.refused.saturating_add(n))
    }

    /// Adds a list of times in nanoseconds, each with its number of requests. `count` adds a count to the right field
    /// of [`Counts`].
    fn add(self, times: impl IntoIterator<Item = (u64, u64)>, count: fn(&mut Counts, u64)) -> Self {
        self.add_all(&times.into_iter().collect::<Vec<_>>(), count)
    }

    /// Adds a list of times in nanoseconds, each with its number of requests. The function has no type parameter, so
    /// the compiler generates and optimizes its code in this crate.
    fn add_all(mut self, times: &[(u64, u64)], count: fn(&mut Counts, u64)) -> Self {
        times.iter().for_each(|(ns, n)| count(self.at(*ns), *n));
        self
    }

    fn at(&mut self, ns: u64) -> &mut Counts {
        self.counts.entry(ns).or_default()
    }

    /// Adds the times of another thread, host or window.
    pub fn merge(&mut self, other: &Self) {
        for (ns, more) in &other.counts {
            let sum = self.at(*ns);
            sum.answered = sum.answered.saturating_add(more.answered);
            sum.failed = sum.failed.saturating_add(more.failed);
            sum.refused = sum.refused.saturating_add(more.refused);
            sum.left = sum.left.saturating_add(more.left);
        }
    }

    /// Returns the number of answered requests.
    pub fn count_answered(&self) -> u64 {
        self.counts.values().fold(0, |sum, c| sum.saturating_add(c.answered))
    }

    /// Returns the number of refused requests.
    pub fn count_refused(&self) -> u64 {
        self.counts.values().fold(0, |sum, c| sum.saturating_add(c.refused))
    }

    /// Returns the number of requests that were never answered.
    pub fn count_unanswered(&self) -> u64 {
        self.counts.values().fold(0, |sum, c| sum.saturating_add(c.failed))
    }
}

/// Converts a count to a signed number, so that it can be subtracted. A count that is too large becomes the largest
/// signed number.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod tests;
