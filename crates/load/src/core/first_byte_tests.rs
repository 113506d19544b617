//! Tests of the measured time to the first byte of an answer, and of the time from there to the last byte.

use super::test_wire::Fixture;
use run::{AnswerTime, Hist};

fn ends_ms(hist: &Hist) -> [f64; 2] {
    [0.0, 1.0].map(|share| (hist.quantile_us(share) / 1e3).round())
}

/// Of two requests in a pipeline, the first is answered in three pieces and the second in one.
#[test]
fn the_first_byte_of_an_answer_in_pieces_is_timed() {
    let mut fixture = Fixture::ready(2, 0.0, &[1.0]);
    for ms in [3, 5] {
        fixture.at_ms(ms);
        fixture.hear(b"M");
    }
    fixture.at_ms(10);
    fixture.hear(b"A\0A\x01");
    let part = fixture.part();
    let [first, last] = ["first_byte", "response"].map(|name| ends_ms(&part.histograms[name]));
    assert_eq!((first, last), ([3.0, 10.0], [10.0, 10.0]));
    let [wait, transfer] = ["wait", "transfer"].map(|name| ends_ms(&part.histograms[name]));
    assert_eq!((wait, transfer), ([3.0, 10.0], [0.0, 7.0]));
}

/// One answer has an unexpected status and arrives in pieces. Another answer is cut off after its first byte.
#[test]
fn the_first_byte_of_an_answer_that_is_refused_or_cut_off_is_timed() {
    let heard = |end: fn(&mut Fixture)| {
        let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
        fixture.at_ms(1);
        fixture.hear(b"M");
        fixture.at_ms(150);
        end(&mut fixture);
        let histograms = fixture.part().histograms;
        run::answer_summary(&histograms, AnswerTime::FirstByte, 0)
    };
    let ends: [fn(&mut Fixture); 2] = [|fixture| fixture.hear(b"T\0"), Fixture::reset_by_server];
    for end in ends {
        let first_byte = heard(end);
        assert!(first_byte.p50 < 1_100.0 && first_byte.unanswered == 0, "{first_byte:?}");
    }
}

/// In this test, the server begins an answer, but then says that it did not process the request. The request is sent
/// again, and its answer arrives in one piece.
#[test]
fn the_first_byte_of_an_answer_to_an_earlier_send_does_not_count() {
    let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
    fixture.at_ms(3);
    fixture.hear(b"M");
    fixture.at_ms(5);
    fixture.hear(b"U\0C");
    fixture.closed(0);
    fixture.up();
    fixture.hear(b"h");
    fixture.at_ms(30);
    fixture.hear(b"A\0");
    let part = fixture.part();
    assert_eq!((part.total.unprocessed, part.total.completed), (1, 1));
    assert_eq!(ends_ms(&part.histograms["response"]), [30.0, 30.0]);
    assert_eq!(ends_ms(&part.histograms["first_byte"]), [30.0, 30.0]);
}
