//! Tests of streams of events. The test sets the times of the events.

use run::{ErrorKind, Intensity, LoadPart, LoadPlan, StreamFormat, StreamPlan, ThinkTime};

use super::test_wire::Fixture;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const END: &[u8] = b"0\r\n\r\n";

/// Opens one stream, in which a gap of more than 50 ms is a stall. `end` is the text of the event that ends the stream.
fn opened(end: &str) -> Fixture {
    let stream = StreamPlan { format: StreamFormat::Sse, end: end.into(), stall_s: 0.05 };
    let intensity = Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() };
    let plan = LoadPlan { stream: Some(stream), intensity, ..LoadPlan::default() };
    let client = proto::stream_client(&plan.protocol, None, None, plan.stream.as_ref()).unwrap();
    let mut fixture = Fixture::loading(&plan, &*client);
    fixture.up();
    fixture
}

/// Lets the client receive `chunks`: each has its time in milliseconds, and its text.
fn hear(fixture: &mut Fixture, chunks: &[(u64, &str)]) {
    for (at_ms, text) in chunks {
        fixture.at_ms(*at_ms);
        fixture.hear(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    }
}

/// Returns the smallest and the largest time in a histogram, in milliseconds, and the number of recorded times.
fn times(part: &LoadPart, name: &str) -> (f64, f64, u64) {
    let hist = &part.histograms[name];
    let [least, most] = [0.0, 1.0].map(|share| (hist.quantile_us(share) / 1e3).round());
    (least, most, hist.len())
}

#[test]
fn a_planted_schedule_is_measured() {
    let mut fixture = opened("[DONE]");
    fixture.at_ms(2);
    fixture.hear(HEAD);
    hear(&mut fixture, &[(10, "data: a\n\n"), (20, ": wait\n\n"), (30, "data: b\n\ndata: c\n\n")]);
    hear(&mut fixture, &[(130, "data: d\n\n"), (150, "data: [DONE]\n\n")]);
    fixture.hear(END);
    let part = fixture.part();
    assert_eq!(times(&part, "first_byte"), (2.0, 2.0, 1));
    assert_eq!(times(&part, "first_event"), (10.0, 10.0, 1));
    assert_eq!(times(&part, "gap"), (0.0, 100.0, 3), "20 ms, 0 in one read, 100 ms; the end is no event");
    assert_eq!(times(&part, "response"), (150.0, 150.0, 1));
    let streams = part.streams.unwrap();
    assert_eq!((streams.events, streams.stalled, streams.broken), (4, 1, 0));
}

#[test]
fn events_that_come_with_the_end_of_the_answer_count() {
    let mut fixture = opened("");
    fixture.at_ms(5);
    fixture.hear(b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\ndata: a\n\ndata: b\n\n");
    let part = fixture.part();
    assert_eq!((times(&part, "first_event"), times(&part, "gap")), ((5.0, 5.0, 1), (0.0, 0.0, 1)));
}

#[test]
fn a_stream_that_ends_early_is_broken() {
    let mut cut = opened("");
    cut.hear(HEAD);
    hear(&mut cut, &[(10, "data: a\n\n")]);
    cut.at_ms(100);
    cut.closed(0);
    let part = cut.part();
    assert_eq!(times(&part, "gap"), (90.0, 90.0, 1), "the gap in which the stream broke is longer than allowed");
    let streams = part.streams.unwrap();
    assert_eq!((streams.events, streams.stalled, streams.broken), (1, 1, 1));
    let mut unmarked = opened("[DONE]");
    unmarked.hear(HEAD);
    hear(&mut unmarked, &[(10, "data: a\n\n")]);
    unmarked.hear(END);
    let part = unmarked.part();
    assert_eq!((part.streams.unwrap().broken, part.total.errors.0[&ErrorKind::WrongBody]), (1, 1));
}

/// The stream lasts longer than the timeout of 10 s, so the timeout would end the stream if events did not restart it.
#[test]
fn the_timeout_of_a_stream_is_the_wait_for_its_next_event() {
    let mut fixture = opened("");
    fixture.hear(HEAD);
    hear(&mut fixture, &[(6_000, "data: a\n\n"), (12_000, "data: b\n\n"), (18_000, "data: c\n\n")]);
    assert_eq!(fixture.core.record.counts.error_count(), 0);
    fixture.at_ms(29_000);
    let part = fixture.part();
    assert_eq!(part.total.errors.0[&ErrorKind::ResponseTimeout], 1);
    let gap = &part.histograms["gap"];
    let near = |share: f64, s: f64| (gap.quantile_us(share) / 1e6 / s - 1.0).abs() < 0.01;
    assert!(gap.len() == 3 && near(0.0, 6.0) && near(1.0, 11.0), "{gap:?}");
}

/// The server answers one request, and leaves the next request without an answer.
#[test]
fn a_wait_for_the_first_event_counts_if_it_is_longer_than_all_others() {
    for (end_ms, waits) in [(25, (10.0, 10.0, 1)), (80, (10.0, 60.0, 2))] {
        let mut fixture = opened("");
        fixture.hear(HEAD);
        hear(&mut fixture, &[(10, "data: a\n\n")]);
        fixture.at_ms(20);
        fixture.hear(END);
        fixture.hear(HEAD);
        fixture.at_ms(end_ms);
        fixture.core.enter(&mut fixture.wire, run::Phase::Drain, end_ms * 1_000_000);
        assert_eq!(times(&fixture.part(), "first_event"), waits, "at {end_ms} ms");
    }
}

/// The answers of the server have no events. The window ends while a second request waits for its answer.
#[test]
fn without_any_event_no_wait_counts_as_a_time_to_the_first_event() {
    let mut fixture = opened("");
    fixture.at_ms(10);
    fixture.hear(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    fixture.at_ms(80);
    fixture.core.enter(&mut fixture.wire, run::Phase::Drain, 80_000_000);
    let part = fixture.part();
    assert_eq!((part.measured.completed, part.histograms.contains_key("first_event")), (1, false));
}

/// The server answers one request with events, and the next two without: a whole answer, and a connection that ends.
#[test]
fn answers_without_events_are_kept_with_their_times() {
    let mut fixture = opened("");
    fixture.at_ms(5);
    fixture.hear(b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\ndata: a\n\ndata: b\n\n");
    fixture.at_ms(35);
    fixture.hear(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    fixture.hear(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    fixture.at_ms(75);
    fixture.closed(0);
    let part = fixture.part();
    assert_eq!((times(&part, "first_event").2, times(&part, "without_events")), (1, (30.0, 40.0, 2)));
}

#[test]
fn the_body_of_a_refusal_is_no_stream() {
    let mut fixture = opened("");
    fixture.hear(b"HTTP/1.1 503 Busy\r\nContent-Length: 9\r\n\r\ndata: a\n\n");
    let part = fixture.part();
    assert_eq!((part.streams.unwrap().events, part.histograms.contains_key("gap")), (0, false));
}

#[test]
fn a_gap_that_is_open_at_the_end_of_the_window_counts_if_it_is_too_long() {
    for (end_ms, gaps) in [(40, 0), (90, 1)] {
        let mut fixture = opened("");
        fixture.hear(HEAD);
        hear(&mut fixture, &[(10, "data: a\n\n")]);
        fixture.at_ms(end_ms);
        let part = fixture.part();
        assert_eq!(part.histograms.get("gap").map_or(0, run::Hist::len), gaps, "at {end_ms} ms");
    }
}
