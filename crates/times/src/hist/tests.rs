//! Tests of recording, merging and taking back.

use super::*;

#[test]
fn all_counts_are_taken_back_or_none() {
    let of = |times: &[u64]| {
        let mut hist = Hist::new();
        times.iter().for_each(|ns| hist.record_ns(*ns));
        hist
    };
    let mut hist = of(&[1_000, 1_000, 9_000_000, 700]);
    hist.take_back(&of(&[1_000, 9_000_000]));
    assert_eq!(hist, of(&[1_000, 700]));
    hist.take_back(&of(&[700, 5_000]));
    assert_eq!(hist, of(&[1_000, 700]), "5 us was never recorded");
}

#[test]
fn merging_equals_recording_in_one() {
    let (mut a, mut b, mut both) = (Hist::new(), Hist::new(), Hist::new());
    for i in 1..500u64 {
        if i % 2 == 0 {
            a.record_ns(i * 977)
        } else {
            b.record_ns(i * 977)
        }
        both.record_ns(i * 977);
    }
    a.merge(&b);
    assert_eq!(a, both);
}

#[test]
fn arrivals_meet_a_duration_in_proportion_to_its_length() {
    let mut even = Hist::new();
    (0..1000).for_each(|_| even.record_ns(100_000));
    // If all durations are 100 us, 1 % of the arrivals at random moments wait longer than 99 us for the end of a
    // duration.
    assert!((even.wait_of_arrivals_us(0.99) - 99.0).abs() < 0.5, "{}", even.wait_of_arrivals_us(0.99));
    // The 1,000 short durations last 100 ms in total, so one further stall of 50 ms covers a third of the total time.
    even.record_ns(50_000_000);
    let wait = even.wait_of_arrivals_us(0.99);
    assert!((wait - 48_500.0).abs() < 100.0 && even.quantile_us(0.99) < 101.0, "{wait}");
    assert_eq!(Hist::new().wait_of_arrivals_us(0.99), 0.0);
}

#[test]
fn durations_above_an_hour_are_counted_as_saturated() {
    let mut hist = Hist::new();
    hist.record_ns(u64::MAX);
    assert_eq!((hist.len(), hist.saturated()), (1, 1));
}
