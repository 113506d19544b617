//! Response times of a window from its histograms.

use std::collections::BTreeMap;

use super::CensoredTimes;
use crate::{AnswerTime, Hist, Summary, UnansweredTimes};

/// Returns the recorded times of a histogram with their counts.
fn recorded(hist: &Hist) -> impl Iterator<Item = (u64, u64)> + '_ {
    hist.histogram().iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value()))
}

/// Name of the histogram with the time until the failure of each failed request; see [`crate::LoadPart`].
const UNANSWERED: &str = "unanswered";
/// Name of the histogram with the ages of the requests in flight at the end of the window.
const UNDER_WAY: &str = "under_way";
/// Name of the histogram with the ages of the requests in flight at the start of the window.
const CARRIED_IN: &str = "carried_in";
/// Name of the histogram with the time until each answer that had an unexpected status.
const REFUSED: &str = "refused";

/// Returns the response times of a measured window from its histograms. `failed` is the number of failed requests, for
/// runs without a histogram of failed requests.
pub fn response_times(histograms: &BTreeMap<String, Hist>, failed: u64) -> CensoredTimes {
    answer_times(histograms, AnswerTime::LastByte, failed)
}

/// Returns the distribution of the time that the argument `time` names, as [`response_times`] does for the response
/// time. A request in flight at the end of the window counts with its age, even if its first byte has arrived. For
/// times of events, the ages of requests in flight are not needed, because the generator records an unfinished time
/// itself at the end.
pub(crate) fn answer_times(histograms: &BTreeMap<String, Hist>, time: AnswerTime, failed: u64) -> CensoredTimes {
    let answered = time.of(histograms);
    if time.is_of_events() {
        return CensoredTimes::default().answered(answered.into_iter().flat_map(recorded));
    }
    let of = |name: &str| histograms.get(name).into_iter().flat_map(recorded);
    let known = histograms.get(UNANSWERED).map_or(0, Hist::len);
    let times = CensoredTimes::default().answered(answered.into_iter().flat_map(recorded)).unanswered(of(UNANSWERED));
    let times = times.unanswered(Some((0, failed)).filter(|_| known == 0 && failed > 0)).refused(of(REFUSED));
    // Runs of older versions did not record the requests in flight at the start of the window. For such runs, an age at
    // the end of the window is used only if it is longer than every answered request. An age longer than every answered
    // request shows a stall.
    let longest = answered.map_or(0, |hist| hist.histogram().max());
    let from = if histograms.contains_key(CARRIED_IN) { 0 } else { longest };
    times.in_flight(of(UNDER_WAY).filter(|(ns, _)| *ns > from), of(CARRIED_IN))
}

/// Returns the summary of the durations in a histogram and of `unanswered` further requests that were never answered.
pub fn summary_with_unanswered(hist: &Hist, unanswered: u64) -> Summary {
    censored_summary(hist, &UnansweredTimes::default(), unanswered)
}

/// Returns the summary of response times. `failed` is the number of failed requests. `others` contains the times of
/// requests without a good answer. A failed request whose time is not in `others` counts as failed after an unknown
/// time.
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
    answer_summary(histograms, AnswerTime::LastByte, failed)
}

/// Returns the summary of the time that the argument `time` names, as [`response_summary`] does for the response time.
pub fn answer_summary(histograms: &BTreeMap<String, Hist>, time: AnswerTime, failed: u64) -> Summary {
    let plain = time.of(histograms).map(Hist::summary).unwrap_or_default();
    let censored = failed > 0 || [UNANSWERED, UNDER_WAY, REFUSED].iter().any(|name| histograms.contains_key(*name));
    if censored { answer_times(histograms, time, failed).summary(plain) } else { plain }
}
