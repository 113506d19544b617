//! Response times of a window from its histograms.

use std::collections::BTreeMap;

use crate::{AnswerTime, CensoredTimes, Hist, Summary, UnansweredTimes};

/// Name of the histogram with the time until the failure of each failed request; see [`crate::LoadPart`].
const UNANSWERED: &str = "unanswered";
/// Name of the histogram with the ages of the requests in flight at the end of the window.
const UNDER_WAY: &str = "under_way";
/// Name of the histogram with the ages of the requests in flight at the start of the window.
const CARRIED_IN: &str = "carried_in";
/// Ending of a histogram's name, after the name of another histogram of requests without a good answer. A histogram
/// with this ending contains only times of requests whose first byte had arrived earlier.
const BEGUN: &str = "_begun";
/// Name of the histogram with the time until the end of each request that ended without any event of a stream.
const WITHOUT_EVENTS: &str = "without_events";
/// Name of the histogram with the time until each answer that had an unexpected status.
const REFUSED: &str = "refused";
/// Name of the histogram with the times to the first byte of the requests that failed or were refused after their first
/// byte had come.
const FIRST_BYTE_NO_GOOD_ANSWER: &str = "first_byte_no_good_answer";

/// Returns the response times of a measured window from its histograms. `failed` is the number of failed requests, for
/// runs without a histogram of failed requests.
pub fn response_times(histograms: &BTreeMap<String, Hist>, failed: u64) -> CensoredTimes {
    answer_times(histograms, AnswerTime::LastByte, failed)
}

/// Returns the distribution of the time that the argument `time` names, as [`response_times`] does for the response
/// time. A request in flight at the end of the window counts with its age as a lower bound. For the time to the first
/// byte, a request whose first byte has arrived is left out, because a later window records its time. A failed or
/// refused request whose first byte came is included with the time to this byte. Such a request may make a percentile
/// longer, but never shorter. For times of events, the ages of requests in flight are not needed, because the generator
/// records an unfinished time itself at the end. See [`event_times`] for requests without events.
pub(crate) fn answer_times(histograms: &BTreeMap<String, Hist>, time: AnswerTime, failed: u64) -> CensoredTimes {
    let answered = time.of(histograms);
    if time.is_of_events() {
        return event_times(histograms, time);
    }
    let of = |name: &str| histograms.get(name).into_iter().flat_map(Hist::recorded);
    let open = |name: &str| match histograms.get(&format!("{name}{BEGUN}")) {
        Some(_) if time == AnswerTime::FirstByte => without_begun(histograms, name).recorded(),
        _ => of(name).collect(),
    };
    let known = histograms.get(UNANSWERED).map_or(0, Hist::len);
    let times =
        CensoredTimes::default().answered(answered.into_iter().flat_map(Hist::recorded)).unanswered(open(UNANSWERED));
    let times = times.unanswered(Some((0, failed)).filter(|_| known == 0 && failed > 0)).refused(open(REFUSED));
    let times = match time {
        AnswerTime::FirstByte => times.refused(of(FIRST_BYTE_NO_GOOD_ANSWER)),
        _ => times,
    };
    // Runs of older versions did not record the requests in flight at the start of the window. For such runs, an age at
    // the end of the window is used only if it is longer than the response time of every answered request. A request in
    // flight that is older than the longest response time is a sign of a stall.
    let longest = answered.map_or(0, Hist::max_ns);
    let from = if histograms.contains_key(CARRIED_IN) { 0 } else { longest };
    times.in_flight(open(UNDER_WAY).into_iter().filter(|(ns, _)| *ns > from), open(CARRIED_IN))
}

/// Returns the times to the first event, or the gaps between events. A request that ended without any event counts as
/// unanswered. Its duration is a lower bound of the time to its first event. Among the gaps, it counts as the mean
/// number of gaps of the other answers, each of unknown length. If no request got any event, the answers may not be
/// streams at all, so no time is missing.
fn event_times(histograms: &BTreeMap<String, Hist>, time: AnswerTime) -> CensoredTimes {
    let Some(hist) = time.of(histograms).filter(|hist| !hist.is_empty()) else { return CensoredTimes::default() };
    let ended = histograms.get(WITHOUT_EVENTS).into_iter().flat_map(Hist::recorded);
    let streams = histograms.get(AnswerTime::FirstEvent.histogram()).map_or(1, Hist::len).max(1);
    let gaps_each = hist.len().div_ceil(streams);
    let missing = ended.map(|(ns, n)| match time {
        AnswerTime::Gap => (0, n.saturating_mul(gaps_each)),
        _ => (ns, n),
    });
    CensoredTimes::default().answered(hist.recorded()).unanswered(missing)
}

/// Returns the histogram `name` without requests whose first answer byte had already arrived when their time was
/// recorded.
fn without_begun(histograms: &BTreeMap<String, Hist>, name: &str) -> Hist {
    let mut open = histograms.get(name).cloned().unwrap_or_default();
    histograms.get(&format!("{name}{BEGUN}")).into_iter().for_each(|begun| open.take_back(begun));
    open
}

/// Returns the histogram of the time that `time` names, of the refused answers. Empty for times of events.
pub(crate) fn refused_times(histograms: &BTreeMap<String, Hist>, time: AnswerTime) -> Hist {
    match time {
        AnswerTime::LastByte => histograms.get(REFUSED).cloned().unwrap_or_default(),
        AnswerTime::FirstByte => {
            let mut refused = without_begun(histograms, REFUSED);
            histograms.get(FIRST_BYTE_NO_GOOD_ANSWER).into_iter().for_each(|more| refused.merge(more));
            refused
        }
        _ => Hist::new(),
    }
}

/// Returns the histogram of the times until the failure of the requests that failed, as [`refused_times`] does for the
/// refused answers.
pub(crate) fn failed_times(histograms: &BTreeMap<String, Hist>, time: AnswerTime) -> Hist {
    match time {
        AnswerTime::LastByte => histograms.get(UNANSWERED).cloned().unwrap_or_default(),
        AnswerTime::FirstByte => without_begun(histograms, UNANSWERED),
        _ => Hist::new(),
    }
}

/// Returns the summary of the durations in a histogram and of `unanswered` further requests that were never answered.
pub fn summary_with_unanswered(hist: &Hist, unanswered: u64) -> Summary {
    censored_summary(hist, &UnansweredTimes::default(), unanswered)
}

/// Returns the summary of response times. `failed` is the number of failed requests. `others` contains the times of
/// requests without a good answer. If `others` lacks the time of a failed request, the request counts as failed after
/// an unknown time.
pub fn censored_summary(answered: &Hist, others: &UnansweredTimes, failed: u64) -> Summary {
    if failed == 0 && [&others.failed, &others.under_way, &others.refused].iter().all(|times| times.is_empty()) {
        return Summary::of(answered);
    }
    let pairs = |times: &BTreeMap<u64, u64>| times.clone().into_iter();
    let known = others.failed.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let times = CensoredTimes::default()
        .answered(answered.recorded())
        .unanswered(pairs(&others.failed).chain(Some((0, failed.saturating_sub(known))).filter(|(_, n)| *n > 0)))
        .in_flight(pairs(&others.under_way), pairs(&others.carried_in))
        .refused(pairs(&others.refused));
    Summary::of_times(&times, Summary::of(answered))
}

/// Returns the summary of the response times of a window; see [`response_times`].
pub fn response_summary(histograms: &BTreeMap<String, Hist>, failed: u64) -> Summary {
    answer_summary(histograms, AnswerTime::LastByte, failed)
}

/// Returns the summary of the time that the argument `time` names, as [`response_summary`] does for the response time.
pub fn answer_summary(histograms: &BTreeMap<String, Hist>, time: AnswerTime, failed: u64) -> Summary {
    let plain = time.of(histograms).map(Summary::of).unwrap_or_default();
    let has = |name: &&str| histograms.contains_key(*name);
    let censored = match time.is_of_events() {
        true => has(&WITHOUT_EVENTS) && !plain.is_empty(),
        false => failed > 0 || [UNANSWERED, UNDER_WAY, REFUSED].iter().any(has),
    };
    if censored { Summary::of_times(&answer_times(histograms, time, failed), plain) } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SummaryFigure, TimeFigure};

    /// Converts milliseconds to nanoseconds.
    fn ms(times: &[(u64, u64)]) -> BTreeMap<u64, u64> {
        times.iter().map(|(ms, n)| (ms * 1_000_000, *n)).collect()
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
            failed: ms(failed),
            under_way: ms(under_way),
            ..UnansweredTimes::default()
        };
        assert_eq!(censored_summary(&hist, &others(&[], &[]), 0), Summary::of(&hist));
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

    /// Half of the answers are refusals whose head comes after 1 ms and whose body after 150 ms. Some more answers are
    /// cut off after 100 ms.
    #[test]
    fn refusals_and_cut_answers_count_with_their_first_byte() {
        let hist = |times: &[(u64, u64)]| {
            let mut hist = Hist::new();
            times.iter().for_each(|(ns, n)| hist.record_many_ns(*ns, *n));
            hist
        };
        let mut hists: BTreeMap<String, Hist> = [("response".into(), hist(&[(1_000_000, 100)]))].into();
        hists.insert("refused".into(), hist(&[(150_000_000, 90)]));
        hists.insert("unanswered".into(), hist(&[(100_000_000, 10)]));
        let unknown = answer_summary(&hists, AnswerTime::FirstByte, 0);
        assert!(unknown.p90 > 90_000.0 && unknown.at_least.contains(SummaryFigure::Max), "{unknown:?}");
        hists.insert("refused_begun".into(), hist(&[(150_000_000, 90)]));
        hists.insert("unanswered_begun".into(), hist(&[(100_000_000, 10)]));
        hists.insert("first_byte_no_good_answer".into(), hist(&[(1_000_000, 100)]));
        let known = answer_summary(&hists, AnswerTime::FirstByte, 0);
        assert!(known.p99 < 1_100.0 && known.at_least.is_empty() && known.unanswered == 0, "{known:?}");
        let whole = response_summary(&hists, 0);
        assert!(whole.p90 > 90_000.0 && whole.unanswered == 10, "{whole:?}");
    }

    /// Of 200 answers, 100 have three events each, 98 have two, and two have none.
    #[test]
    fn answers_without_events_leave_the_times_of_events_open() {
        let hist = |ns: u64, n: u64| {
            let mut hist = Hist::new();
            hist.record_many_ns(ns, n);
            hist
        };
        let mut hists: BTreeMap<String, Hist> = [("first_event".into(), hist(1_000_000, 198))].into();
        hists.insert("gap".into(), hist(5_000_000, 298));
        let summaries = |hists: &BTreeMap<String, Hist>| {
            [AnswerTime::FirstEvent, AnswerTime::Gap].map(|time| answer_summary(hists, time, 0))
        };
        assert!(summaries(&hists).iter().all(|times| times.at_least.is_empty()));
        hists.insert("without_events".into(), hist(700_000, 2));
        let [first, gap] = summaries(&hists);
        assert_eq!((first.count, first.unanswered, gap.count, gap.unanswered), (198, 2, 298, 4));
        for times in [first, gap] {
            assert!(
                times.exact(SummaryFigure::P90).is_some() && times.exact(SummaryFigure::P99).is_none(),
                "{times:?}"
            );
        }
        hists.remove("first_event");
        hists.remove("gap");
        assert!(summaries(&hists).iter().all(Summary::is_empty), "answers without any event are no streams");
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
