//! Record of the streams of events of a shard (generator thread).

use run::{Hist, StreamCounts};

use crate::core::InFlightRequest;

/// Progress of the streams in flight, and counts and times of events in the measured window.
#[derive(Debug)]
pub(crate) struct StreamRecord {
    stall_ns: u64,
    /// Maximum number of requests in flight on a connection.
    depth: usize,
    /// Progress of the request in each slot (place for one request in flight) of each connection.
    progress: Box<[Progress]>,
    measuring: bool,
    counts: StreamCounts,
    /// Time from the intended start of a request to its first event.
    first_event: Hist,
    /// Time between two consecutive events of a stream.
    gap: Hist,
    /// Ages of requests without an event when the measured window ended.
    waiting_ns: Vec<u64>,
    /// Time from the intended start to the end, for each request that ended without any event. Refusals are left out,
    /// because their bodies are no streams.
    without_events: Hist,
}

/// End of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The answer is complete and has an expected status.
    Whole,
    /// The answer is complete and has an unexpected status.
    Refused,
    /// The request failed.
    Lost,
}

/// Progress of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Time of the last event; 0 before the first event.
    last_ns: u64,
    /// True if the stream has been counted as stalled.
    stalled: bool,
}

impl StreamRecord {
    /// Creates the record for `connections` connections with at most `depth` requests in flight each. A gap of more
    /// than `stall_s` seconds is a stall.
    pub(crate) fn new(connections: usize, depth: usize, stall_s: f64) -> Self {
        Self {
            stall_ns: (stall_s * 1e9) as u64,
            depth,
            progress: vec![Progress::default(); connections * depth].into(),
            measuring: false,
            counts: StreamCounts::default(),
            first_event: Hist::new(),
            gap: Hist::new(),
            waiting_ns: Vec::new(),
            without_events: Hist::new(),
        }
    }

    /// Records the events in a request's answer that one read returned.
    pub(super) fn events(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, events: u32) {
        let last_ns = std::mem::replace(&mut self.progress_mut(conn, request).last_ns, now_ns);
        if !self.measuring {
            return;
        }
        self.counts.events += u64::from(events);
        self.gap.record_many_ns(0, u64::from(events) - 1);
        match last_ns {
            0 => self.first_event.record_ns(now_ns.saturating_sub(request.start.intended_ns)),
            last_ns => self.gap(now_ns.saturating_sub(last_ns), self.slot(conn, request)),
        }
    }

    /// Records the end of a request, and the events that arrived in the same read as the end.
    pub(super) fn ended(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, events: u32, end: StreamEnd) {
        if events > 0 {
            self.events(now_ns, conn, request, events);
        }
        let slot = self.slot(conn, request);
        if self.measuring && end == StreamEnd::Lost {
            self.counts.broken += u64::from(self.progress[slot].last_ns > 0 || request.first_byte_ns > 0);
            self.waits(slot, now_ns);
        }
        if self.measuring && end != StreamEnd::Refused && self.progress[slot].last_ns == 0 {
            self.without_events.record_ns(now_ns.saturating_sub(request.start.intended_ns));
        }
        self.progress[slot] = Progress::default();
    }

    /// Begins the measured window.
    pub(super) fn open(&mut self) {
        self.counts = StreamCounts::default();
        self.first_event.clear();
        self.gap.clear();
        self.waiting_ns.clear();
        self.without_events.clear();
        self.progress.iter_mut().for_each(|progress| progress.stalled = false);
        self.measuring = true;
    }

    /// Ends the measured window. A request may still wait for its first event. The time that a request has waited for
    /// its first event counts only if it is longer than all completed waits for a first event. If no first event came,
    /// no such time counts, because the answers may have no events at all.
    pub(super) fn close(&mut self, now_ns: u64) {
        let longest_ns = if self.first_event.is_empty() { u64::MAX } else { self.first_event.max_ns() };
        let longer = self.waiting_ns.drain(..).filter(|waited_ns| *waited_ns > longest_ns);
        longer.for_each(|waited_ns| self.first_event.record_ns(waited_ns));
        (0..self.progress.len()).for_each(|slot| self.waits(slot, now_ns));
        self.measuring = false;
    }

    /// Stores the age of a request that still waits for its first event.
    pub(super) fn waits_for_first(&mut self, now_ns: u64, request: &InFlightRequest) {
        if self.measuring {
            self.waiting_ns.push(now_ns.saturating_sub(request.start.intended_ns));
        }
    }

    /// Returns the counts of streams, and three named histograms: times to the first event, gaps, and times of requests
    /// that ended without any event.
    pub(super) fn into_part(self) -> (StreamCounts, [(&'static str, Hist); 3]) {
        let hists = [("first_event", self.first_event), ("gap", self.gap), ("without_events", self.without_events)];
        (self.counts, hists)
    }

    /// Records the time since the last event of a stream whose next event has not come. The time counts only if it is
    /// already longer than the allowed gap, because the gap's full length is unknown.
    fn waits(&mut self, slot: usize, now_ns: u64) {
        let last_ns = self.progress[slot].last_ns;
        let gap_ns = now_ns.saturating_sub(last_ns);
        if last_ns > 0 && gap_ns > self.stall_ns {
            self.gap(gap_ns, slot);
        }
    }

    fn gap(&mut self, gap_ns: u64, slot: usize) {
        self.gap.record_ns(gap_ns);
        if gap_ns > self.stall_ns && !std::mem::replace(&mut self.progress[slot].stalled, true) {
            self.counts.stalled += 1;
        }
    }

    fn slot(&self, conn: u32, request: &InFlightRequest) -> usize {
        conn as usize * self.depth + usize::from(request.id)
    }

    fn progress_mut(&mut self, conn: u32, request: &InFlightRequest) -> &mut Progress {
        let slot = self.slot(conn, request);
        &mut self.progress[slot]
    }
}
