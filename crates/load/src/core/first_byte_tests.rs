//! Tests of the measured time to the first byte of an answer, and of the time from there to the last byte.

use super::test_wire::Fixture;
use run::Hist;

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
