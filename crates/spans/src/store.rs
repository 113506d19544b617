//! Stores the received spans in a limited amount of memory. Whenever there are too many spans, the store drops half of
//! its remaining traces. A hash of the trace ID decides which traces the store keeps, so every kept trace is complete.

use std::collections::HashMap;
use std::time::Instant;

use crate::ReceivedSpan;
use crate::span::Span;

/// Maximum number of stored spans, 64 bytes each.
const MAX_SPANS: usize = 1 << 18;
/// Maximum number of different names of spans. Spans with any further name are stored under the name [`OTHER`].
const MAX_NAMES: usize = 256;
/// Maximum length of a name, characters.
const MAX_NAME_CHARS: usize = 80;
/// Name under which reports show all spans whose own names are not stored.
const OTHER: &str = "(other names)";
/// Multiplier that computes a hash from a trace ID. Without a hash, traces with consecutive IDs would be kept or
/// dropped together.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The received spans; see the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Store {
    spans: Vec<Span>,
    /// Pairs of a service's name and a span's name.
    names: Vec<(String, String)>,
    /// For each pair of names, its index in `names`.
    known: HashMap<(String, String), u16>,
    /// Number of times that the store has dropped half of the traces.
    halvings: u32,
    /// Latest start of any received span, nanoseconds since 1970.
    pub(crate) newest_ns: u64,
    /// Time when the last span arrived; `None` before the first span.
    pub(crate) arrived: Option<Instant>,
}

impl Store {
    /// Adds a received span to the store.
    pub(crate) fn add(&mut self, span: &ReceivedSpan<'_>) {
        (self.newest_ns, self.arrived) = (self.newest_ns.max(span.begin_ns), Some(Instant::now()));
        while self.spans.len() >= MAX_SPANS && self.halvings < u64::BITS {
            self.halvings += 1;
            let halvings = self.halvings;
            self.spans.retain(|span| is_kept(span.trace, halvings));
        }
        if is_kept(span.trace, self.halvings) && self.spans.len() < MAX_SPANS {
            let &ReceivedSpan { trace, id, parent, begin_ns, end_ns, .. } = span;
            let name = self.name(&span.service, &span.name);
            self.spans.push(Span { trace, id, parent, begin_ns, end_ns, name });
        }
    }

    /// Returns the stored spans.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the names of the service and of the span for an index; `None` for an unknown index.
    pub(crate) fn names_of(&self, name: u16) -> Option<&(String, String)> {
        self.names.get(usize::from(name))
    }

    /// Returns the share of the received traces that the store still has, 0 to 1.
    pub(crate) fn kept_share(&self) -> f64 {
        0.5_f64.powi(self.halvings as i32)
    }

    fn name(&mut self, service: &str, name: &str) -> u16 {
        let mut key = (shown(service), shown(name));
        if self.names.len() >= MAX_NAMES && !self.known.contains_key(&key) {
            key = (String::new(), OTHER.into());
        }
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let at = self.names.len() as u16;
        self.names.push(key.clone());
        self.known.insert(key, at);
        at
    }
}

/// Returns a name that is cut to the maximum length and contains no characters that could change a terminal's screen.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(MAX_NAME_CHARS).collect();
    run::visible(&short).into_owned()
}

fn is_kept(trace: u128, halvings: u32) -> bool {
    let spread = ((trace as u64) ^ (trace >> 64) as u64).wrapping_mul(SPREAD);
    spread.checked_shr(u64::BITS - halvings).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn span(trace: u128, id: u64, name: &str) -> ReceivedSpan<'_> {
        let (service, name) = (Cow::Borrowed("shop"), Cow::Borrowed(name));
        ReceivedSpan { trace, id, parent: 0, begin_ns: 1, end_ns: 2, service, name }
    }

    #[test]
    fn too_many_spans_lose_whole_traces() {
        let mut store = Store::default();
        let traces = MAX_SPANS as u128;
        for trace in 1..=traces {
            (1..=2).for_each(|id| store.add(&span(trace, id, "GET /")));
        }
        assert!(store.spans().len() <= MAX_SPANS && store.kept_share() == 0.25, "{}", store.kept_share());
        let mut per_trace: HashMap<u128, u32> = HashMap::new();
        store.spans().iter().for_each(|span| *per_trace.entry(span.trace).or_default() += 1);
        let share = per_trace.len() as f64 / traces as f64;
        assert!((share - 0.25).abs() < 0.02, "{share}");
        assert!(per_trace.values().filter(|n| **n != 2).count() <= 1);
    }

    #[test]
    fn names_are_limited_in_number_and_length_and_have_no_control_characters() {
        let mut store = Store::default();
        (0..400).for_each(|n| store.add(&span(1, n + 1, &format!("GET /{n}"))));
        store.add(&span(1, 999, "GET /0"));
        store.add(&span(1, 1000, &"\u{1b}[2J".repeat(100)));
        assert!(store.names.len() <= MAX_NAMES + 1, "{}", store.names.len());
        let name = |at: usize| store.names_of(store.spans()[at].name).unwrap().1.clone();
        assert_eq!((name(400), name(399)), ("GET /0".to_owned(), OTHER.to_owned()));
        let long = shown(&"\u{1b}x".repeat(100));
        assert!(!long.contains('\u{1b}') && long.chars().count() < 1000, "{long}");
    }
}
