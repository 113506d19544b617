//! Tests of failed connects of a closed loop, in which a client waits for each connect.

use run::{ErrorKind, Hist, Intensity, LoadPart, Phase, ThinkTime};

use super::test_wire::Fixture;

/// Creates a client whose first connect is refused at 2 ms. The client connects again at 3 ms.
fn connecting_again() -> Fixture {
    let intensity = Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() };
    let mut fixture = Fixture::with(intensity, &[1.0]);
    fixture.at_ms(2);
    fixture.refused();
    fixture.at_ms(3);
    fixture
}

/// Creates a client whose first connect is refused at 2 ms, and that gets the answer to its first request at 10 ms.
fn refused_once() -> Fixture {
    let mut fixture = connecting_again();
    fixture.up();
    fixture.hear(b"h");
    fixture.at_ms(10);
    fixture.hear(b"A\0");
    fixture
}

/// Returns the times in a histogram, in milliseconds.
fn times_ms(part: &LoadPart, name: &str) -> Vec<u64> {
    let recorded = part.histograms.get(name).map(Hist::recorded).unwrap_or_default();
    recorded.into_iter().map(|(ns, _)| (ns as f64 / 1e6).round() as u64).collect()
}

#[test]
fn a_refused_connect_is_a_request_without_an_answer() {
    let part = refused_once().part();
    assert_eq!(part.total.errors.0, [(ErrorKind::ConnectRefused, 1)].into());
    assert_eq!(times_ms(&part, "unanswered"), [2]);
    assert_eq!(times_ms(&part, "response"), [7], "it begins with the second connect");
}

/// The first connect is refused at 2 ms, and the server does not answer the second one, which begins at 3 ms.
#[test]
fn a_connect_for_which_a_client_waits_at_the_end_of_the_window_has_an_age() {
    let mut fixture = connecting_again();
    fixture.at_ms(40);
    fixture.core.enter(&mut fixture.wire, Phase::Drain, 40_000_000);
    let part = fixture.part();
    assert_eq!((times_ms(&part, "unanswered"), times_ms(&part, "under_way")), (vec![2], vec![37]));
}

/// The server resets the connection at 15 ms, in what may be a keep-alive race, and does not answer the next connect. The
/// client waits for one answer, to the request of 10 ms, which is sent again on the next connection. The server closed no
/// idle connection, so the reset also counts as a failure after 5 ms.
#[test]
fn a_client_whose_request_is_sent_again_waits_only_once() {
    let mut fixture = refused_once();
    fixture.at_ms(15);
    fixture.reset_by_server();
    fixture.at_ms(40);
    fixture.core.enter(&mut fixture.wire, Phase::Drain, 40_000_000);
    let part = fixture.part();
    assert_eq!((times_ms(&part, "unanswered"), times_ms(&part, "under_way")), (vec![2, 5], vec![30]));
}
