use proto::{Done, Outcome};
use run::Phase;

use super::*;
use crate::driver::Start;

#[test]
fn only_the_measured_window_is_kept_apart() {
    let request =
        |at_ns| InFlightRequest { start: Start { intended_ns: at_ns, sent_ns: at_ns }, ..InFlightRequest::default() };
    let mut r = Record::new(1_000, RecordOptions::default());
    r.counts.sent = 5;
    r.ended(2_000, 0, &request(1_500), Done::OLDEST);
    r.enter(Phase::Measure, 1_001_000);
    r.counts.sent = 12;
    r.ended(1_002_000, 0, &request(1_001_000), Done::OLDEST);
    r.advance(1_501_000, 4);
    r.enter(Phase::Drain, 2_001_000);
    r.counts.sent = 13;
    r.ended(9_000_000, 0, &request(1), Done::OLDEST);
    let part = r.part(3_000_000, Offered::Sent);
    assert_eq!((part.total.sent, part.measured.sent), (13, 7));
    assert_eq!((part.measured_s, part.measured_at_s, part.offered), (0.001, 0.001, 7.0));
    assert_eq!(part.histograms["response"].len(), 1);
    assert_eq!(part.histograms["service"].len(), 1);
    assert!((part.in_flight_s - 0.002).abs() < 1e-12);
}

#[test]
fn failures_count_with_their_time_and_requests_before_the_window_with_their_age() {
    let start = |at_ns| Start { intended_ns: at_ns, sent_ns: at_ns };
    let request = |at_ns| InFlightRequest { start: start(at_ns), ..InFlightRequest::default() };
    let mut r = Record::new(0, RecordOptions::default());
    r.failed(400, 0, &request(100));
    r.enter(Phase::Measure, 1_000);
    r.ended(2_000, 0, &request(400), Done::OLDEST);
    r.failed(5_000, 0, &request(2_000));
    r.ended(6_000, 0, &request(900), Done { outcome: Outcome::Failed(Fault::Short), ..Done::OLDEST });
    r.ended(7_000, 0, &request(6_700), Done { outcome: Outcome::Unexpected, status: 503, ..Done::OLDEST });
    r.still_under_way(9_000, 500);
    r.still_under_way(9_000, 7_000);
    r.enter(Phase::Drain, 9_000);
    r.failed(9_500, 0, &request(7_000));
    let part = r.part(10_000, Offered::Sent);
    assert_eq!((part.classes.len(), part.service_unanswered.failed.len()), (0, 2));
    let times = |name: &str| -> Vec<u64> { part.histograms[name].recorded().into_iter().map(|(ns, _)| ns).collect() };
    assert_eq!(times("response"), [1_600]);
    assert_eq!(times("unanswered"), [3_001, 5_103]);
    assert_eq!(times("refused"), [300]);
    assert_eq!(times("carried_in"), [100, 500, 600]);
    assert_eq!(times("under_way"), [2_000, 8_503]);
}

/// The numbers in the live view count failures and answers from the start of the load.
#[test]
fn the_live_figures_have_the_time_until_each_failure() {
    let request =
        |at_ns| InFlightRequest { start: Start { intended_ns: at_ns, sent_ns: at_ns }, ..InFlightRequest::default() };
    let mut r = Record::new(0, RecordOptions::default());
    r.failed(50_000_000, 0, &request(0));
    r.enter(Phase::Measure, 60_000_000);
    r.failed(111_000_000, 0, &request(61_000_000));
    r.ended(70_000_000, 0, &request(69_000_000), Done::OLDEST);
    let bucket = run::CoarseHist::bucket(50_000_000);
    assert_eq!((r.coarse_unanswered[bucket], r.coarse_unanswered.iter().sum::<u64>()), (2, 2));
    assert_eq!(r.coarse.iter().sum::<u64>(), 1);
}

/// In this test, a third of all requests hang from before the measured window until after the drain. If requests that
/// hang did not count as failures, the 99th percentile would be wrong, but would look exact.
#[test]
fn a_request_that_hangs_throughout_the_window_and_the_drain_is_a_failure() {
    let request =
        |at_ns| InFlightRequest { start: Start { intended_ns: at_ns, sent_ns: at_ns }, ..InFlightRequest::default() };
    let mut r = Record::new(0, RecordOptions::default());
    r.enter(Phase::Measure, 1_000);
    (0..120).for_each(|n| r.ended(2_000 + n, 0, &request(1_900 + n), Done::OLDEST));
    (0..60).for_each(|_| r.request_under_way(9_000, &request(500)));
    r.request_under_way(9_000, &request(8_000));
    r.enter(Phase::Drain, 9_000);
    (0..60).for_each(|_| r.request_hung(&request(500)));
    r.request_hung(&request(8_000));
    let part = r.part(10_000, Offered::Sent);
    let times = run::response_times(&part.histograms, 0);
    assert_eq!((times.count_answered(), times.count_unanswered()), (120, 60));
    let summary = run::response_summary(&part.histograms, 0);
    assert!(summary.at_least.contains(run::SummaryFigure::P99), "{summary:?}");
}

/// A hundred answers took 100 ns each. The first bytes of 20 longer answers came early, but their last bytes came only
/// after the window or had not come at its end.
#[test]
fn a_request_whose_first_byte_has_arrived_is_not_open_for_the_time_to_the_first_byte() {
    let request = |at_ns, first_byte_ns| InFlightRequest {
        start: Start { intended_ns: at_ns, sent_ns: at_ns },
        first_byte_ns,
        ..InFlightRequest::default()
    };
    let part = |first_byte_ns: fn(u64) -> u64| {
        let mut r = Record::new(0, RecordOptions::default());
        r.enter(Phase::Measure, 10_000);
        (0..100).for_each(|n| r.ended(20_000 + n, 0, &request(19_900 + n, 0), Done::OLDEST));
        r.ended(15_000, 0, &request(5_000, first_byte_ns(5_000)), Done::OLDEST);
        (0..20).for_each(|n| r.request_under_way(90_000, &request(30_000 + n, first_byte_ns(30_000 + n))));
        r.request_under_way(90_000, &request(4_000, first_byte_ns(4_000)));
        r.enter(Phase::Drain, 90_000);
        r.request_hung(&request(4_000, first_byte_ns(4_000)));
        r.part(95_000, Offered::Sent)
    };
    let first_byte = |part: &run::LoadPart| run::answer_summary(&part.histograms, run::AnswerTime::FirstByte, 0);
    let (begun, waiting) = (part(|at_ns| at_ns + 100), part(|_| 0));
    let (early, late) = (first_byte(&begun), first_byte(&waiting));
    assert!(early.p90 < 0.2 && !early.at_least.contains(run::SummaryFigure::P90), "{early:?}");
    assert!(late.p90 > 10.0 && late.at_least.contains(run::SummaryFigure::P90), "{late:?}");
    let whole = [&begun, &waiting].map(|part| run::response_summary(&part.histograms, 0));
    assert!(whole[0] == whole[1] && whole[0].at_least.contains(run::SummaryFigure::P90), "{whole:?}");
}

/// Unanswered requests are recorded for their request class. In an open loop, the waiting time of a request is recorded
/// twice: from its due time, and from its send time.
#[test]
fn unanswered_requests_count_in_their_class_and_since_their_send() {
    let request = |class, intended_ns, sent_ns| InFlightRequest {
        start: Start { intended_ns, sent_ns },
        class,
        ..InFlightRequest::default()
    };
    let mut r = Record::new(0, RecordOptions { service: true, classes: 2, ..RecordOptions::default() });
    r.failed(50, 0, &request(0, 10, 20));
    r.enter(Phase::Measure, 1_000);
    r.ended(2_000, 0, &request(0, 900, 1_100), Done::OLDEST);
    r.failed(2_500, 0, &request(1, 800, 950));
    r.ended(2_600, 0, &request(1, 2_000, 2_200), Done { outcome: Outcome::Failed(Fault::Short), ..Done::OLDEST });
    r.ended(2_700, 0, &request(1, 2_400, 2_400), Done { outcome: Outcome::Unexpected, status: 429, ..Done::OLDEST });
    r.request_under_way(3_000, &request(0, 990, 1_200));
    r.enter(Phase::Drain, 3_000);
    let part = r.part(4_000, Offered::Sent);
    let keys = |times: &std::collections::BTreeMap<u64, u64>| times.keys().copied().collect::<Vec<_>>();
    let [a, b] = [0, 1].map(|class: usize| &part.classes[class].unanswered);
    assert_eq!((keys(&a.failed), keys(&a.under_way), keys(&a.carried_in)), (vec![], vec![2_010], vec![10, 100]));
    assert_eq!((keys(&b.failed), keys(&b.under_way), keys(&b.carried_in)), (vec![600, 1_700], vec![], vec![200]));
    assert_eq!((keys(&b.refused), part.classes[1].response.is_empty()), (vec![300], true));
    let service = &part.service_unanswered;
    assert_eq!((keys(&service.failed), keys(&service.under_way)), (vec![400, 1_550], vec![1_800]));
    assert_eq!(keys(&service.carried_in), [50]);
}

#[test]
fn an_edge_is_at_its_ordered_time_or_after_the_last_counted_event() {
    let mut r = Record::new(0, RecordOptions::default());
    r.advance(1_000, 1);
    assert_eq!(r.edge_ns(1_500, 9_000), 1_500, "heard late: nothing happened");
    assert_eq!(r.edge_ns(500, 9_000), 1_000, "ordered late");
    assert_eq!(r.edge_ns(9_500, 9_000), 9_000, "no edge is ahead");
}

#[test]
fn without_a_measured_window_the_measured_counts_are_zero() {
    let mut r = Record::new(0, RecordOptions { service: true, ..RecordOptions::default() });
    r.counts.sent = 5;
    let part = r.part(1_000_000_000, Offered::Rate(10.0));
    assert_eq!((part.measured.sent, part.measured_s, part.offered), (0, 0.0, 0.0));
}

/// The time until a refusal is no response time. A server that refuses quickly would otherwise seem faster.
#[test]
fn a_slot_of_an_experiment_counts_no_refusals() {
    let request = InFlightRequest { start: Start { intended_ns: 1, sent_ns: 1 }, ..InFlightRequest::default() };
    let mut r = Record::new(0, RecordOptions::default());
    r.in_slots(SlotTimes::new(Some(run::SlotPlan { first_s: 0.0, slot_s: 1.0, settle_s: 0.0, count: 1 })));
    r.ended(2_000, 0, &request, Done::OLDEST);
    r.ended(3_000, 0, &request, Done { outcome: Outcome::Unexpected, status: 503, ..Done::OLDEST });
    assert_eq!(r.slot_times.hists()[0].len(), 1);
}
