//! Tests of the ends of connections: which side closes, when the client continues, and which requests are sent again.

use run::{ErrorKind, Intensity, LoadPlan, Tally, ThinkTime};

use super::test_wire::Fixture;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Completes the handshake of the current connection. Returns the bytes that the client sent after the handshake.
fn up(fixture: &mut Fixture) -> Vec<Vec<u8>> {
    fixture.sent();
    fixture.up();
    fixture.hear(b"h");
    fixture.sent().into_iter().filter(|bytes| !matches!(bytes[..], [b'H' | b'F'])).collect()
}

/// Lets the server answer the request on the current connection, and announce the connection's end. Returns the
/// connection's number.
fn answer_last(fixture: &mut Fixture) -> u32 {
    let conn = fixture.wire.current;
    fixture.hear(b"A\0C");
    conn
}

/// Creates a client that has a think time of 10 ms, and that sent its second request at 15 ms.
fn thought(weights: &[f64]) -> Fixture {
    let mut fixture = Fixture::ready(1, 10.0, weights);
    fixture.at_ms(5);
    fixture.hear(b"A\0");
    fixture.sent();
    fixture.at_ms(15);
    assert_eq!(fixture.sent().len(), 1);
    fixture
}

fn close_current(fixture: &mut Fixture) {
    fixture.closed(fixture.wire.current);
}

/// Lets the server answer the request, and close the connection during the client's think time. The close shows the
/// client that the server closes idle connections.
fn idle_connection_is_closed(fixture: &mut Fixture) {
    fixture.hear(b"A\0");
    close_current(fixture);
}

fn errors(total: &Tally) -> Vec<(ErrorKind, u64)> {
    total.errors.0.iter().map(|(kind, n)| (*kind, *n)).collect()
}

#[test]
fn a_close_that_is_left_to_the_client_is_waited_for_once_in_a_while() {
    let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
    answer_last(&mut fixture);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 0), "the server may close first");
    fixture.sent();
    fixture.at_ms(11);
    assert_eq!((fixture.wire.closes, fixture.sent()), (1, vec![b"l".to_vec()]), "with the last bytes of TLS");
    up(&mut fixture);
    answer_last(&mut fixture);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (3, 2), "at once");
    fixture.at_ms(1100);
    up(&mut fixture);
    let trial = answer_last(&mut fixture);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (4, 2), "a trial");
    fixture.closed(trial);
    up(&mut fixture);
    answer_last(&mut fixture);
    fixture.at_ms(1190);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (5, 3), "the server closes again");
    fixture.at_ms(1210);
    let closes = fixture.wire.closes;
    assert_eq!((closes, fixture.part().total.closes_left_to_client), (4, 3));
}

#[test]
fn a_request_that_raced_with_a_close_is_sent_again_at_once() {
    let mut fixture = thought(&[1.0]);
    close_current(&mut fixture);
    assert_eq!(up(&mut fixture), [b"R\0\0".to_vec()], "no think time");
    close_current(&mut fixture);
    up(&mut fixture);
    idle_connection_is_closed(&mut fixture);
    let t = fixture.part().total;
    // The second request was sent again after a keep-alive race (the server closed the connection just when the request
    // was sent), and then failed. The third request was answered.
    assert_eq!((t.keep_alive_races, t.resent, t.sent), (1, 1, 3));
    assert_eq!(errors(&t), [(ErrorKind::ShortResponse, 1)], "a new connection is no race");
}

/// The server closes a connection after an answer. When the server closes, it has not received the next request, which
/// the client sends at once.
#[test]
fn a_request_that_the_server_did_not_receive_is_sent_again_once() {
    let ended = |unreceived: usize| {
        let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
        fixture.hear(b"A\0");
        fixture.wire.unreceived = unreceived;
        close_current(&mut fixture);
        fixture.at_ms(2);
        up(&mut fixture);
        // This connection is new, so its close counts as a failure, not as a keep-alive race.
        close_current(&mut fixture);
        let t = fixture.part().total;
        (t.keep_alive_races, t.resent, errors(&t))
    };
    assert_eq!(ended(3), (1, 1, vec![(ErrorKind::ShortResponse, 1)]));
    assert_eq!(ended(2), (0, 0, vec![(ErrorKind::ShortResponse, 2)]), "a part was received");
    assert_eq!(ended(0), (0, 0, vec![(ErrorKind::ShortResponse, 2)]), "the server read the request, and then closed");
}

/// In this test, the server closes an idle connection, and the kernel learns of the close before the client sends the
/// next request.
#[test]
fn a_request_whose_send_fails_after_the_close_of_the_server_is_sent_again() {
    let ended = |errno| {
        let mut fixture = Fixture::ready(1, 10.0, &[1.0]);
        fixture.at_ms(5);
        fixture.hear(b"A\0");
        fixture.wire.send_error = Some(errno);
        fixture.at_ms(15);
        fixture.wire.send_error = None;
        fixture.at_ms(17);
        up(&mut fixture);
        let t = fixture.part().total;
        (t.keep_alive_races, t.resent, errors(&t))
    };
    assert_eq!(ended(sys::Errno::PIPE), (1, 1, vec![]));
    assert_eq!(ended(sys::Errno::CONNRESET), (1, 1, vec![]));
    assert_eq!(ended(sys::Errno::NOBUFS), (0, 0, vec![(ErrorKind::Other, 1)]), "an error of this machine");
}

/// The server closes within the body of an answer, while two more requests wait for their answers.
#[test]
fn an_answer_that_is_cut_off_is_an_error_of_its_own_kind() {
    let mut fixture = Fixture::ready(3, 0.0, &[1.0]);
    fixture.hear(b"M");
    close_current(&mut fixture);
    let t = fixture.part().total;
    assert_eq!(errors(&t), [(ErrorKind::ShortResponse, 2), (ErrorKind::CutResponse, 1)]);
    assert_eq!((t.completed, t.keep_alive_races), (0, 0));
}

/// A WebSocket server closes the connection with a code and a reason while a request waits. Later, a request on another
/// connection fails for another reason.
#[test]
fn the_first_failure_of_a_kind_is_kept_with_the_words_of_the_server() {
    let mut fixture = Fixture::ready(2, 0.0, &[1.0]);
    fixture.at_ms(5);
    fixture.hear(b"B");
    fixture.at_ms(10);
    up(&mut fixture);
    fixture.hear(b"E");
    let part = fixture.part();
    assert_eq!(errors(&part.total), [(ErrorKind::ShortResponse, 2), (ErrorKind::Malformed, 2)]);
    let first: Vec<_> = part.first_failures.iter().map(|first| (&first.kind, first.at_s, &*first.reason)).collect();
    let kinds = [ErrorKind::ShortResponse, ErrorKind::Malformed].map(run::FailureKind::Error);
    assert_eq!(first[0], (&kinds[0], 0.005, "closed with code 1011"));
    assert_eq!((first[1].0, first.len()), (&kinds[1], 2));
    assert!(first[1].2.contains("an end that it is told of"), "{first:?}");
}

/// The server closes the first connection because it is overloaded, and the second one for another reason.
#[test]
fn closes_that_ask_to_come_later_are_counted_apart() {
    let mut fixture = Fixture::ready(2, 0.0, &[1.0]);
    fixture.at_ms(5);
    fixture.hear(b"L");
    fixture.at_ms(10);
    up(&mut fixture);
    fixture.hear(b"B");
    let counted = errors(&fixture.part().total);
    assert_eq!(counted, [(ErrorKind::ShortResponse, 2), (ErrorKind::TryAgainLater, 2)]);
}

/// Bytes that follow an answer on an idle connection are not part of any request.
#[test]
fn surplus_bytes_without_a_request_are_no_second_outcome() {
    let mut fixture = Fixture::ready(1, 10.0, &[1.0]);
    fixture.at_ms(5);
    fixture.hear(b"A\0");
    fixture.at_ms(8);
    fixture.hear(b"Z");
    let t = fixture.part().total;
    assert_eq!((t.completed, errors(&t), t.unasked_messages), (1, vec![], 1));
}

#[test]
fn a_server_that_closes_no_idle_connection_has_no_races() {
    let ended = |closes_idle: bool| {
        let mut fixture = thought(&[1.0]);
        for race in 1..=9 {
            close_current(&mut fixture);
            up(&mut fixture);
            fixture.hear(b"A\0");
            if !closes_idle || race < 9 {
                fixture.at_ms(15 * (race + 1));
            }
        }
        if closes_idle {
            close_current(&mut fixture);
        }
        fixture.part().total
    };
    let t = ended(false);
    assert_eq!((t.keep_alive_races, t.resent, errors(&t)), (0, 0, vec![(ErrorKind::ShortResponse, 9)]));
    assert_eq!((t.lost_connections, t.answers_before_loss, t.answers_before_loss_squared), (9, 9, 9));
    let t = ended(true);
    assert_eq!(
        (t.keep_alive_races, errors(&t)),
        (8, vec![(ErrorKind::ShortResponse, 1)]),
        "only the first may be races"
    );
}

/// The server never closes an idle connection, but resets a connection instead of answering the first request after an
/// idle time.
#[test]
fn the_first_resets_of_a_load_count_as_resets() {
    let mut fixture = thought(&[1.0]);
    fixture.reset_by_server();
    up(&mut fixture);
    fixture.hear(b"A\0");
    let t = fixture.part().total;
    assert_eq!((t.keep_alive_races, t.resent, errors(&t)), (0, 0, vec![(ErrorKind::Reset, 1)]));
}

/// Creates an HTTP/1 client with two requests in flight, which were sent on an idle connection.
fn two_in_a_pipeline() -> Fixture {
    let plan = LoadPlan {
        intensity: Intensity::Closed { connections: 1, pipeline: 2, think: ThinkTime::default() },
        ..LoadPlan::default()
    };
    let client = proto::client(&plan.protocol, None, None).unwrap();
    let mut fixture = Fixture::loading(&plan, &*client);
    fixture.up();
    fixture
}

/// The server answers the first request of a pipeline, and then ends the connection instead of answering the second.
/// Before the connection ends, the client has already sent a third request.
#[test]
fn the_oldest_request_of_a_pipeline_fails_and_those_behind_it_are_sent_again() {
    for (end, kind) in
        [(Fixture::reset_by_server as fn(&mut Fixture), ErrorKind::Reset), (close_current, ErrorKind::ShortResponse)]
    {
        let mut fixture = two_in_a_pipeline();
        for round in 1..=12 {
            fixture.hear(OK);
            end(&mut fixture);
            fixture.at_ms(5 * round);
            fixture.up();
        }
        fixture.hear(OK);
        fixture.hear(OK);
        let part = fixture.part();
        let t = &part.total;
        assert_eq!((t.keep_alive_races, t.resent, t.unprocessed, errors(t)), (0, 0, 12, vec![(kind, 12)]));
        assert_eq!((t.completed, t.sent), (14, 14 + 12 + 2), "{t:?}");
        assert_eq!(part.histograms["unanswered"].len(), 12);
    }
}

/// The server closes each connection after two answers. At the first close, requests are in flight of which the server
/// received no byte. At the second close, a request is in flight that was sent while another request was in flight.
#[test]
fn a_close_after_a_known_number_of_answers_fails_no_request_of_a_pipeline() {
    let mut fixture = two_in_a_pipeline();
    fixture.hear(&OK.repeat(2));
    fixture.wire.unreceived = usize::MAX;
    close_current(&mut fixture);
    fixture.wire.unreceived = 0;
    fixture.at_ms(5);
    fixture.up();
    for round in 2..=4 {
        fixture.hear(OK);
        fixture.hear(OK);
        close_current(&mut fixture);
        fixture.at_ms(5 * round);
        fixture.up();
    }
    fixture.hear(OK);
    close_current(&mut fixture);
    let t = fixture.part().total;
    assert_eq!((t.keep_alive_races, t.completed), (4, 9), "{t:?}");
    assert_eq!(errors(&t), [(ErrorKind::ShortResponse, 1)], "only the close after one answer");
}

/// The server closes each connection after two answers. On the first three connections, the lost request was sent while
/// another request was in flight, so these closes prove nothing. On the fourth connection, the server received no byte
/// of the lost requests, which proves that it closes after two answers. In an earlier version of loadline, the first
/// three closes stayed failures.
#[test]
fn closes_before_the_number_of_answers_is_known_stay_no_failures() {
    let mut fixture = two_in_a_pipeline();
    for round in 1..=3 {
        fixture.hear(OK);
        fixture.hear(OK);
        close_current(&mut fixture);
        fixture.at_ms(5 * round);
        fixture.up();
    }
    fixture.hear(&OK.repeat(2));
    fixture.wire.unreceived = usize::MAX;
    close_current(&mut fixture);
    fixture.at_ms(20);
    fixture.up();
    fixture.hear(&OK.repeat(2));
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.keep_alive_races, t.completed, t.unprocessed, errors(t)), (4, 10, 0, vec![]), "{t:?}");
    assert!(!part.histograms.contains_key("unanswered"), "no request stayed without an answer");
}

/// The server ends connections on which the client sent two requests after an idle time. The server closes no idle
/// connection.
#[test]
fn a_pipeline_on_an_idle_connection_has_one_failure_for_each_end() {
    let mut fixture = two_in_a_pipeline();
    fixture.hear(&OK.repeat(2));
    fixture.reset_by_server();
    fixture.at_ms(5);
    fixture.up();
    fixture.hear(&OK.repeat(2));
    let t = fixture.part().total;
    assert_eq!((t.keep_alive_races, t.resent, t.unprocessed, errors(&t)), (0, 0, 1, vec![(ErrorKind::Reset, 1)]));
}

#[test]
fn a_request_that_is_not_idempotent_is_a_failure_with_its_name() {
    let mut fixture = thought(&[0.0, 1.0]);
    close_current(&mut fixture);
    up(&mut fixture);
    idle_connection_is_closed(&mut fixture);
    let t = fixture.part().total;
    assert_eq!((t.keep_alive_races, t.resent, errors(&t)), (1, 0, vec![(ErrorKind::KeepAliveRace, 1)]));
}

#[test]
fn a_408_after_an_idle_time_answers_no_request() {
    let mut fixture = thought(&[0.0, 1.0]);
    fixture.hear(b"T\0C");
    assert_eq!(up(&mut fixture), [b"R\0\x01".to_vec()]);
    fixture.hear(b"T\0C");
    let t = fixture.part().total;
    assert_eq!((t.keep_alive_races, t.resent, t.completed, t.unexpected_status), (1, 1, 2, 1));
}

#[test]
fn think_time_holds_after_surplus_bytes_and_after_a_close() {
    for surplus in [true, false] {
        let mut fixture = Fixture::ready(1, 10.0, &[1.0]);
        fixture.at_ms(5);
        fixture.hear(b"A\0");
        fixture.at_ms(8);
        if surplus {
            fixture.hear(b"Z");
        } else {
            close_current(&mut fixture);
        }
        fixture.at_ms(14);
        assert_eq!((fixture.wire.connects, fixture.wire.closes), (0, 1), "{surplus}");
        fixture.at_ms(15);
        assert_eq!(fixture.wire.connects, 1, "{surplus}");
    }
}
