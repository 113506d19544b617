use super::*;

fn part() -> LoadPart {
    let mut hist = Hist::new();
    (0..90).for_each(|_| hist.record_ns(1_000_000));
    (0..10).for_each(|_| hist.record_ns(9_000_000));
    let mut part = LoadPart { measured_s: 2.0, offered: 120.0, in_flight_s: 3.0, ..LoadPart::default() };
    (part.measured.sent, part.measured.completed, part.measured.unexpected_status) = (110, 100, 20);
    part.measured.attempted = 400;
    part.histograms.insert("response".into(), hist);
    part
}

#[test]
fn rates_are_of_the_window_and_goodput_is_right_and_in_time() {
    let point = Point { within_us: Some(2_000.0), ..Point::default() };
    let trial = trial(&point, &[&Intensity::default()], part(), Window::default());
    let r = trial.rates;
    assert_eq!((r.offered_rate, r.sent_rate, r.completed_rate, r.concurrency), (60.0, 55.0, 50.0, 1.5));
    assert!((r.goodput - 36.0).abs() < 1e-9, "{}", r.goodput);
    assert_eq!(trial.latency_us.count, 100);
    assert_eq!((trial.handshake_us.count, trial.classes.len()), (0, 0));
}

#[test]
fn a_load_with_a_rate_has_the_share_that_was_sent_and_its_lag() {
    let open = Intensity::Open { rate: 60.0, arrival: run::Arrival::Poisson, max_connections: 8, pipeline: 1 };
    let with_lag = || {
        let mut part = part();
        part.histograms.insert("schedule_lag".into(), part.histograms["response"].clone());
        part
    };
    let open = trial(&Point::default(), &[&open], with_lag(), Window::default());
    assert!((open.rate_ratio.unwrap() - 55.0 / 60.0).abs() < 1e-9);
    assert!((open.schedule_lag_us.p99 / 9_000.0 - 1.0).abs() < 0.01, "{:?}", open.schedule_lag_us);
    assert!(!open.histograms.contains_key("schedule_lag"), "only the summary is kept");
    assert_eq!(trial(&Point::default(), &[&Intensity::default()], part(), Window::default()).rate_ratio, None);
}

#[test]
fn requests_without_an_answer_leave_the_tail_open() {
    let mut lossy = part();
    let mut unanswered = Hist::new();
    (0..25).for_each(|_| unanswered.record_ns(50_000_000));
    lossy.histograms.insert("unanswered".into(), unanswered);
    lossy.histograms.insert("connect".into(), lossy.histograms["response"].clone());
    lossy.measured.errors.0.insert(ErrorKind::ConnectTimeout, 100);
    let trial = trial(&Point::default(), &[&Intensity::default()], lossy, Window::default());
    let open = |summary: &Summary| summary.at_least.iter().map(run::SummaryFigure::name).collect::<Vec<_>>();
    assert_eq!(open(&trial.latency_us), ["mean", "p90", "p99", "p99_9", "max"]);
    assert!(trial.latency_us.p99 > 49_000.0 && trial.latency_us.unanswered == 25, "{:?}", trial.latency_us);
    let all = ["mean", "p50", "p90", "p99", "p99_9", "max"];
    assert_eq!(open(&trial.connect_us), all, "half of the connects failed");
    assert_eq!(trial.blocked_us, Summary::default());
}

/// Each good answer arrived in one piece. Other answers were cut off 50 ms after their first byte.
#[test]
fn the_wait_of_a_cut_answer_ends_with_its_first_byte() {
    let of = |ms: u64| {
        let mut hist = Hist::new();
        (0..25).for_each(|_| hist.record_ns(ms * 1_000_000));
        hist
    };
    let mut cut = part();
    for name in ["first_byte", "wait", "service"] {
        cut.histograms.insert(name.into(), cut.histograms["response"].clone());
    }
    let names = [("unanswered", 50), ("unanswered_begun", 50), ("first_byte_no_good_answer", 1)];
    cut.histograms.extend(names.map(|(name, ms)| (name.to_owned(), of(ms))));
    let trial = trial(&Point::default(), &[&Intensity::default()], cut, Window::default());
    assert!(trial.wait_us == trial.first_byte_us && trial.wait_us.at_least.is_empty(), "{:?}", trial.wait_us);
    assert!(trial.wait_us.max < 9_100.0 && trial.latency_us.unanswered == 25, "{:?}", trial.wait_us);
}

/// One agent got each answer in one piece, and another agent got an answer in several pieces.
#[test]
fn the_parts_of_a_response_time_are_known_if_any_answer_came_in_pieces() {
    let of = |times_ms: &[u64]| {
        let mut hist = Hist::new();
        times_ms.iter().for_each(|ms| hist.record_ns(ms * 1_000_000));
        hist
    };
    let named = |wait: &[u64], transfer: &[u64]| {
        let mut part = part();
        let names = ["wait", "transfer", "service"].map(str::to_owned);
        part.histograms.extend(names.into_iter().zip([of(wait), of(transfer), of(&[2, 9])]));
        super::trial(&Point::default(), &[&Intensity::default()], part, Window::default())
    };
    let whole = named(&[2, 9], &[0, 0]);
    assert!(whole.wait_us == whole.service_us && whole.wait_us.count == 2 && whole.transfer_us.is_empty());
    assert!(!whole.histograms.contains_key("wait") && !whole.histograms.contains_key("transfer"));
    let parted = named(&[2, 4], &[0, 5]);
    assert_eq!([parted.wait_us.max, parted.transfer_us.max].map(|us| (us / 1e3).round()), [4.0, 5.0]);
    assert_eq!(parted.transfer_us.min, 0.0);
    let earlier = super::trial(&Point::default(), &[], part(), Window::default());
    assert!(earlier.wait_us.is_empty() && earlier.transfer_us.is_empty());
}

#[test]
fn handshakes_and_classes_reach_the_trial_and_its_file() {
    let mut merged = part();
    let mut handshake = Hist::new();
    handshake.record_ns(3_000_000);
    merged.histograms.insert("handshake".into(), handshake);
    merged.classes.push(run::ClassPart::default());
    merged.classes[0].measured.completed = 7;
    let trial = trial(&Point::default(), &[&Intensity::default()], merged, Window::default());
    assert_eq!((trial.handshake_us.count, trial.classes[0].measured.completed), (1, 7));
    let text = serde_json::to_string(&trial).unwrap();
    assert_eq!(serde_json::from_str::<Trial>(&text).unwrap(), trial);
    let without = serde_json::to_value(super::trial(&Point::default(), &[], part(), Window::default())).unwrap();
    assert!(without.get("handshake_us").is_none() && without.get("classes").is_none());
}

/// The load test has four loads, as in the experiment `io-models`. If the intensity of only one load counted, the
/// load test would have fewer connections than requests in flight.
#[test]
fn a_trial_of_several_loads_has_the_intensity_of_all() {
    let block = Intensity::Closed { connections: 1000, pipeline: 1, think: Default::default() };
    let trial = trial(&Point::default(), &[&block; 4], part(), Window::default());
    assert_eq!(trial.intensity.in_flight(), Some(4000.0));
}

#[test]
fn s_clients_send_connection_attempts() {
    let intensity =
        Intensity::SClients { descriptors: 1, connect_timeout_ms: 1.0, think: Default::default(), pace: None };
    assert_eq!(rates(&Point::default(), &intensity, &part()).sent_rate, 200.0);
    let mut short = part();
    short.measured.errors.0.insert(ErrorKind::ClientPorts, 100);
    assert_eq!(rates(&Point::default(), &intensity, &short).sent_rate, 150.0);
}

#[test]
fn an_empty_part_has_no_rates_and_no_nan() {
    let trial = trial(&Point::default(), &[], LoadPart::default(), Window::default());
    assert_eq!(trial.rates, Rates::default());
}
