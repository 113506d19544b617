//! Right-censored times: distributions in which some requests have only a lower bound.
//!
//! A request that failed was never answered, so its time is above every finite one. Only the time until its failure is
//! known. A request in flight at the end of the window takes at least its age. Such a request counts in the sample up
//! to its age, and not beyond (product-limit estimate: Kaplan and Meier 1958). The requests in flight at the start of a
//! window join the sample at their age. In a steady load the two groups cancel out, and the result is the plain
//! distribution of the requests that ended in the window.
//!
//! A refused answer (an unexpected status) does not give the response time of a good request. A good answer would have
//! taken at least the time of the refusal, so a refused request counts up to this time, like a request in flight.
//!
//! A percentile is exact only if the share of failed requests is surely below the share of requests beyond the
//! percentile. Otherwise the percentile would depend on single failures, and only a lower bound is given. Bounds never
//! fall from one percentile to the next.

use std::collections::BTreeMap;

use crate::{Hist, Summary, SummaryFigure, TimeFigure, UnansweredTimes};

/// Counts at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    answered: u64,
    /// Requests that failed after this time.
    failed: u64,
    /// Requests that were refused after this time.
    refused: u64,
    /// Requests of this age at the end of the window, minus those of this age at its start.
    left: i64,
}

/// Times of answered requests and lower bounds of all others. Sums of several threads, hosts or windows are the sums of
/// their counts.
#[derive(Clone, Debug, Default)]
pub struct CensoredTimes {
    /// Counts by time in nanoseconds. Requests that failed after an unknown time are at 0.
    counts: BTreeMap<u64, Counts>,
}

impl CensoredTimes {
    /// Adds answered requests: pairs of a time in nanoseconds and a count.
    #[must_use]
    pub fn answered(mut self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        for (ns, n) in times {
            let sum = &mut self.at(ns).answered;
            *sum = sum.saturating_add(n);
        }
        self
    }

    /// Adds failed requests with the time until each failure.
    #[must_use]
    pub fn unanswered(mut self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        for (ns, n) in times {
            let sum = &mut self.at(ns).failed;
            *sum = sum.saturating_add(n);
        }
        self
    }

    /// Adds the ages of the requests in flight at the end of the window, and of those in flight at its start.
    #[must_use]
    pub fn in_flight(
        mut self,
        end: impl IntoIterator<Item = (u64, u64)>,
        begin: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for (ns, n) in end {
            let sum = &mut self.at(ns).left;
            *sum = sum.saturating_add(signed(n));
        }
        for (ns, n) in begin {
            let sum = &mut self.at(ns).left;
            *sum = sum.saturating_sub(signed(n));
        }
        self
    }

    /// Adds refused requests with the time until each refusal.
    #[must_use]
    pub fn refused(mut self, times: impl IntoIterator<Item = (u64, u64)>) -> Self {
        for (ns, n) in times {
            let sum = &mut self.at(ns).refused;
            *sum = sum.saturating_add(n);
        }
        self
    }

    fn at(&mut self, ns: u64) -> &mut Counts {
        self.counts.entry(ns).or_default()
    }

    /// Adds other times.
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

    /// Returns the number of requests that were never answered.
    pub fn count_unanswered(&self) -> u64 {
        self.counts.values().fold(0, |sum, c| sum.saturating_add(c.failed))
    }

    /// Returns the share of requests that take longer than each time. With `failures_end`, a failed or refused request
    /// ends at its failure, which gives lower bounds. Otherwise a failed request never ends, and a refused request
    /// leaves the sample.
    fn survival(&self, failures_end: bool) -> Vec<(u64, f64)> {
        let ends = |c: &Counts| if failures_end { c.failed.saturating_add(c.refused) as f64 } else { 0.0 };
        let of = |c: &Counts| c.answered as f64 + ends(c);
        let leaves = |c: &Counts| c.left as f64 + if failures_end { 0.0 } else { c.refused as f64 };
        // Number of requests known to take longer than a time, from the longest down.
        let mut at_risk = if failures_end { 0.0 } else { self.count_unanswered() as f64 };
        let mut left = 0.0;
        let mut steps: Vec<(u64, f64)> = Vec::with_capacity(self.counts.len());
        for (ns, c) in self.counts.iter().rev() {
            (at_risk, left) = (at_risk + of(c), left + leaves(c));
            let all: f64 = at_risk + f64::max(left, 0.0);
            steps.push((*ns, if all > 0.0 { 1.0 - of(c) / all } else { 1.0 }));
        }
        steps.reverse();
        let mut share = 1.0;
        steps.iter_mut().for_each(|(_, s)| {
            share *= *s;
            *s = share;
        });
        steps
    }

    /// Returns the `q` quantile (0 to 1).
    pub fn percentile(&self, q: f64) -> TimeFigure {
        Survivals::of(self).percentile(q)
    }

    /// Returns the mean. If any request was never answered, this is a lower bound: the mean of the answers, or the mean
    /// of all requests with failed ones counted at their failure, whichever is longer.
    pub fn mean(&self) -> TimeFigure {
        let mean = |of: fn(&Counts) -> f64| {
            let sums = self.counts.iter().filter(|(ns, _)| **ns > 0);
            let (sum, n) = sums.fold((0.0, 0.0), |(sum, n), (ns, c)| (sum + *ns as f64 * of(c), n + of(c)));
            if n > 0.0 { sum / n / 1e3 } else { 0.0 }
        };
        let answered = mean(|c| c.answered as f64);
        let known = answered.max(mean(|c| c.answered as f64 + c.failed as f64));
        match self.percentile(1.0) {
            TimeFigure::Exact(_) => TimeFigure::Exact(answered),
            TimeFigure::AtLeast(_) => TimeFigure::AtLeast(known),
            TimeFigure::Unknown => TimeFigure::Unknown,
        }
    }

    /// Returns the summary. Figures of answered requests alone stay as `plain` has them if nothing is censored.
    pub(crate) fn summary(&self, plain: Summary) -> Summary {
        let survivals = Survivals::of(self);
        let mut summary = Summary { unanswered: self.count_unanswered(), ..plain };
        let figures = SummaryFigure::ALL
            .map(|figure| (figure, figure.share().map_or_else(|| self.mean(), |share| survivals.percentile(share))));
        let bound = |(figure, found): &(SummaryFigure, TimeFigure)| found.exact().is_none().then_some(*figure);
        summary.at_least = figures.iter().filter_map(bound).collect();
        for (figure, found) in figures.into_iter().filter(|(figure, found)| {
            // The histogram's own mean is not rounded up to the ends of its buckets.
            *figure != SummaryFigure::Mean || found.exact().is_none()
        }) {
            *summary.field(figure) = found.lowest().unwrap_or(0.0);
        }
        summary
    }
}

/// Half-width, in standard errors, of the 95 % interval of the share of failures. Within this interval a percentile
/// depends on chance.
const SURELY: f64 = 1.96;

/// Survival curves: failed requests never end, or end when they fail.
struct Survivals {
    never: Vec<(u64, f64)>,
    at_failure: Vec<(u64, f64)>,
    /// Upper end of the interval of the share of failed requests.
    failures: f64,
}

impl Survivals {
    fn of(times: &CensoredTimes) -> Self {
        let (failed, answered) = (times.count_unanswered() as f64, times.count_answered() as f64);
        let all = (failed + answered).max(1.0);
        let share = failed / all;
        let failures = share + SURELY * (share * (1.0 - share) / all).sqrt();
        Self { never: times.survival(false), at_failure: times.survival(true), failures }
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

    /// Returns the highest exact percentile. Every higher percentile is at least as long. Where requests were only refused,
    /// it is the time after which the curve falls no more.
    fn longest_known(&self) -> Option<u64> {
        let least = self.never.last().map_or(1.0, |(_, share)| *share).max(self.failures);
        first(&self.never, least).filter(|_| least < 1.0)
    }
}

/// Returns the time that at most this share of the requests exceeds.
fn first(curve: &[(u64, f64)], longer: f64) -> Option<u64> {
    // Products of shares are off by some 1e-16 per step.
    let wanted = longer * (1.0 + 1e-9) + 1e-11;
    curve.iter().find(|(_, share)| *share <= wanted).map(|(ns, _)| *ns)
}

/// Returns the recorded times of a histogram with their counts.
fn recorded(hist: &Hist) -> impl Iterator<Item = (u64, u64)> + '_ {
    hist.histogram().iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))
}

/// Names of the histograms of response times, as in [`crate::LoadPart`].
const RESPONSE: &str = "response";
const UNANSWERED: &str = "unanswered";
const UNDER_WAY: &str = "under_way";
const CARRIED_IN: &str = "carried_in";
const REFUSED: &str = "refused";

/// Returns the response times of a window from its histograms. `failed` is the number of failed requests by the tally,
/// for a run that has no histogram of them.
pub fn response_times(histograms: &BTreeMap<String, Hist>, failed: u64) -> CensoredTimes {
    let of = |name: &str| histograms.get(name).into_iter().flat_map(recorded);
    let known = histograms.get(UNANSWERED).map_or(0, Hist::len);
    let times = CensoredTimes::default().answered(of(RESPONSE)).unanswered(of(UNANSWERED));
    let times = times.unanswered(Some((0, failed)).filter(|_| known == 0 && failed > 0)).refused(of(REFUSED));
    // Older runs did not record the requests in flight at the start of the window. The ages at its end then matter only
    // if they show a stall.
    let longest = histograms.get(RESPONSE).map_or(0, |hist| hist.histogram().max());
    let from = if histograms.contains_key(CARRIED_IN) { 0 } else { longest };
    times.in_flight(of(UNDER_WAY).filter(|(ns, _)| *ns > from), of(CARRIED_IN))
}

/// Returns the summary of a histogram if `unanswered` further requests were never answered.
pub fn summary_with_unanswered(hist: &Hist, unanswered: u64) -> Summary {
    censored_summary(hist, &UnansweredTimes::default(), unanswered)
}

/// Returns the summary of the times of answered requests, of the `failed` requests and of other unanswered ones. If
/// `others` has no time for a failure, the time until that failure is unknown.
pub fn censored_summary(answered: &Hist, others: &UnansweredTimes, failed: u64) -> Summary {
    if failed == 0 && [&others.failed, &others.under_way, &others.refused].iter().all(|times| times.is_empty()) {
        return answered.summary();
    }
    let pairs = |times: &BTreeMap<u64, u64>| times.clone().into_iter();
    let known = others.failed.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    CensoredTimes::default()
        .answered(recorded(answered))
        .unanswered(pairs(&others.failed).chain(Some((0, failed.saturating_sub(known))).filter(|(_, n)| *n > 0)))
        .in_flight(pairs(&others.under_way), pairs(&others.carried_in))
        .refused(pairs(&others.refused))
        .summary(answered.summary())
}

/// Returns the summary of the response times of a window; see [`response_times`].
pub fn response_summary(histograms: &BTreeMap<String, Hist>, failed: u64) -> Summary {
    let plain = histograms.get(RESPONSE).map(Hist::summary).unwrap_or_default();
    let censored = failed > 0 || [UNANSWERED, UNDER_WAY, REFUSED].iter().any(|name| histograms.contains_key(*name));
    if censored { response_times(histograms, failed).summary(plain) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server answers half of the requests in 5 ms, one in a hundred in 82 ms, and refuses the others after 50 ms. An
    /// earlier version printed a p90 of at least 50 ms beside a p50 of 82 ms.
    #[test]
    fn bounds_do_not_fall_where_refusals_are_slow() {
        let ms = |ms: u64| ms * 1_000_000;
        let times = CensoredTimes::default().answered([(ms(5), 490), (ms(82), 10)]).refused([(ms(50), 500)]);
        let at = |q: f64| times.percentile(q).lowest().unwrap();
        assert!(at(0.5) <= at(0.9) && at(0.9) <= at(0.99), "{} {} {}", at(0.5), at(0.9), at(0.99));
    }

    fn ms(times: &[(u64, u64)]) -> Vec<(u64, u64)> {
        times.iter().map(|(ms, n)| (ms * 1_000_000, *n)).collect()
    }

    #[test]
    fn timeouts_leave_low_percentiles_known_and_bound_the_high_ones() {
        let times = CensoredTimes::default().answered(ms(&[(5, 80)])).unanswered(ms(&[(50, 20)]));
        assert_eq!(times.percentile(0.5), TimeFigure::Exact(5000.0));
        assert_eq!(times.percentile(0.7), TimeFigure::Exact(5000.0));
        assert_eq!(times.percentile(0.8), TimeFigure::AtLeast(5000.0), "one failure more would make it 50 ms");
        assert_eq!(times.percentile(0.81), TimeFigure::AtLeast(50_000.0));
        assert_eq!(times.mean(), TimeFigure::AtLeast(14_000.0));
        assert_eq!((times.count_answered(), times.count_unanswered()), (80, 20));
    }

    /// A reset after 0.1 ms is no fast answer.
    #[test]
    fn early_failures_count_as_slower_than_every_answer() {
        let times = CensoredTimes::default().answered(ms(&[(5, 700), (9, 100)])).unanswered([(100_000, 200)]);
        assert_eq!(times.percentile(0.7), TimeFigure::Exact(5000.0));
        assert_eq!(times.percentile(0.75), TimeFigure::Exact(9000.0));
        assert_eq!(times.percentile(0.99), TimeFigure::AtLeast(9000.0));
        let unknown = CensoredTimes::default().unanswered([(0, 20)]);
        assert_eq!((unknown.percentile(0.5), unknown.mean()), (TimeFigure::Unknown, TimeFigure::Unknown));
        assert_eq!(CensoredTimes::default().percentile(0.5), TimeFigure::Unknown);
    }

    /// The simulated server closes each connection after its answer, so half of the requests fail immediately. Their
    /// number decides whether the median is the longest answer or unknown, so the median is a bound near the typical
    /// answer.
    #[test]
    fn a_median_at_the_edge_of_the_failures_is_a_bound_below_no_lower_percentile() {
        let failing = |failed| {
            let times = [(100_000, 2900), (300_000, 95), (82_800_000, 5)];
            CensoredTimes::default().answered(times).unanswered([(60_000, failed)])
        };
        for failed in [2990, 3000, 3010] {
            let times = failing(failed);
            assert!(
                matches!(times.percentile(0.5), TimeFigure::AtLeast(us) if (100.0..=300.0).contains(&us)),
                "{failed}"
            );
            let lowest = |q| times.percentile(q).lowest().unwrap();
            let all: Vec<f64> = (1..100).map(|p| lowest(f64::from(p) / 100.0)).collect();
            assert!(all.windows(2).all(|two| two[0] <= two[1]), "{failed}: {all:?}");
        }
        assert_eq!(failing(300).percentile(0.5), TimeFigure::Exact(100.0));
    }

    /// Most requests are refused after 4 ms, and every good answer takes 20 ms or more.
    #[test]
    fn a_refusal_is_no_response_time_and_bounds_a_good_one() {
        let quick = CensoredTimes::default().answered(ms(&[(20, 90), (40, 10)])).refused(ms(&[(4, 600)]));
        assert_eq!(quick.percentile(0.5), TimeFigure::Exact(20_000.0));
        assert_eq!(quick.percentile(0.99), TimeFigure::Exact(40_000.0));
        let late = CensoredTimes::default().answered(ms(&[(20, 950)])).refused(ms(&[(30_000, 50)]));
        assert_eq!(late.percentile(0.5), TimeFigure::Exact(20_000.0));
        assert_eq!(late.percentile(0.99), TimeFigure::AtLeast(30_000_000.0));
        let all = CensoredTimes::default().refused(ms(&[(4, 600), (40, 1)]));
        assert_eq!((all.percentile(0.5), all.count_answered()), (TimeFigure::AtLeast(4000.0), 0));
    }

    #[test]
    fn a_stall_at_the_end_of_the_window_shows_and_an_ordinary_end_does_not() {
        let stalled = CensoredTimes::default().answered(ms(&[(1, 100)])).in_flight(ms(&[(900, 4)]), ms(&[(0, 4)]));
        assert_eq!(stalled.percentile(0.9), TimeFigure::Exact(1000.0));
        assert_eq!(stalled.percentile(0.99), TimeFigure::AtLeast(900_000.0));
        let ordinary = CensoredTimes::default().answered(ms(&[(1, 50), (2, 50)])).in_flight(ms(&[(1, 4)]), []);
        assert_eq!(ordinary.percentile(0.99), TimeFigure::Exact(2000.0));
        assert_eq!(ordinary.percentile(1.0), TimeFigure::Exact(2000.0));
    }

    #[test]
    fn merging_equals_counting_in_one() {
        let part = |n| CensoredTimes::default().answered(ms(&[(3, n)])).unanswered(ms(&[(50, 2)]));
        let mut both = part(10);
        both.merge(&part(30).in_flight(ms(&[(7, 1)]), []));
        let one =
            CensoredTimes::default().answered(ms(&[(3, 40)])).unanswered(ms(&[(50, 4)])).in_flight(ms(&[(7, 1)]), []);
        for q in [0.1, 0.5, 0.88, 0.95, 1.0] {
            assert_eq!(both.percentile(q), one.percentile(q), "{q}");
        }
    }

    /// Draws response times. Those above a timeout are cut, some are reset early, and the window cuts requests in
    /// flight at both ends. An exact figure equals the truth apart from its scatter, and a lower bound is below the
    /// truth.
    #[test]
    fn percentiles_of_simulated_windows_are_never_below_the_truth() {
        const CLIENTS: usize = 40;
        let mut random = fastrand::Rng::with_seed(31);
        let (mut exact, mut bounds) = (0, 0);
        for draw in 0..300 {
            let mean_ms = 5.0 + random.f64() * 20.0;
            let (timeout_ms, resets) = (mean_ms * (1.0 + 4.0 * random.f64()), 0.02 * f64::from(draw % 3));
            let window_ms = mean_ms * 60.0;
            let (mut answered, mut failed, mut end, mut begin) = (vec![], vec![], vec![], vec![]);
            let ns = |ms: f64| (ms * 1e6) as u64;
            for _ in 0..CLIENTS {
                let mut at_ms = -20.0 * mean_ms * (1.0 + random.f64());
                while at_ms < window_ms {
                    let truth_ms = -random.f64().max(1e-12).ln() * mean_ms;
                    let reset = random.f64() < resets;
                    let ends = reset || truth_ms > timeout_ms;
                    let took_ms = if reset { 0.1 } else { truth_ms.min(timeout_ms) };
                    let ended_ms = at_ms + took_ms;
                    if at_ms < 0.0 && ended_ms > 0.0 {
                        begin.push((ns(-at_ms), 1));
                    }
                    if ended_ms > window_ms {
                        end.push((ns(window_ms - at_ms), 1));
                    } else if ended_ms > 0.0 {
                        if ends { failed.push((ns(took_ms), 1)) } else { answered.push((ns(took_ms), 1)) }
                    }
                    at_ms = ended_ms;
                }
            }
            let n = (answered.len() + failed.len()) as f64;
            let times = CensoredTimes::default().answered(answered).unanswered(failed).in_flight(end, begin);
            for q in [0.5, 0.9, 0.99, 0.999] {
                // A reset request never ends, so the truth is a lower percentile of the other requests.
                let share = 1.0 - (1.0 - q - resets) / (1.0 - resets);
                let truth_us = if share < 1.0 { -(1.0 - share).ln() * mean_ms * 1e3 } else { f64::INFINITY };
                // The scatter of a quantile is that of its rank: five standard errors.
                let rank = (share - 5.0 * (share * (1.0 - share).max(1.0 / n) / n).sqrt()).clamp(0.0, 1.0 - 1e-12);
                let low_us = -(1.0 - rank).ln() * mean_ms * 1e3;
                match times.percentile(q) {
                    TimeFigure::Exact(us) => {
                        exact += 1;
                        assert!(us >= low_us.min(truth_us), "{draw} p{q}: {us} below {truth_us}");
                        assert!(truth_us / 1e3 <= timeout_ms * 1.2, "{draw} p{q}: {us} cannot be known");
                    }
                    TimeFigure::AtLeast(us) => {
                        bounds += 1;
                        assert!(
                            us <= timeout_ms * 1e3 * 1.01 && us <= truth_us * 1.2,
                            "{draw} p{q}: {us} > {truth_us}"
                        );
                    }
                    TimeFigure::Unknown => unreachable!("there are answers"),
                }
            }
        }
        println!("{exact} exact figures and {bounds} bounds");
        assert!(exact > 300 && bounds > 300, "{exact} {bounds}");
    }

    /// A long exponential response in a short window: requests that the window cuts are as many as those that it holds.
    #[test]
    fn the_ends_of_a_short_window_do_not_shift_the_median() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut sum = 0.0;
        for _ in 0..200 {
            let mut hists: [Vec<(u64, u64)>; 3] = Default::default();
            for _ in 0..300 {
                let mut at = -30.0;
                while at < 3.0 {
                    let ends = at - random.f64().max(1e-12).ln();
                    let ns = |s: f64| (s * 1e9) as u64;
                    if at < 0.0 && ends > 0.0 {
                        hists[2].push((ns(-at), 1));
                    }
                    match ends {
                        e if e > 3.0 => hists[1].push((ns(3.0 - at), 1)),
                        e if e > 0.0 => hists[0].push((ns(e - at), 1)),
                        _ => {}
                    }
                    at = ends;
                }
            }
            let [answered, end, begin] = hists;
            let times = CensoredTimes::default().answered(answered).in_flight(end, begin);
            sum += times.percentile(0.5).exact().unwrap() / 1e6;
        }
        let median = sum / 200.0;
        assert!((median / 2f64.ln() - 1.0).abs() < 0.02, "{median}");
    }

    #[test]
    fn a_summary_names_its_lower_bounds_and_survives_json() {
        let mut hist = Hist::new();
        hist.record_many_ns(5_000_000, 98);
        let summary = summary_with_unanswered(&hist, 2);
        assert_eq!((summary.count, summary.unanswered), (98, 2));
        assert_eq!(summary.figure(SummaryFigure::P90), hist_us(5_000_000));
        assert!(matches!(summary.figure(SummaryFigure::P99), TimeFigure::AtLeast(us) if us > 4990.0), "{summary:?}");
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains(r#""unanswered":2,"at_least":["mean","p99","p99_9","max"]"#), "{text}");
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
        let plain = serde_json::to_string(&summary_with_unanswered(&hist, 0)).unwrap();
        assert!(!plain.contains("at_least") && !plain.contains("unanswered"), "{plain}");
    }

    fn hist_us(ns: u64) -> TimeFigure {
        let mut hist = Hist::new();
        hist.record_ns(ns);
        TimeFigure::Exact(hist.quantile_us(0.5))
    }

    #[test]
    fn a_stall_and_the_times_of_failures_bound_a_summary() {
        let mut hist = Hist::new();
        hist.record_many_ns(5_000_000, 90);
        let others = |failed: &[(u64, u64)], under_way: &[(u64, u64)]| UnansweredTimes {
            failed: ms(failed).into_iter().collect(),
            under_way: ms(under_way).into_iter().collect(),
            ..UnansweredTimes::default()
        };
        assert_eq!(censored_summary(&hist, &others(&[], &[]), 0), hist.summary());
        let timed_out = censored_summary(&hist, &others(&[(50, 10)], &[]), 10);
        assert_eq!(timed_out.figure(SummaryFigure::P50), hist_us(5_000_000));
        let edge = timed_out.figure(SummaryFigure::P90);
        assert!(
            matches!(edge, TimeFigure::AtLeast(us) if us < 5_010.0),
            "one failure more would make it 50 ms: {edge:?}"
        );
        assert_eq!(timed_out.figure(SummaryFigure::P99), TimeFigure::AtLeast(50_000.0));
        let stalled = censored_summary(&hist, &others(&[], &[(800, 10)]), 0);
        assert_eq!(stalled.figure(SummaryFigure::P99), TimeFigure::AtLeast(800_000.0));
        assert_eq!((stalled.unanswered, timed_out.unanswered), (0, 10));
        let mut both = others(&[(50, 4)], &[(800, 1)]);
        both.merge(&others(&[(50, 6)], &[]));
        assert_eq!((both.failed[&50_000_000], both.under_way.len()), (10, 1));
    }

    #[test]
    fn of_an_older_run_failures_count_and_only_a_stall_stands_out() {
        let hist = |ns: u64, n: u64| {
            let mut hist = Hist::new();
            hist.record_many_ns(ns, n);
            hist
        };
        let mut hists: BTreeMap<String, Hist> = [("response".into(), hist(2_000_000, 100))].into();
        hists.insert("under_way".into(), hist(1_000_000, 50));
        let plain = response_summary(&hists, 0);
        assert_eq!((plain.at_least.is_empty(), plain.p99), (true, hist(2_000_000, 1).quantile_us(0.5)));
        let failed = response_summary(&hists, 3);
        assert!(failed.at_least.contains(SummaryFigure::P99) && !failed.at_least.contains(SummaryFigure::P90));
    }
}
