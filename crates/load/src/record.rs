//! Records of a shard: counts always, histograms and the in-flight integral only in the measured window.

use proto::{Done, Fault, Outcome};
use run::{CoarseHist, ConnectionOpening, ErrorKind, Hist, LoadPart, Phase, UnansweredTimes};
use sys::clock;

use crate::class_times::rounded;
use crate::classes::Classes;
use crate::core::InFlightRequest;
use crate::counts::Counts;
use crate::server_ends::ServerEnds;
use crate::slot_times::SlotTimes;
use crate::tenths::TenthCounter;
use crate::thread_stalls::ThreadStalls;

/// Definition of a shard's offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    /// Planned rate per second.
    Rate(f64),
    /// Requests that an arrival process made due.
    Due,
    /// Connects started, or this many per second if fewer were started: the generator is to blame for a shortfall.
    Attempts { at_least: f64 },
    /// Counts requests that were sent.
    Sent,
}

/// Optional parts of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordOptions {
    /// Service times besides response times, for requests with due times.
    pub(crate) service: bool,
    /// Records handshake times.
    pub(crate) handshake: bool,
    /// Number of request classes.
    pub(crate) classes: usize,
}

/// Returns the kind of a failure that the protocol detected.
pub(crate) fn kind_of(fault: Fault) -> ErrorKind {
    match fault {
        Fault::Malformed(_) | Fault::Unasked(_) | Fault::Limit(_) => ErrorKind::Malformed,
        Fault::WrongBody(_) => ErrorKind::WrongBody,
        Fault::Short | Fault::BehindClose => ErrorKind::ShortResponse,
        Fault::StreamReset => ErrorKind::StreamReset,
        Fault::StreamRefused | Fault::ConnectionRefused | Fault::Unprocessed => ErrorKind::StreamRefused,
    }
}

/// Maximum difference between idle times after which a server closes connections, as a share. Timers of servers are
/// exact to some milliseconds, and a request may leave up to a round trip before the server's close arrives.
const IDLE_MARGIN: f64 = 0.1;

/// Record of one shard.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) counts: Counts,
    pub(crate) measuring: bool,
    /// Response time counts by bucket since the load began, for the live view.
    pub(crate) coarse: Box<[u64; CoarseHist::BUCKETS]>,
    /// Time to the last byte: from the intended start (open loop), the connect (closed loop with one connection per
    /// request), or the send.
    pub(crate) response: Hist,
    /// Time from the send to the last byte. The histogram is recorded only if it differs from `response`.
    pub(crate) service: Option<Hist>,
    pub(crate) blocked: Hist,
    pub(crate) start_error: Hist,
    pub(crate) connect: Hist,
    /// Time until the failure of each request that failed in the window.
    unanswered: Hist,
    /// Time until each answer with an unexpected status. These do not count as response times of good requests.
    refused: Hist,
    /// Age, at the end of the window, of requests without an answer.
    under_way: Hist,
    /// Age, at the start of the window, of requests that ended in the window or are in `under_way`.
    carried_in: Hist,
    /// Times of unanswered requests from their send, recorded together with `service`.
    service_unanswered: UnansweredTimes,
    /// Time from an established connection to one that is ready for requests. Absent if the protocol has no handshakes.
    pub(crate) handshake: Option<Hist>,
    /// Handshake times of resumed sessions.
    pub(crate) handshake_resumed: Option<Hist>,
    /// Smallest limit of concurrent requests per connection announced by the server.
    pub(crate) stream_limit: Option<u32>,
    /// Shortest idle time after which the server closed a connection.
    shortest_idle_ns: Option<u64>,
    server_ends: ServerEnds,
    /// Records per request class. Empty if the plan has one class.
    classes: Classes,
    tenths: TenthCounter,
    slot_times: SlotTimes,
    /// Maximum number of connections open at once, and the time it was reached.
    most_open: (u64, u64),
    /// Thread stalls, recorded together with tenths.
    pub(crate) held_up: Option<ThreadStalls>,
    origin_ns: u64,
    begin: Edge,
    end: Option<Edge>,
    in_flight_ns: u128,
    seen_ns: u64,
}

/// State at an edge of the measured window.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    at_ns: u64,
    counts: Counts,
    cpu_us: (f64, f64),
}

impl Record {
    /// Creates an empty record of a load that starts at `origin_ns`.
    pub(crate) fn new(origin_ns: u64, keeps: RecordOptions) -> Self {
        Self {
            counts: Counts::default(),
            measuring: false,
            coarse: Box::new([0; CoarseHist::BUCKETS]),
            response: Hist::new(),
            service: keeps.service.then(Hist::new),
            blocked: Hist::new(),
            start_error: Hist::new(),
            connect: Hist::new(),
            unanswered: Hist::new(),
            refused: Hist::new(),
            under_way: Hist::new(),
            carried_in: Hist::new(),
            service_unanswered: UnansweredTimes::default(),
            handshake: keeps.handshake.then(Hist::new),
            handshake_resumed: keeps.handshake.then(Hist::new),
            stream_limit: None,
            shortest_idle_ns: None,
            server_ends: ServerEnds::default(),
            classes: Classes::new(keeps.classes),
            tenths: TenthCounter::default(),
            slot_times: SlotTimes::default(),
            most_open: (0, 0),
            held_up: None,
            origin_ns,
            begin: Edge { at_ns: origin_ns, ..Edge::default() },
            end: None,
            in_flight_ns: 0,
            seen_ns: origin_ns,
        }
    }

    /// Sets the start of the load to this moment. Nothing may have been recorded before.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        (self.origin_ns, self.begin.at_ns, self.seen_ns) = (origin_ns, origin_ns, origin_ns);
    }

    /// Adds a counter of tenths of a second.
    pub(crate) fn in_tenths(&mut self, counter: TenthCounter) {
        self.held_up = counter.counts().then(ThreadStalls::new);
        self.tenths = counter;
    }

    /// Adds a counter of response times by slot.
    pub(crate) fn in_slots(&mut self, times: SlotTimes) {
        self.slot_times = times;
    }

    /// Returns the effective time of an edge that was ordered for `at_ns` and seen at `now_ns`: the ordered time,
    /// unless something was counted after it.
    pub(crate) fn edge_ns(&self, at_ns: u64, now_ns: u64) -> u64 {
        at_ns.max(self.seen_ns).min(now_ns)
    }

    /// Opens or closes the measured window at the start of a phase.
    pub(crate) fn enter(&mut self, phase: Phase, at_ns: u64) {
        let edge = Edge { at_ns, counts: self.counts, cpu_us: clock::thread_usage_us() };
        match phase {
            Phase::Measure if !self.measuring => {
                self.begin = edge;
                self.end = None;
                self.in_flight_ns = 0;
                [&mut self.response, &mut self.blocked, &mut self.start_error, &mut self.connect]
                    .into_iter()
                    .chain([&mut self.unanswered, &mut self.refused, &mut self.under_way, &mut self.carried_in])
                    .chain(self.service.as_mut())
                    .chain(self.handshake.as_mut())
                    .chain(self.handshake_resumed.as_mut())
                    .for_each(Hist::clear);
                self.classes.open();
                self.service_unanswered = UnansweredTimes::default();
                self.tenths.clear();
                self.measuring = true;
            }
            Phase::Drain | Phase::WarmUp if self.measuring => {
                self.end = Some(edge);
                self.classes.close();
                self.measuring = false;
            }
            _ => {}
        }
    }

    /// Adds the time since the last call, with `in_flight` requests in flight, to the in-flight integral.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64, in_flight: u64) {
        if self.measuring {
            let from = self.seen_ns.max(self.begin.at_ns);
            self.in_flight_ns += u128::from(now_ns.saturating_sub(from)) * u128::from(in_flight);
        }
        self.seen_ns = now_ns;
    }

    /// Records a new connection and the number open with it.
    #[inline]
    pub(crate) fn connected(&mut self, now_ns: u64, open: u64) {
        self.counts.connected += 1;
        if open > self.most_open.0 {
            self.most_open = (open, now_ns);
        }
    }

    /// Returns the maximum number of open connections, and when the last of them was established.
    pub(crate) fn opened(&self) -> ConnectionOpening {
        let (connections, at_ns) = self.most_open;
        ConnectionOpening { connections, at_s: at_ns.saturating_sub(self.origin_ns) as f64 / 1e9 }
    }

    /// Records the start of a request.
    #[inline]
    pub(crate) fn begun(&mut self, class: u16) {
        self.classes.begun(class);
    }

    /// Records a request that failed with its connection.
    pub(crate) fn failed(&mut self, now_ns: u64, request: &InFlightRequest) {
        self.classes.failed(request.class);
        self.unanswered(now_ns, request);
    }

    /// Records that the server closed a connection that was idle for this long.
    pub(crate) fn closed_while_idle(&mut self, idle_ns: u64) {
        self.counts.closed_by_server += 1;
        self.shortest_idle_ns = self.shortest_idle_ns.into_iter().chain([idle_ns]).min();
    }

    /// Records that the server ended one of `open` connections, after this idle time.
    pub(crate) fn server_ended(&mut self, now_ns: u64, idle_ns: u64, open: u64) {
        self.server_ends.add(now_ns.saturating_sub(self.origin_ns), idle_ns, open);
    }

    /// Returns true if the server may have closed a connection because it was idle for this long. Before the server has
    /// closed its first idle connection, every idle time is possible.
    pub(crate) fn closes_after(&self, idle_ns: u64) -> bool {
        self.shortest_idle_ns.is_none_or(|shortest| idle_ns as f64 >= (1.0 - IDLE_MARGIN) * shortest as f64)
    }

    /// Records that a request with this intended start will never be answered.
    pub(crate) fn never_answered(&mut self, now_ns: u64, intended_ns: u64) {
        self.slot_times.count_unanswered(intended_ns.saturating_sub(self.origin_ns));
        if self.measuring {
            self.unanswered.record_ns(now_ns.saturating_sub(intended_ns));
            self.tenths.count_unanswered(now_ns.saturating_sub(self.begin.at_ns));
            self.carry_in(intended_ns);
        }
    }

    /// Records that a request that was already started will never be answered.
    fn unanswered(&mut self, now_ns: u64, request: &InFlightRequest) {
        self.never_answered(now_ns, request.start.intended_ns);
        if self.measuring {
            let from_start = |start_ns: u64| rounded(now_ns.saturating_sub(start_ns));
            self.each_time(request, |times, start_ns| *times.failed.entry(from_start(start_ns)).or_default() += 1);
            self.carry_in_others(request);
        }
    }

    /// Records a started request that is in flight at the end of the window.
    pub(crate) fn request_under_way(&mut self, now_ns: u64, request: &InFlightRequest) {
        self.still_under_way(now_ns, request.start.intended_ns);
        let age = |start_ns: u64| rounded(now_ns.saturating_sub(start_ns));
        self.each_time(request, |times, start_ns| *times.under_way.entry(age(start_ns)).or_default() += 1);
        self.carry_in_others(request);
    }

    /// Records the ages of an answered request at the begin of the window.
    #[inline]
    fn request_carried_in(&mut self, request: &InFlightRequest) {
        self.carry_in(request.start.intended_ns);
        if request.start.intended_ns < self.begin.at_ns {
            self.carry_in_others(request);
        }
    }

    /// Records the ages of a request at the begin of the window, in its class and since its send.
    fn carry_in_others(&mut self, request: &InFlightRequest) {
        let begin_ns = self.begin.at_ns;
        self.each_time(request, |times, start_ns| {
            if start_ns < begin_ns {
                *times.carried_in.entry(rounded(begin_ns - start_ns)).or_default() += 1;
            }
        });
    }

    /// Calls `record` with the times of the request's class and its start, and with the service times and its send.
    fn each_time(&mut self, request: &InFlightRequest, record: impl Fn(&mut UnansweredTimes, u64)) {
        if let Some(times) = self.classes.unanswered(request.class) {
            record(times, request.start.intended_ns);
        }
        if self.service.is_some() {
            record(&mut self.service_unanswered, request.start.sent_ns);
        }
    }

    /// Records a request in flight at the end of the window.
    pub(crate) fn still_under_way(&mut self, now_ns: u64, intended_ns: u64) {
        self.under_way.record_ns(now_ns.saturating_sub(intended_ns));
        self.carry_in(intended_ns);
    }

    /// Records the age of a request that was in flight at the begin of the window.
    #[inline]
    fn carry_in(&mut self, intended_ns: u64) {
        if intended_ns < self.begin.at_ns {
            self.carried_in.record_ns(self.begin.at_ns - intended_ns);
        }
    }

    /// Records the end of a request.
    #[inline]
    pub(crate) fn ended(&mut self, now_ns: u64, request: &InFlightRequest, done: Done) {
        if !self.classes.is_empty() {
            let took_ns = self.measuring.then(|| now_ns.saturating_sub(request.start.intended_ns));
            self.classes.ended(request.class, &done, took_ns);
        }
        let counts = &mut self.counts;
        counts.answer_bytes += done.bytes;
        if let Outcome::Failed(fault) = done.outcome {
            counts.fail(kind_of(fault), 1);
            return self.unanswered(now_ns, request);
        }
        counts.completed += 1;
        if done.outcome == Outcome::Unexpected {
            counts.unexpected += 1;
            counts.unexpected_statuses.count(done.status);
        }
        if done.status > 0 {
            counts.status[run::status_class(done.status)] += 1;
        }
        let took_ns = now_ns.saturating_sub(request.start.intended_ns);
        // A refusal is no response time of a good request.
        self.coarse[CoarseHist::bucket(took_ns)] += u64::from(done.outcome != Outcome::Unexpected);
        self.slot_times.count(request.start.intended_ns.saturating_sub(self.origin_ns), took_ns);
        if self.measuring {
            self.request_carried_in(request);
            self.tenths.count(now_ns.saturating_sub(self.begin.at_ns), took_ns);
            if done.outcome == Outcome::Unexpected {
                return self.refused.record_ns(took_ns);
            }
            self.response.record_ns(took_ns);
            if let Some(service) = &mut self.service {
                service.record_ns(now_ns.saturating_sub(request.start.sent_ns));
            }
        }
    }

    /// Returns this shard's part of the trial.
    pub(crate) fn part(mut self, now_ns: u64, offered: Offered) -> LoadPart {
        let measured_any = self.measuring || self.end.is_some();
        self.enter(Phase::Drain, now_ns);
        let (begin, end) = (self.begin, self.end.unwrap_or(self.begin));
        let measured = if measured_any { end.counts.since(&begin.counts) } else { Counts::default() };
        let measured_s = end.at_ns.saturating_sub(begin.at_ns) as f64 / 1e9;
        let offered = match offered {
            Offered::Rate(per_s) => per_s * measured_s,
            Offered::Due => measured.due as f64,
            Offered::Attempts { at_least } => (measured.attempted as f64).max(at_least * measured_s),
            Offered::Sent => measured.sent as f64,
        };
        let service = self.service.unwrap_or_else(|| self.response.clone());
        let some = !self.under_way.is_empty();
        let under_way = [("under_way", self.under_way), ("carried_in", self.carried_in)].into_iter().filter(|_| some);
        let named = [
            ("response", self.response),
            ("service", service),
            ("blocked", self.blocked),
            ("start_error", self.start_error),
            ("connect", self.connect),
        ]
        .into_iter()
        .chain(self.handshake.map(|hist| ("handshake", hist)))
        .chain([("unanswered", self.unanswered), ("refused", self.refused)].into_iter().filter(|(_, h)| !h.is_empty()))
        .chain(under_way)
        .chain(self.handshake_resumed.filter(|hist| !hist.is_empty()).map(|hist| ("handshake_resumed", hist)));
        LoadPart {
            total: self.counts.tally(),
            measured: measured.tally(),
            measured_s,
            late_s: 0.0,
            measured_at_s: begin.at_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
            offered,
            in_flight_s: self.in_flight_ns as f64 / 1e9,
            cpu_us: (end.cpu_us.0 - begin.cpu_us.0, end.cpu_us.1 - begin.cpu_us.1),
            histograms: named.map(|(name, hist)| (name.to_owned(), hist)).collect(),
            classes: self.classes.parts(),
            service_unanswered: self.service_unanswered,
            notes: Vec::new(),
            opened: None,
            stream_limit: self.stream_limit,
            closes_idle_after_s: self.shortest_idle_ns.map(|ns| ns as f64 / 1e9),
            ended_together: self.server_ends.most(),
            slot_rates: Vec::new(),
            slot_times: self.slot_times.hists(),
            tenths: self.tenths.tenths(&self.tenths.limits_us()),
            pauses: Vec::new(),
            held_up: self.held_up.map(|held| held.windows(self.origin_ns)).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Start;

    #[test]
    fn only_the_measured_window_is_kept_apart() {
        let request = |at_ns| InFlightRequest {
            start: Start { intended_ns: at_ns, sent_ns: at_ns },
            class: 0,
            item: 0,
            resends: 0,
        };
        let mut r = Record::new(1_000, RecordOptions::default());
        r.counts.sent = 5;
        r.ended(2_000, &request(1_500), Done::OLDEST);
        r.enter(Phase::Measure, 1_001_000);
        r.counts.sent = 12;
        r.ended(1_002_000, &request(1_001_000), Done::OLDEST);
        r.advance(1_501_000, 4);
        r.enter(Phase::Drain, 2_001_000);
        r.counts.sent = 13;
        r.ended(9_000_000, &request(1), Done::OLDEST);
        let part = r.part(3_000_000, Offered::Sent);
        assert_eq!((part.total.sent, part.measured.sent), (13, 7));
        assert_eq!((part.measured_s, part.measured_at_s, part.offered), (0.001, 0.001, 7.0));
        assert_eq!(part.histograms["response"].len(), 1);
        assert_eq!(part.histograms["service"].len(), 1);
        assert!((part.in_flight_s - 0.002).abs() < 1e-12);
    }

    #[test]
    fn failures_count_with_their_time_and_requests_before_the_window_with_their_age() {
        let start = |at_ns| Start { intended_ns: at_ns, sent_ns: at_ns };
        let request = |at_ns| InFlightRequest { start: start(at_ns), ..InFlightRequest::default() };
        let mut r = Record::new(0, RecordOptions::default());
        r.failed(400, &request(100));
        r.enter(Phase::Measure, 1_000);
        r.ended(2_000, &request(400), Done::OLDEST);
        r.failed(5_000, &request(2_000));
        r.ended(6_000, &request(900), Done { outcome: Outcome::Failed(Fault::Short), ..Done::OLDEST });
        r.ended(7_000, &request(6_700), Done { outcome: Outcome::Unexpected, status: 503, ..Done::OLDEST });
        r.still_under_way(9_000, 500);
        r.still_under_way(9_000, 7_000);
        r.enter(Phase::Drain, 9_000);
        r.failed(9_500, &request(7_000));
        let part = r.part(10_000, Offered::Sent);
        assert_eq!((part.classes.len(), part.service_unanswered.is_empty()), (0, true));
        let times = |name: &str| -> Vec<u64> {
            part.histograms[name].histogram().iter_recorded().map(|v| v.value_iterated_to()).collect()
        };
        assert_eq!(times("response"), [1_600]);
        assert_eq!(times("unanswered"), [3_001, 5_103]);
        assert_eq!(times("refused"), [300]);
        assert_eq!(times("carried_in"), [100, 500, 600]);
        assert_eq!(times("under_way"), [2_000, 8_503]);
    }

    /// Times are recorded per class, and a request of an open loop has two starts: due and sent.
    #[test]
    fn unanswered_requests_count_in_their_class_and_since_their_send() {
        let request = |class, intended_ns, sent_ns| InFlightRequest {
            start: Start { intended_ns, sent_ns },
            class,
            ..InFlightRequest::default()
        };
        let mut r = Record::new(0, RecordOptions { service: true, classes: 2, ..RecordOptions::default() });
        r.failed(50, &request(0, 10, 20));
        r.enter(Phase::Measure, 1_000);
        r.ended(2_000, &request(0, 900, 1_100), Done::OLDEST);
        r.failed(2_500, &request(1, 800, 950));
        r.ended(2_600, &request(1, 2_000, 2_200), Done { outcome: Outcome::Failed(Fault::Short), ..Done::OLDEST });
        r.ended(2_700, &request(1, 2_400, 2_400), Done { outcome: Outcome::Unexpected, status: 429, ..Done::OLDEST });
        r.request_under_way(3_000, &request(0, 990, 1_200));
        r.enter(Phase::Drain, 3_000);
        let part = r.part(4_000, Offered::Sent);
        let keys = |times: &std::collections::BTreeMap<u64, u64>| times.keys().copied().collect::<Vec<_>>();
        let [a, b] = [0, 1].map(|class: usize| &part.classes[class].unanswered);
        assert_eq!((keys(&a.failed), keys(&a.under_way), keys(&a.carried_in)), (vec![], vec![2_010], vec![10, 100]));
        assert_eq!((keys(&b.failed), keys(&b.under_way), keys(&b.carried_in)), (vec![600, 1_700], vec![], vec![200]));
        assert_eq!((keys(&b.refused), part.classes[1].response.is_empty()), (vec![300], true));
        let service = &part.service_unanswered;
        assert_eq!((keys(&service.failed), keys(&service.under_way)), (vec![400, 1_550], vec![1_800]));
        assert_eq!(keys(&service.carried_in), [50]);
    }

    #[test]
    fn an_edge_is_at_its_ordered_time_or_after_the_last_counted_event() {
        let mut r = Record::new(0, RecordOptions::default());
        r.advance(1_000, 1);
        assert_eq!(r.edge_ns(1_500, 9_000), 1_500, "heard late: nothing happened");
        assert_eq!(r.edge_ns(500, 9_000), 1_000, "ordered late");
        assert_eq!(r.edge_ns(9_500, 9_000), 9_000, "no edge is ahead");
    }

    #[test]
    fn without_a_measured_window_the_measured_counts_are_zero() {
        let mut r = Record::new(0, RecordOptions { service: true, ..RecordOptions::default() });
        r.counts.sent = 5;
        let part = r.part(1_000_000_000, Offered::Rate(10.0));
        assert_eq!((part.measured.sent, part.measured_s, part.offered), (0, 0.0, 0.0));
    }
}
