//! Tests of the forms that programs read: run.json, HdrHistogram logs, OpenMetrics and CSV.

use crate::{common, made};

#[test]
fn a_load_has_no_capacity_for_a_scraper() {
    let mut run = common::find();
    assert!(made("openmetrics", &run).contains("loadline_capacity_rate"));
    run.findings.state = Some(run::LoadState::Requested);
    assert!(!made("openmetrics", &run).contains("loadline_capacity"));
}

#[test]
fn json_is_run_json() {
    let mut run = common::find();
    // For a counter without samples, a stored run contains neither figures of 0 nor the reasons for absent figures. The
    // counters of this run have no samples.
    let sides = run.trials.iter_mut().flat_map(|trial| [&mut trial.client].into_iter().chain(&mut trial.server));
    let is_stored = |reading: &run::Reading| reading.value().is_some_and(|value| value != 0.0);
    sides.for_each(|side| {
        side.counters.retain(|_, reading| is_stored(reading));
        side.costs.retain(|_, cost| is_stored(&cost.per_request));
    });
    let back: run::Run = serde_json::from_str(&made("json", &run)).unwrap();
    assert_eq!(back.trials.len(), run.trials.len());
    // A stored run does not contain the decisions of the judge. After loadline has read a run, it computes the judge's
    // decisions again.
    let back = common::decided(back);
    assert_eq!(made("markdown", &back), made("markdown", &run));
}

#[test]
fn an_hdr_log_can_be_read_back_with_its_tags() {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let run = common::find();
    let log = made("hdr", &run);
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let bytes =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, line.encoded_histogram()).unwrap();
        let hist: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(hist.len(), 20_000);
        tags.push(line.tag().unwrap().as_str().to_string());
    }
    assert_eq!(tags.len(), run.trials.len());
    assert_eq!(tags[0], "1-1_connection-response");
}

#[test]
fn openmetrics_has_each_family_once_and_an_end() {
    for run in [common::find(), common::awkward(), common::nothing()] {
        let text = made("openmetrics", &run);
        assert!(text.ends_with("# EOF\n"));
        let mut families: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
        let all = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), all);
        for line in text.lines().filter(|l| !l.starts_with('#')) {
            let (_, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
        }
    }
}

#[test]
fn every_csv_row_has_every_column() {
    for run in [common::find(), common::load(), common::nothing()] {
        let text = made("csv", &run);
        let widths: Vec<usize> = text.lines().map(|l| l.split(',').count()).collect();
        assert!(widths.iter().all(|w| *w == widths[0]), "{widths:?}");
        assert_eq!(widths.len(), run.trials.len() + 1);
    }
}
