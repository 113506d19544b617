use super::*;

#[test]
fn every_duration_lies_between_the_edges_of_its_bucket() {
    let mut last = 0;
    for ns in (0..63).flat_map(|bits| [1_u64 << bits, (1 << bits) + (1 << bits) / 3]) {
        let bucket = CoarseHist::bucket(ns);
        assert!(bucket >= last && bucket < CoarseHist::BUCKETS, "{ns}");
        last = bucket;
        let (low, high) = CoarseHist::edges_ns(bucket as u16);
        assert!(bucket == CoarseHist::BUCKETS - 1 || (low <= ns as f64 && (ns as f64) < high), "{ns}: {low} {high}");
    }
    assert_eq!((CoarseHist::bucket(0), CoarseHist::bucket(u64::MAX)), (0, CoarseHist::BUCKETS - 1));
}

#[test]
fn quantiles_are_near_and_what_happened_between_two_moments_is_a_difference() {
    let mut counts = vec![0; CoarseHist::BUCKETS];
    (1..=1000_u64).for_each(|us| counts[CoarseHist::bucket(us * 1000)] += 1);
    let first = CoarseHist::of(counts.clone());
    let near = |hist: &CoarseHist, q: f64, us: f64| (hist.quantile_us(q).unwrap() - us).abs() < 0.09 * us;
    assert!(near(&first, 0.5, 500.0) && near(&first, 0.99, 990.0), "{:?}", first.quantile_us(0.5));
    (0..100).for_each(|_| counts[CoarseHist::bucket(50_000_000)] += 1);
    let later = CoarseHist::of(counts);
    let between = later.since(&first);
    assert!(between.len() == 100 && near(&between, 0.5, 50_000.0), "{between:?}");
    assert_eq!((later.since(&later).quantile_us(0.5), first.since(&later).len()), (None, 0));
    let detail = Some(Box::new(crate::TickDetail { responses: later, ..crate::TickDetail::default() }));
    let report = crate::AgentReport::Tick(crate::Tick { detail, ..crate::Tick::default() });
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<crate::AgentReport>(&text).unwrap(), report);
}

#[test]
fn unanswered_requests_count_above_every_bucket() {
    let mut counts = vec![0; CoarseHist::BUCKETS];
    counts[CoarseHist::bucket(1_000_000)] = 80;
    let hist = CoarseHist::of(counts.clone());
    let none = CoarseHist::default();
    assert!(hist.percentile(0.8, &none, 20).exact().is_some_and(|us| (us / 1000.0 - 1.0).abs() < 0.09));
    assert!(matches!(hist.percentile(0.81, &none, 20), TimeFigure::AtLeast(us) if us <= 1000.0));
    assert_eq!(none.percentile(0.5, &none, 20), TimeFigure::Unknown);
    let summary = hist.summary(&none, 20);
    assert_eq!((summary.count, summary.unanswered), (80, 20));
    assert!(summary.at_least.contains(SummaryFigure::P99) && !summary.at_least.contains(SummaryFigure::P50));
    assert!(hist.summary(&none, 0).at_least.is_empty() && none.summary(&none, 0).at_least.is_empty());
    counts[CoarseHist::BUCKETS - 1] = 20;
    let open = CoarseHist::of(counts);
    assert_eq!((open.quantile_us(0.9), open.quantile_us(0.5).is_some()), (None, true));
    assert!(open.mean_us().is_some_and(|us| us < 1100.0));
}

/// A fifth of the requests timed out after 50 ms. The slowest answer took 19 ms.
#[test]
fn a_percentile_of_timeouts_is_at_least_the_timeout() {
    let hist = |ms: u64, n: u64| {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        counts[CoarseHist::bucket(ms * 1_000_000)] = n;
        CoarseHist::of(counts)
    };
    let (answers, timeouts) = (hist(1, 79).with(&hist(19, 1)), hist(50, 20));
    let at_least = |q: f64, failed: u64| match answers.percentile(q, &timeouts, failed) {
        TimeFigure::AtLeast(us) => us / 1e3,
        other => panic!("{other:?}"),
    };
    for q in [0.85, 0.9, 0.99, 1.0] {
        assert!((44.0..=50.0).contains(&at_least(q, 20)), "{q}: {} ms", at_least(q, 20));
    }
    assert!(answers.percentile(0.5, &timeouts, 20).exact().is_some_and(|us| us < 1100.0));
    // Besides the 20 timeouts, 20 requests failed after an unknown time, so half of the failures may have been
    // quick.
    assert!((16.0..=19.0).contains(&at_least(0.7, 40)) && (44.0..=50.0).contains(&at_least(0.9, 40)));
    let summary = answers.summary(&timeouts, 20);
    assert!(summary.unanswered == 20 && summary.p99 > 44_000.0 && summary.mean > 9000.0, "{summary:?}");
    let none = CoarseHist::default();
    assert!(matches!(none.percentile(0.5, &timeouts, 20), TimeFigure::AtLeast(us) if us > 44_000.0));
}

#[test]
fn of_a_slot_times_are_known_to_a_hundredth() {
    let mut counts = vec![0; SlotHist::BUCKETS];
    (1..=10_000_u64).for_each(|us| counts[SlotHist::bucket(us * 1000)] += 1);
    let hist = SlotHist::of(counts);
    for (found, us) in [(hist.quantile_us(0.5), 5000.0), (hist.quantile_us(0.99), 9900.0), (hist.mean_us(), 5000.5)] {
        assert!(found.is_some_and(|found| (found / us - 1.0).abs() < 0.01), "{found:?} {us}");
    }
    assert_eq!(SlotHist::default().mean_us(), None);
}

#[test]
fn unknown_buckets_of_a_foreign_histogram_are_dropped() {
    let mut hist: CoarseHist = serde_json::from_str("[[7,18446744073709551615],[9,5],[60000,3]]").unwrap();
    hist.merge(&hist.clone());
    assert_eq!((hist.0.len(), hist.len()), (2, u64::MAX));
    assert!(hist.quantile_us(0.5).is_some());
}
