//! Settings of streams of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::Pace;

use super::schedule::{Schedule, Times};
use crate::{Options, ServeError};

/// Settings and counters of streams, which all connections share.
pub(crate) struct StreamPlan {
    pub(super) schedule: Schedule,
    /// Text of an additional event that ends each stream; empty for none.
    pub(super) end: String,
    /// True if events are lines of JSON (NDJSON), and false if they are server-sent events.
    pub(super) lines: bool,
    /// Number of streams so far.
    streams: AtomicU64,
    pub(super) clock: fn() -> u64,
}

impl StreamPlan {
    pub(super) fn from(options: &Options<'_>, clock: fn() -> u64) -> Result<Arc<Self>, ServeError> {
        let lines = match options.get::<String>("format")?.as_deref() {
            None | Some("sse") => false,
            Some("ndjson") => true,
            Some(other) => {
                return Err(ServeError::BadOption { name: "format", value: other.into(), wants: "sse or ndjson" });
            }
        };
        let (schedule, end) = (Schedule::from(options)?, options.get("end")?.unwrap_or_default());
        Ok(Arc::new(Self { schedule, end, lines, streams: AtomicU64::new(0), clock }))
    }

    /// Returns the settings of streams if the option `events` is a number of events; otherwise `None`.
    pub(crate) fn if_asked(options: &Options<'_>) -> Result<Option<Arc<Self>>, ServeError> {
        // With the model `event`, the option `events` names a backend of the event API.
        let is_asked = options.get::<String>("events")?.is_some_and(|events| events.parse::<u64>().is_ok());
        if is_asked { Self::from(options, sys::clock::monotonic_ns).map(Some) } else { Ok(None) }
    }

    /// Begins a stream of events now, and returns the times of its events.
    pub(super) fn begin(&self) -> Times {
        self.schedule.begin((self.clock)(), self.streams.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the body of a whole stream, and the length of each event. All events of the stream have the same length.
    pub(crate) fn body(&self) -> (Vec<u8>, usize) {
        let event = |n: u64| match self.lines {
            true => format!("{{\"event\":{n:012}}}\n"),
            false => format!("data: {{\"event\":{n:012}}}\n\n"),
        };
        ((0..self.schedule.events).flat_map(|n| event(n).into_bytes()).collect(), event(0).len())
    }

    /// Returns the number of events of a stream.
    pub(crate) const fn events(&self) -> u64 {
        self.schedule.events
    }

    /// Begins a stream for an answer whose whole body is prepared in advance. Each event has `event_bytes` bytes.
    /// Returns the times at which the events are due.
    pub(crate) fn pace(&self, event_bytes: usize) -> Pace {
        let (mut times, mut dues_ns) = (self.begin(), Vec::new());
        while !self.schedule.is_over(&times) {
            dues_ns.push(times.next_ns);
            self.schedule.advance(&mut times);
        }
        Pace::new(dues_ns, event_bytes, self.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::tests::service;

    /// If the option `events` is a name and not a number, it selects a backend of the event API.
    #[test]
    fn a_service_streams_if_it_gets_a_number_of_events() {
        for name in ["h2", "grpc", "ws"] {
            let is_timed = |events: &str| service(name, &[("events", events)]).is_timed();
            assert!(is_timed("5") && !is_timed("epoll") && !service(name, &[]).is_timed(), "{name}");
        }
        assert!(service("sse", &[]).is_timed());
    }

    #[test]
    fn the_body_of_a_whole_stream_has_events_of_one_length() {
        let map = [("events".to_owned(), "3".to_owned()), ("gap_ms".to_owned(), "1".to_owned())].into();
        let plan = StreamPlan::from(&Options::new(&map).unwrap(), || 0).unwrap();
        let (body, event_bytes) = plan.body();
        assert!(body.len() == 3 * event_bytes && body.ends_with(b"data: {\"event\":000000000002}\n\n"), "{body:?}");
    }
}
