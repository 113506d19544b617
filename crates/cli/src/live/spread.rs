//! The distribution of the current trial's response times, and a scale for charts in which a single outlier does not
//! make all other values small.

use report::{Unit, quantity};
use run::{CoarseHist, TickDetail};

/// Number of ranges for the response times up to the 99.9 % quantile.
const RANGES: i32 = 6;
/// Maximum number of ranges: [`RANGES`], one range for responses slower than the 99.9 % quantile, and one for requests
/// without an answer.
pub(super) const MAX_RANGES: usize = RANGES as usize + 2;
/// Share of the values in a chart that count as usual.
const USUAL: f64 = 0.95;
/// Factor by which a value must exceed the usual values to count as an outlier.
const OUTLIER: f64 = 3.0;

/// Range of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Range {
    /// Response times up to this value, microseconds.
    UpTo(f64),
    /// Response times longer than those of all other ranges.
    Slower,
    /// Requests that failed, so they were never answered.
    NoAnswer,
}

/// Divides the requests that have ended into ranges. Returns the ranges with their shares of these requests, like the
/// report's histogram of response times. Requests in flight belong to no range.
pub(super) fn ranges(detail: &TickDetail) -> Vec<(Range, f64)> {
    let unanswered = detail.unanswered_share();
    let mut all = answered_ranges(&detail.responses);
    all.iter_mut().for_each(|(_, share)| *share *= 1.0 - unanswered);
    all.extend((unanswered > 0.0).then_some((Range::NoAnswer, unanswered)));
    all
}

/// Divides the response times into ranges. Returns each range with its share of all responses.
fn answered_ranges(responses: &CoarseHist) -> Vec<(Range, f64)> {
    let (Some(low), Some(high)) = (responses.quantile_us(0.0), responses.quantile_us(0.999)) else { return Vec::new() };
    let (low, high) = (low.max(1e-3), high.max(1e-3));
    let edge = |i: i32| low * (high / low).powf(f64::from(i) / f64::from(RANGES));
    let mut edges: Vec<f64> = (1..=RANGES).map(edge).filter_map(|us| format!("{us:.1e}").parse().ok()).collect();
    edges.dedup();
    let within = |us: f64| share_within(responses, us);
    let starts = std::iter::once(0.0).chain(edges.iter().map(|us| within(*us)));
    let mut all: Vec<(Range, f64)> =
        edges.iter().zip(starts).map(|(us, before)| (Range::UpTo(*us), (within(*us) - before).max(0.0))).collect();
    let rest = 1.0 - edges.last().map_or(0.0, |us| within(*us));
    all.extend((rest > 1e-9).then_some((Range::Slower, rest)));
    all
}

/// Block characters of growing height, in steps of an eighth of a line.
pub(super) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Width of the text that names the times at both ends of the line, such as `9.99 ms to 999 ms`, in columns.
const ENDS_WIDTH: usize = 18;
/// Maximum width of the text that gives the share of the requests without an answer, columns.
const NO_ANSWER_WIDTH: usize = ", 99.9 % no answer".len();

/// Returns a histogram as one line of blocks, and a text. The text names the response times at both ends of the line,
/// and the share of the requests without an answer. The line and the text together take at most `columns` columns. The
/// line covers the times from the 0.1 % quantile to the 99.9 % quantile, and shorter or longer times count at its ends.
/// The scale is logarithmic: from column to column, the times grow by the same factor. A column with at least one
/// response is visible. If no request was answered, there are no blocks. If no request has ended, returns `None`.
pub(super) fn strip(detail: &TickDetail, columns: usize) -> Option<(String, String)> {
    let responses = &detail.responses;
    let no_answer = no_answer(detail.unanswered_share());
    let Some((low_us, high_us)) = responses.quantile_us(0.001).zip(responses.quantile_us(0.999)) else {
        return no_answer.map(|words| (String::new(), words));
    };
    let no_answer_width = if no_answer.is_some() { NO_ANSWER_WIDTH } else { 0 };
    let no_answer = no_answer.map_or(String::new(), |words| format!(", {words}"));
    let ends = format!("{} to {}{no_answer}", quantity(low_us, Unit::Micros), quantity(high_us, Unit::Micros));
    // The text has a fixed width, so the length of the line does not change with the times.
    let room = columns.checked_sub(1 + ENDS_WIDTH + no_answer_width)?;
    let bucket = |us: f64| CoarseHist::bucket((us * 1e3) as u64);
    let (first, last) = (bucket(low_us), bucket(high_us).max(bucket(low_us)));
    let buckets = last - first + 1;
    let mut sums = vec![0.0; buckets.min(room)];
    let shown = sums.len();
    for (at, n) in responses.counts() {
        let column = (usize::from(at).clamp(first, last) - first) * shown / buckets;
        sums.get_mut(column).into_iter().for_each(|sum| *sum += n as f64);
    }
    let most = sums.iter().copied().fold(0.0, f64::max);
    let block = |n: f64| EIGHTHS[((n / most * 8.0).ceil() as usize).min(8)];
    let blocks: String = stretched(&sums, room).into_iter().map(block).collect();
    (most > 0.0).then_some((blocks, ends))
}

/// Returns the words about the share of the requests that failed, so they were never answered. Returns `None` for a
/// share of zero.
fn no_answer(unanswered: f64) -> Option<String> {
    (unanswered > 0.0).then(|| format!("{} no answer", quantity(unanswered, Unit::Share)))
}

/// Returns the share of the responses that took at most `us` microseconds, as precisely as the buckets allow.
fn share_within(responses: &CoarseHist, us: f64) -> f64 {
    let bucket = CoarseHist::bucket((us * 1e3) as u64);
    let (below, all) = responses.counts().fold((0.0, 0.0), |(below, all), (at, n)| {
        (if usize::from(at) <= bucket { below + n as f64 } else { below }, all + n as f64)
    });
    if all > 0.0 { below / all } else { 0.0 }
}

/// Returns the name of a range of response times.
pub(super) fn name(range: Range) -> String {
    match range {
        Range::UpTo(us) => format!("to {}", quantity(us, Unit::Micros)),
        Range::Slower => "slower".into(),
        Range::NoAnswer => "no answer".into(),
    }
}

/// Returns the value that fills a chart's whole height. If a few values are far above all other values, the returned
/// value is smaller than the largest value.
pub(super) fn scale(values: &[f64]) -> f64 {
    let mut known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    let most = known.last().copied().unwrap_or(0.0);
    let usual = known.get(((known.len() as f64 * USUAL) as usize).min(known.len().saturating_sub(1))).copied();
    match usual.filter(|usual| *usual > 0.0 && most > OUTLIER * usual) {
        Some(usual) => OUTLIER / 2.0 * usual,
        None => most,
    }
}

/// Stretches a list of values to at least `columns` entries, by repeating each value.
pub(super) fn stretched(values: &[f64], columns: usize) -> Vec<f64> {
    let columns = columns.max(values.len());
    (0..columns).filter_map(|i| values.get(i * values.len() / columns.max(1)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spike_does_not_flatten_the_others() {
        let mut values = vec![10.0; 60];
        assert_eq!(scale(&values), 10.0);
        values[7] = 900.0;
        assert_eq!(scale(&values), 15.0);
        assert_eq!((scale(&[]), scale(&[f64::NAN, 0.0])), (0.0, 0.0));
    }

    #[test]
    fn few_values_fill_all_columns() {
        assert_eq!(stretched(&[1.0, 2.0], 5), [1.0, 1.0, 1.0, 2.0, 2.0]);
        assert_eq!((stretched(&[1.0, 2.0], 1), stretched(&[], 4)), (vec![1.0, 2.0], vec![]));
    }

    /// Returns the details of a step in which requests took these times (microseconds), and `failed` requests failed.
    fn detail(times_us: impl IntoIterator<Item = u64>, failed: u64) -> TickDetail {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        times_us.into_iter().for_each(|us| counts[CoarseHist::bucket(us * 1000)] += 1);
        let errors = run::Errors([(run::ErrorKind::ResponseTimeout, failed)].into());
        TickDetail { responses: CoarseHist::of(counts), errors, ..TickDetail::default() }
    }

    #[test]
    fn the_strip_fills_its_columns_and_shows_rare_responses() {
        let times = || std::iter::repeat_n(100, 1000).chain([9_000; 9]);
        let (line, ends) = strip(&detail(times(), 0), 70).unwrap();
        assert!(line.chars().count() == 70 - 19 && line.contains('█') && line.contains('▁'), "{line:?}");
        assert!(line.find('█') < line.find('▁') && ends.ends_with(" ms"), "{line:?} {ends}");
        assert_eq!((strip(&TickDetail::default(), 70), strip(&TickDetail::default(), 0)), (None, None));
        let (line, ends) = strip(&detail(times(), 336), 70).unwrap();
        assert!(ends.ends_with(" ms, 25 % no answer"), "{ends}");
        assert!(line.chars().count() + 1 + ends.chars().count() <= 70, "{line:?} {ends}");
    }

    /// An earlier version of the live view said "no answers in this step yet" for a whole run in which every request
    /// failed.
    #[test]
    fn a_strip_without_answers_says_that_no_request_was_answered() {
        assert_eq!(strip(&detail([], 7), 70), Some((String::new(), "100 % no answer".into())));
    }

    #[test]
    fn the_ranges_hold_all_responses() {
        let found = ranges(&detail((1..400).map(|i| i * 10), 0));
        let all: f64 = found.iter().map(|(_, share)| share).sum();
        assert!((all - 1.0).abs() < 1e-9 && found.len() >= 5, "{found:?}");
        assert!(ranges(&TickDetail::default()).is_empty());
        assert_eq!((name(Range::UpTo(1500.0)), name(Range::Slower)), ("to 1.5 ms".into(), "slower".into()));
    }

    /// In the report, the bars also count requests without an answer. An earlier version of the live view left such
    /// requests out. The bars of that version therefore added up to 100 % while half of the requests failed.
    #[test]
    fn requests_without_an_answer_have_a_range_of_their_own() {
        let found = ranges(&detail((1..=300).map(|i| i * 10), 100));
        let all: f64 = found.iter().map(|(_, share)| share).sum();
        assert!((all - 1.0).abs() < 1e-9 && found.len() <= MAX_RANGES, "{found:?}");
        assert_eq!(found.last(), Some(&(Range::NoAnswer, 0.25)));
        assert_eq!(ranges(&detail([], 7)), [(Range::NoAnswer, 1.0)]);
        assert_eq!(name(Range::NoAnswer), "no answer");
    }
}
