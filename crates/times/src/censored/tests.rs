//! Small samples whose figures are known.

use super::*;

/// A server answers half of the requests in 5 ms, one in a hundred in 82 ms, and refuses the others after 50 ms. An
/// earlier version of loadline printed a p90 of at least 50 ms beside a p50 of 82 ms.
#[test]
fn bounds_do_not_fall_where_refusals_are_slow() {
    let ms = |ms: u64| ms * 1_000_000;
    let times = CensoredTimes::default().answered([(ms(5), 490), (ms(82), 10)]).refused([(ms(50), 500)]);
    let at = |q: f64| times.percentile(q).lowest().unwrap();
    assert!(at(0.5) <= at(0.9) && at(0.9) <= at(0.99), "{} {} {}", at(0.5), at(0.9), at(0.99));
}

fn ms(times: &[(u64, u64)]) -> Vec<(u64, u64)> {
    times.iter().map(|(ms, n)| (ms * 1_000_000, *n)).collect()
}

#[test]
fn timeouts_leave_low_percentiles_known_and_bound_the_high_ones() {
    let times = CensoredTimes::default().answered(ms(&[(5, 80)])).unanswered(ms(&[(50, 20)]));
    assert_eq!(times.percentile(0.5), TimeFigure::Exact(5000.0));
    assert_eq!(times.percentile(0.7), TimeFigure::Exact(5000.0));
    assert_eq!(times.percentile(0.8), TimeFigure::AtLeast(5000.0), "one failure more would make it 50 ms");
    assert_eq!(times.percentile(0.81), TimeFigure::AtLeast(50_000.0));
    assert_eq!(times.mean(), TimeFigure::AtLeast(14_000.0));
    assert_eq!((times.count_answered(), times.count_unanswered()), (80, 20));
}

/// A request that is reset after 0.1 ms does not count as a fast answer.
#[test]
fn early_failures_count_as_slower_than_every_answer() {
    let times = CensoredTimes::default().answered(ms(&[(5, 700), (9, 100)])).unanswered([(100_000, 200)]);
    assert_eq!(times.percentile(0.7), TimeFigure::Exact(5000.0));
    assert_eq!(times.percentile(0.75), TimeFigure::Exact(9000.0));
    assert_eq!(times.percentile(0.99), TimeFigure::AtLeast(9000.0));
    let unknown = CensoredTimes::default().unanswered([(0, 20)]);
    assert_eq!((unknown.percentile(0.5), unknown.mean()), (TimeFigure::Unknown, TimeFigure::Unknown));
    assert_eq!(CensoredTimes::default().percentile(0.5), TimeFigure::Unknown);
}

/// The simulated server closes each connection after its answer, so half of the requests fail immediately. With a few
/// more failed requests, the median would be unknown. With a few failed requests less, the median would be the time of
/// the longest answer. In this test, the median is therefore only a lower bound, near the typical response time.
#[test]
fn a_median_at_the_edge_of_the_failures_is_a_bound_below_no_lower_percentile() {
    let failing = |failed| {
        let times = [(100_000, 2900), (300_000, 95), (82_800_000, 5)];
        CensoredTimes::default().answered(times).unanswered([(60_000, failed)])
    };
    for failed in [2990, 3000, 3010] {
        let times = failing(failed);
        assert!(matches!(times.percentile(0.5), TimeFigure::AtLeast(us) if (100.0..=300.0).contains(&us)), "{failed}");
        let lowest = |q| times.percentile(q).lowest().unwrap();
        let all: Vec<f64> = (1..100).map(|p| lowest(f64::from(p) / 100.0)).collect();
        assert!(all.windows(2).all(|two| two[0] <= two[1]), "{failed}: {all:?}");
    }
    assert_eq!(failing(300).percentile(0.5), TimeFigure::Exact(100.0));
}

/// In this test, half of the requests are refused, and the refusals take as long as the good answers. An earlier
/// version of loadline counted the refusals as requests that would have taken longer, and printed a p90 of 500 ms.
#[test]
fn refusals_as_slow_as_answers_change_no_percentile() {
    let same = |n| ms(&[(5, 99 * n), (500, n)]);
    let times = CensoredTimes::default().answered(same(10)).refused(same(10));
    for (q, us) in [(0.5, 5000.0), (0.9, 5000.0), (0.99, 5000.0), (0.999, 500_000.0)] {
        assert_eq!(times.percentile(q), TimeFigure::Exact(us), "{q}");
    }
    assert_eq!(times.mean(), TimeFigure::Exact(9950.0));
}

/// In this test, most requests are refused after 4 ms, and every good answer takes 20 ms or more.
#[test]
fn a_quick_refusal_shortens_no_percentile_and_a_slow_one_lengthens_it() {
    let quick = CensoredTimes::default().answered(ms(&[(20, 90), (40, 10)])).refused(ms(&[(4, 600)]));
    assert_eq!(quick.percentile(0.5), TimeFigure::Exact(20_000.0));
    assert_eq!(quick.percentile(0.99), TimeFigure::Exact(40_000.0));
    let late = CensoredTimes::default().answered(ms(&[(20, 950)])).refused(ms(&[(30_000, 50)]));
    assert_eq!(late.percentile(0.5), TimeFigure::Exact(20_000.0));
    assert_eq!(late.percentile(0.99), TimeFigure::Exact(30_000_000.0));
    assert_eq!(late.mean(), TimeFigure::Exact(1_519_000.0));
    let all = CensoredTimes::default().refused(ms(&[(4, 600), (40, 1)]));
    assert_eq!((all.percentile(0.5), all.count_answered()), (TimeFigure::AtLeast(4000.0), 0));
}

#[test]
fn a_stall_at_the_end_of_the_window_shows_and_an_ordinary_end_does_not() {
    let stalled = CensoredTimes::default().answered(ms(&[(1, 100)])).in_flight(ms(&[(900, 4)]), ms(&[(0, 4)]));
    assert_eq!(stalled.percentile(0.9), TimeFigure::Exact(1000.0));
    assert_eq!(stalled.percentile(0.99), TimeFigure::AtLeast(900_000.0));
    let ordinary = CensoredTimes::default().answered(ms(&[(1, 50), (2, 50)])).in_flight(ms(&[(1, 4)]), []);
    assert_eq!(ordinary.percentile(0.99), TimeFigure::Exact(2000.0));
    assert_eq!(ordinary.percentile(1.0), TimeFigure::Exact(2000.0));
}

#[test]
fn merging_equals_counting_in_one() {
    let part = |n| CensoredTimes::default().answered(ms(&[(3, n)])).unanswered(ms(&[(50, 2)]));
    let mut both = part(10);
    both.merge(&part(30).in_flight(ms(&[(7, 1)]), []));
    let one = CensoredTimes::default().answered(ms(&[(3, 40)])).unanswered(ms(&[(50, 4)])).in_flight(ms(&[(7, 1)]), []);
    for q in [0.1, 0.5, 0.88, 0.95, 1.0] {
        assert_eq!(both.percentile(q), one.percentile(q), "{q}");
    }
}
