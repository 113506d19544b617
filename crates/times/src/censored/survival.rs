//! Survival curves of censored times, their percentiles and their mean.
//!
//! A percentile is exact only if the share of failed requests is clearly below the share of requests beyond the
//! percentile. If the share of failed requests is larger, the percentile would depend on single failures, so the result
//! is only a lower bound. A higher percentile never has a smaller lower bound than a lower percentile.

use super::{CensoredTimes, Counts, TimeFigure};

impl CensoredTimes {
    /// Returns the `q` quantile of the response times, for `q` from 0 to 1.
    pub fn percentile(&self, q: f64) -> TimeFigure {
        Survivals::of(self).percentile(q)
    }

    /// Returns one quantile of the response times for each of several shares from 0 to 1. Computing several quantiles
    /// takes hardly longer than computing one.
    pub fn percentiles<const N: usize>(&self, shares: [f64; N]) -> [TimeFigure; N] {
        let survivals = Survivals::of(self);
        shares.map(|share| survivals.percentile(share))
    }

    /// Returns the mean response time. If every request was answered, refused answers are included only if they make
    /// the mean longer. If some requests were not answered, the result is only a lower bound: the longer of two means.
    /// The first mean is that of the answered requests. The second mean also includes the failed requests, with the
    /// times until their failures.
    pub fn mean(&self) -> TimeFigure {
        let mean = |of: fn(&Counts) -> f64| {
            let sums = self.counts.iter().filter(|(ns, _)| **ns > 0);
            let (sum, n) = sums.fold((0.0, 0.0), |(sum, n), (ns, c)| (sum + *ns as f64 * of(c), n + of(c)));
            if n > 0.0 { sum / n / 1e3 } else { 0.0 }
        };
        let answered = mean(|c| c.answered as f64);
        let known = answered.max(mean(|c| c.answered as f64 + c.failed as f64));
        match self.percentile(1.0) {
            TimeFigure::Exact(_) => TimeFigure::Exact(answered.max(mean(|c| c.answered as f64 + c.refused as f64))),
            TimeFigure::AtLeast(_) => TimeFigure::AtLeast(known),
            TimeFigure::Unknown => TimeFigure::Unknown,
        }
    }

    /// For each time, returns the share of requests that take longer. `ends` returns the number of requests that end at
    /// a given time. `never` is the number of further requests, which take longer than all times of the curve.
    fn survival(&self, ends: impl Fn(&Counts) -> f64, never: u64) -> Vec<(u64, f64)> {
        // For each time, from the longest to the shortest, the loop adds up the requests that are known to take at
        // least this time.
        let (mut at_risk, mut left) = (never as f64, 0.0);
        let mut steps: Vec<(u64, f64)> = Vec::with_capacity(self.counts.len());
        for (ns, c) in self.counts.iter().rev() {
            (at_risk, left) = (at_risk + ends(c), left + c.left as f64);
            let all: f64 = at_risk + f64::max(left, 0.0);
            steps.push((*ns, if all > 0.0 { 1.0 - ends(c) / all } else { 1.0 }));
        }
        steps.reverse();
        let mut share = 1.0;
        steps.iter_mut().for_each(|(_, s)| {
            share *= *s;
            *s = share;
        });
        steps
    }

    /// For each time, returns the share of requests that take longer, where failed requests never end. Refused requests
    /// are included only at times at which they make the share larger.
    fn survival_of_answers(&self) -> Vec<(u64, f64)> {
        let failed = self.count_unanswered();
        let good = self.survival(|c| c.answered as f64, failed);
        if self.count_refused() == 0 || self.count_answered() == 0 {
            return good;
        }
        let all = self.survival(|c| c.answered as f64 + c.refused as f64, failed);
        good.into_iter().zip(all).map(|((ns, good), (_, all))| (ns, good.max(all))).collect()
    }

    /// For each time, returns the share of requests that take longer, where failed and refused requests end at the time
    /// of their failure. Percentiles from the resulting curve are lower bounds.
    fn survival_to_failure(&self) -> Vec<(u64, f64)> {
        self.survival(|c| c.answered as f64 + c.failed as f64 + c.refused as f64, 0)
    }
}

/// Half the width, in standard errors, of the 95 % interval of the share of failures. If the share of requests beyond a
/// percentile lies within the interval, chance decides if the percentile is known exactly.
const SURELY: f64 = 1.96;

/// Two survival curves: in `never`, failed requests never end; in `at_failure`, each failed request ends at the time of
/// its failure.
struct Survivals {
    never: Vec<(u64, f64)>,
    at_failure: Vec<(u64, f64)>,
    /// Upper end of the 95 % interval of the share of failed requests.
    failures: f64,
}

impl Survivals {
    fn of(times: &CensoredTimes) -> Self {
        let (failed, answered) = (times.count_unanswered() as f64, times.count_answered() as f64);
        let all = (failed + answered).max(1.0);
        let share = failed / all;
        let failures = share + SURELY * (share * (1.0 - share) / all).sqrt();
        Self { never: times.survival_of_answers(), at_failure: times.survival_to_failure(), failures }
    }

    fn percentile(&self, q: f64) -> TimeFigure {
        let longer = 1.0 - q.clamp(0.0, 1.0);
        let known = first(&self.never, longer).filter(|_| self.failures <= longer || self.failures <= 0.0);
        if let Some(ns) = known {
            return TimeFigure::Exact(ns as f64 / 1e3);
        }
        let longest = || self.at_failure.last().map(|(ns, _)| *ns);
        let at_failure = first(&self.at_failure, longer).or_else(longest);
        match at_failure.max(self.longest_known()) {
            Some(ns) if ns > 0 => TimeFigure::AtLeast(ns as f64 / 1e3),
            _ => TimeFigure::Unknown,
        }
    }

    /// Returns the response time at the highest percentile whose exact value is known. The returned time is a lower
    /// bound of all higher percentiles.
    fn longest_known(&self) -> Option<u64> {
        let least = self.never.last().map_or(1.0, |(_, share)| *share).max(self.failures);
        first(&self.never, least).filter(|_| least < 1.0)
    }
}

/// Returns the shortest time that at most the share `longer` of the requests exceeds; `None` if there is no such time.
fn first(curve: &[(u64, f64)], longer: f64) -> Option<u64> {
    // Rounding changes a product of shares by about 1e-16 per step, so a share that is only slightly larger than
    // `longer` counts as equal.
    let wanted = longer * (1.0 + 1e-9) + 1e-11;
    curve.iter().find(|(_, share)| *share <= wanted).map(|(ns, _)| *ns)
}
