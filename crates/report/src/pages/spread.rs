//! Histogram of response times for a terminal. The histogram has a few ranges of response times. The ratio of a range's
//! upper end to its lower end is about equal for all ranges. A last line counts the requests that were never answered.

use run::{Hist, Trial};

use crate::{BarRow, Bars, Hue, Segment, Unit};
use run::number::quantity;

/// Number of ranges without the range of the slowest requests, so the histogram has seven lines.
const RANGES: i32 = 6;
/// Share of the requests in all ranges except the last range, which contains the slowest requests.
const BODY: f64 = 0.999;
/// Share of the fastest requests, which are ignored when the code chooses where the ranges begin. The chart's first
/// range also contains the ignored requests.
const HEAD: f64 = 0.001;

/// Returns the chart with one bar per range of response times; `None` if the trial has no histogram of response times.
pub(super) fn histogram(trial: &Trial) -> Option<Bars> {
    let hist = trial.histograms.get("response").filter(|hist| !hist.is_empty())?;
    let edges = edges(hist);
    let answered = 1.0 - trial.latency_us.unanswered_share();
    let within: Vec<f64> = edges.iter().map(|us| answered * hist.share_within_ns((us * 1e3) as u64)).collect();
    let mut rows = Vec::new();
    for (i, us) in edges.iter().enumerate() {
        let before = if i == 0 { 0.0 } else { within[i - 1] };
        rows.push(row(format!("to {}", quantity(*us, Unit::Micros)), within[i] - before));
    }
    let others = [("slower", answered - within.last()?), ("no answer", 1.0 - answered)];
    rows.extend(others.into_iter().filter(|(_, share)| *share > 0.0).map(|(name, share)| row(name.into(), share)));
    Some(Bars { title: "Requests by latency".into(), unit: Unit::Share, rows, terminal_only: true, ..Bars::default() })
}

/// Returns the upper end of each range of the histogram, in microseconds, rounded to two digits. The last end is
/// rounded up, so that the ranges together contain the share [`BODY`] of the requests.
fn edges(hist: &Hist) -> Vec<f64> {
    let (low, high) = (hist.quantile_us(HEAD).max(1e-3), hist.quantile_us(BODY).max(1e-3));
    let exact = |i: i32| low * (high / low).powf(f64::from(i) / f64::from(RANGES));
    let two_digits = |us: f64| format!("{us:.1e}").parse().ok();
    let mut edges: Vec<f64> = (1..=RANGES).map(exact).filter_map(two_digits).collect();
    if let Some(last) = edges.last_mut().filter(|last| **last < high) {
        // Adding half a unit of the second digit makes the following rounding always round up.
        let half_unit = 10_f64.powf(high.log10().floor() - 1.0) / 2.0;
        *last = two_digits(high + half_unit).unwrap_or(*last);
    }
    edges.dedup();
    edges
}

fn row(label: String, share: f64) -> BarRow {
    let segments = vec![Segment { value: share.max(0.0), hue: Hue::Main, ..Segment::default() }];
    BarRow { label, segments, strong: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times_us: &[u64]) -> Vec<BarRow> {
        let mut trial = Trial::default();
        let mut hist = Hist::new();
        times_us.iter().for_each(|us| hist.record_ns(us * 1000));
        trial.histograms.insert("response".into(), hist);
        histogram(&trial).unwrap().rows
    }

    #[test]
    fn every_request_is_in_one_range() {
        let times: Vec<u64> = (0..2000).map(|i| 100 + i * i % 977).chain([60_000]).collect();
        let rows = rows(&times);
        let all: f64 = rows.iter().map(BarRow::sum).sum();
        assert!((all - 1.0).abs() < 1e-9 && rows.len() == 7, "{rows:?}");
        assert_eq!(rows[0].label, "to 150 µs");
        assert!(rows[6].label == "slower" && rows[6].sum() < 1e-3, "{rows:?}");
    }

    /// In a real run, an earlier version of loadline printed "p90 at least 1.75 s". The bars below this line put 99.9 %
    /// of the requests below 1.6 s. The bars left out the requests without an answer.
    #[test]
    fn requests_without_an_answer_have_a_line_of_their_own() {
        let mut trial = Trial::default();
        let mut hist = Hist::new();
        (0..80).for_each(|i| hist.record_ns(1_000_000 + i * 1000));
        trial.histograms.insert("response".into(), hist);
        (trial.latency_us.count, trial.latency_us.unanswered) = (80, 20);
        let rows = histogram(&trial).unwrap().rows;
        let last = rows.last().unwrap();
        assert!(last.label == "no answer" && (last.sum() - 0.2).abs() < 1e-9, "{rows:?}");
        assert!((rows.iter().map(BarRow::sum).sum::<f64>() - 1.0).abs() < 1e-9, "{rows:?}");
    }

    /// In an earlier version of loadline, the last range ended at 55 ms, so one request in a hundred was in the line
    /// "slower".
    #[test]
    fn the_ranges_end_above_all_but_the_slowest_requests() {
        let times: Vec<u64> = (0..100).map(|i| 54_000 + 12 * i).collect();
        let rows = rows(&times);
        assert_eq!(rows.last().unwrap().label, "to 56 ms", "{rows:?}");
    }

    #[test]
    fn equal_times_are_one_range_and_none_are_nothing() {
        let rows = rows(&[500; 20]);
        assert!(rows.len() <= 2 && (rows.iter().map(BarRow::sum).sum::<f64>() - 1.0).abs() < 1e-9, "{rows:?}");
        assert!(histogram(&Trial::default()).is_none());
    }
}
