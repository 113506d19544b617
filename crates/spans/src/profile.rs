//! Self time of each kind of span. The self time of a span is its duration without the time in which its children run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use run::{MAX_SPAN_NAMES, SpanProfile, SpanSum};

use crate::span::Span;
use crate::store::Store;

/// Sums over all spans of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    own_ns: u128,
    whole_ns: u128,
}

/// Returns the mean duration and the mean self time per span name, over the spans that began within `times_ns`
/// (nanoseconds since 1970). The name with the largest total self time comes first. At most `MAX_SPAN_NAMES` names are
/// returned.
pub(crate) fn profile(store: &Store, times_ns: &Range<u64>) -> SpanProfile {
    let spans = without_repeats(store.spans());
    let children = by_parent(&spans);
    let (mut sums, mut traces) = (BTreeMap::<u16, Sum>::new(), BTreeSet::new());
    for span in spans.iter().filter(|span| times_ns.contains(&span.begin_ns)) {
        let whole_ns = span.end_ns - span.begin_ns;
        let sum = sums.entry(span.name).or_default();
        sum.count += 1;
        sum.whole_ns += u128::from(whole_ns);
        sum.own_ns += u128::from(whole_ns - covered_ns(span, &children));
        traces.insert(span.trace);
    }
    let mut spans: Vec<SpanSum> = sums.iter().filter_map(|(name, sum)| told(store, *name, sum)).collect();
    spans.sort_by(|a, b| b.total_us().total_cmp(&a.total_us()));
    spans.truncate(MAX_SPAN_NAMES);
    SpanProfile { traces: traces.len() as u64, kept_share: store.kept_share(), spans }
}

fn told(store: &Store, name: u16, sum: &Sum) -> Option<SpanSum> {
    let (service, name) = store.names_of(name)?.clone();
    let mean_us = |ns: u128| run::six_digits(ns as f64 / 1e3 / sum.count.max(1) as f64);
    Some(SpanSum { service, name, count: sum.count, self_us: mean_us(sum.own_ns), duration_us: mean_us(sum.whole_ns) })
}

/// Returns the spans without repeats. An exporter sends spans again if it has got no answer. Of several spans with the
/// same ID and the same name, only the first one remains. In the result, spans with the same ID have different names,
/// and the store limits the number of names. A sender that gives one ID to all spans therefore causes little work,
/// although `covered_ns` visits all children for each of these spans.
fn without_repeats(spans: &[Span]) -> Vec<&Span> {
    let identity = |span: &&Span| (span.trace, span.id, span.name);
    let mut all: Vec<&Span> = spans.iter().collect();
    all.sort_by_key(identity);
    all.dedup_by_key(|span| identity(span));
    all
}

/// Returns all spans that have a parent, sorted by trace, parent and start time.
fn by_parent<'a>(spans: &[&'a Span]) -> Vec<&'a Span> {
    let mut children: Vec<&Span> = spans.iter().copied().filter(|span| span.parent != 0).collect();
    children.sort_unstable_by_key(|span| (span.trace, span.parent, span.begin_ns));
    children
}

/// Returns the time within a span in which at least one of the span's children runs, nanoseconds.
fn covered_ns(span: &Span, children: &[&Span]) -> u64 {
    let of_parent = |child: &&Span| (child.trace, child.parent);
    let begin = children.partition_point(|child| of_parent(child) < (span.trace, span.id));
    let own = children[begin..].iter().take_while(|child| of_parent(child) == (span.trace, span.id));
    let (mut covered, mut until_ns) = (0, span.begin_ns);
    for child in own {
        let (from_ns, to_ns) = (child.begin_ns.max(until_ns), child.end_ns.min(span.end_ns));
        covered += to_ns.saturating_sub(from_ns);
        until_ns = until_ns.max(to_ns);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReceivedSpan;
    use std::borrow::Cow;

    fn add(store: &mut Store, trace: u128, (id, parent): (u64, u64), name: &str, (begin_us, end_us): (u64, u64)) {
        let (service, name) = (Cow::Borrowed("shop"), Cow::Borrowed(name));
        let (begin_ns, end_ns) = (begin_us * 1000, end_us * 1000);
        store.add(&ReceivedSpan { trace, id, parent, begin_ns, end_ns, service, name });
    }

    #[test]
    fn self_time_is_the_duration_without_the_children_and_overlaps_count_once() {
        let mut store = Store::default();
        for (trace, at) in [(1, 0), (2, 1000)] {
            // The children of the request overlap, and the last child ends after its parent.
            add(&mut store, trace, (10, 0), "GET /", (at, at + 100));
            add(&mut store, trace, (11, 10), "SELECT", (at + 10, at + 40));
            add(&mut store, trace, (12, 10), "SELECT", (at + 30, at + 50));
            add(&mut store, trace, (13, 10), "render", (at + 90, at + 120));
            add(&mut store, trace, (14, 99), "orphan", (at, at + 1));
        }
        let all = profile(&store, &(0..u64::MAX));
        let sum = |profile: &SpanProfile, name: &str| {
            let sum = profile.spans.iter().find(|sum| sum.name == name).unwrap();
            (sum.count, sum.self_us, sum.duration_us)
        };
        assert_eq!((all.traces, all.kept_share), (2, 1.0));
        assert_eq!((sum(&all, "GET /"), sum(&all, "SELECT")), ((2, 50.0, 100.0), (4, 25.0, 25.0)));
        assert_eq!((sum(&all, "render"), sum(&all, "orphan")), ((2, 30.0, 30.0), (2, 1.0, 1.0)));
        let self_times: Vec<f64> = all.spans.iter().map(SpanSum::total_us).collect();
        assert!(self_times.is_sorted_by(|a, b| a >= b), "{self_times:?}");
        let later = profile(&store, &(1_000_000..2_000_000));
        assert_eq!((later.traces, sum(&later, "GET /").0), (1, 1));
    }

    #[test]
    fn a_span_that_was_sent_twice_counts_once() {
        let mut store = Store::default();
        for _ in 0..2 {
            add(&mut store, 1, (10, 0), "GET /", (0, 100));
            // A client and a server may share the ID of a span (Zipkin).
            add(&mut store, 1, (10, 0), "serve GET /", (10, 90));
        }
        let counts: Vec<u64> = profile(&store, &(0..u64::MAX)).spans.iter().map(|sum| sum.count).collect();
        assert_eq!(counts, [1, 1]);
    }

    #[test]
    fn one_id_for_all_spans_does_not_multiply_the_work() {
        let mut store = Store::default();
        for at in 0..100_000 {
            add(&mut store, 1, (10, 0), "parent", (at, at + 1));
            add(&mut store, 1, (20 + at, 10), "child", (at, at + 1));
        }
        // If the profile visited all 100,000 children for each of the 100,000 parents, it would take 10^10 steps.
        assert_eq!(profile(&store, &(0..u64::MAX)).spans.len(), 2);
    }

    #[test]
    fn spans_that_are_their_own_parent_do_no_harm() {
        let mut store = Store::default();
        add(&mut store, 1, (10, 10), "loop", (0, 100));
        assert_eq!(profile(&store, &(0..u64::MAX)).spans[0].self_us, 0.0);
    }
}
