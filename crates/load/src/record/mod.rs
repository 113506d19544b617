//! Counts and times of one shard (generator thread). Counts cover the whole load. Histograms, and the integral of
//! requests in flight over time, cover only the measured window.

mod closes;
mod edge_ages;
mod ended;
mod failed_pieces;
mod part;
mod pieces;
mod streams;
mod unanswered;
mod window;

use proto::Fault;
use run::{CoarseHist, ConnectionOpening, ErrorKind, Hist, UnansweredTimes};

use self::edge_ages::EdgeAges;
use self::failed_pieces::FailedPieces;
use self::pieces::PieceTimes;
pub(crate) use self::streams::StreamRecord;
use crate::addresses::Addresses;
use crate::answers_before_close::AnswersBeforeClose;
use crate::classes::Classes;
use crate::core::InFlightRequest;
use crate::counts::Counts;
use crate::early_races::EarlyTimes;
pub(crate) use crate::early_races::Race;
use crate::first_failures::FirstFailures;
use crate::server_ends::ServerEnds;
use crate::slot_times::SlotTimes;
use crate::tenths::TenthCounter;
use crate::thread_stalls::ThreadStalls;
use crate::traces::SlowTraces;
pub(crate) use part::Offered;

/// Choice of the optional parts that are recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordOptions {
    /// True to record service times from the beginning of the load. Requests with due times need service times, because
    /// their response times include the wait before the send.
    pub(crate) service: bool,
    /// True to record the times of handshakes.
    pub(crate) handshake: bool,
    /// Number of request classes.
    pub(crate) classes: usize,
    /// Number of addresses of the server.
    pub(crate) addresses: usize,
}

/// Returns the kind of failure that a fault of the protocol counts as.
pub(crate) fn kind_of(fault: Fault) -> ErrorKind {
    match fault {
        Fault::Malformed(_) | Fault::Unasked(_) | Fault::Limit(_) => ErrorKind::Malformed,
        Fault::WrongBody(_) => ErrorKind::WrongBody,
        Fault::Short | Fault::BehindClose => ErrorKind::ShortResponse,
        Fault::StreamReset => ErrorKind::StreamReset,
        Fault::StreamRefused | Fault::ConnectionRefused | Fault::Unprocessed => ErrorKind::StreamRefused,
        Fault::Moved | Fault::Asked => ErrorKind::Other,
    }
}

/// Everything that one shard (generator thread) records.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) counts: Counts,
    pub(crate) measuring: bool,
    /// Number of response times since the start of the load, in buckets; for the live view.
    pub(crate) coarse: Box<[u64; CoarseHist::BUCKETS]>,
    /// Number of failed requests since the start of the load, in buckets of the time until the failure; for the live
    /// view.
    pub(crate) coarse_unanswered: Box<[u64; CoarseHist::BUCKETS]>,
    /// Time until the last byte of the answer. In an open loop, the response time starts when the request is due. In a
    /// closed loop, the response time starts with the send. If the request's client had to connect again first, the
    /// response time starts with that connect.
    pub(crate) response: Hist,
    /// Time from the send of a request to the last byte of its answer. `None` if the service time would equal
    /// `response`.
    pub(crate) service: Option<Hist>,
    /// Times of the answers in `response` that arrived in several pieces.
    pieces: PieceTimes,
    /// Times of requests that failed or were refused after the first byte of their answer had arrived. `None` if there
    /// were no such requests.
    failed_pieces: Option<Box<FailedPieces>>,
    /// Time from the intended start of a request until the request was sent, for each request that waited for a
    /// connection.
    pub(crate) blocked: Hist,
    /// Times from the intended start of a request until the request was sent. Contains only requests of an open loop
    /// that found a connection at once.
    pub(crate) on_time: Hist,
    pub(crate) start_error: Hist,
    pub(crate) connect: Hist,
    /// Time until the failure, for each request that failed within the measured window.
    unanswered: Hist,
    /// Time until the answer, for each answer with an unexpected status. The times of unexpected answers do not count
    /// as response times.
    refused: Hist,
    /// Age at the end of the measured window, for each request that is unanswered at that moment.
    under_way: Hist,
    /// Age at the start of the measured window, for each request that was in flight at that moment. Each request in
    /// `carried_in` ended within the measured window, or is also in `under_way`.
    carried_in: Hist,
    /// Ages of the requests that were in flight during the whole window and never answered. `None` if no request was in
    /// flight during the whole window.
    hung: Option<Box<EdgeAges>>,
    /// Ages of the requests whose first byte had arrived when the measured window began or ended. After the first byte
    /// has arrived, a request's time to the first byte is known. `None` if there are no ages to store.
    begun: Option<Box<EdgeAges>>,
    /// Ages of the requests that are in both `hung` and `begun`. `None` if no age is in both.
    hung_begun: Option<Box<EdgeAges>>,
    /// Times of unanswered requests, measured from their send.
    service_unanswered: UnansweredTimes,
    /// Time from the establishment of a connection until it is ready for requests. `None` if the protocol has no
    /// handshake.
    pub(crate) handshake: Option<Hist>,
    /// Handshake times of resumed sessions. `None` if the protocol has no handshake.
    pub(crate) handshake_resumed: Option<Hist>,
    /// Smallest limit on concurrent requests per connection that the server has announced.
    pub(crate) stream_limit: Option<u32>,
    /// Statistics of the network paths of QUIC connections that have ended.
    pub(crate) quic: Option<run::QuicPaths>,
    /// Shortest idle time after which the server closed a connection.
    shortest_idle_ns: Option<u64>,
    /// Number of connections that the server closed without reading the requests in flight on them.
    pub(crate) unread_closes: u64,
    answers_before_close: AnswersBeforeClose,
    /// Number of answers after which connections in use ended, if nothing has proved so far that the server closes
    /// after this number. `None` without such connections.
    busy_answers: Option<u64>,
    /// Times of early races in the measured window; `None` if there were none.
    early_times: Option<Box<EarlyTimes>>,
    /// Number of answers after which the server closes idle connections, if this number is always the same.
    answers_before_idle_close: AnswersBeforeClose,
    server_ends: ServerEnds,
    first_failures: FirstFailures,
    /// Records for each request class. Empty if the load plan has only one request class.
    classes: Classes,
    /// Record of the streams of events; `None` if the answers are not streams.
    streams: Option<Box<StreamRecord>>,
    /// True if requests that end are also recorded by request class, by address or as streams.
    has_details: bool,
    /// Records for each address of the server. Empty if the server has only one address.
    pub(crate) addresses: Addresses,
    slow_traces: SlowTraces,
    tenths: TenthCounter,
    slot_times: SlotTimes,
    /// Maximum number of open connections, and the time at which it was reached, nanoseconds.
    most_open: (u64, u64),
    /// Stalls of this generator thread. `None` if the load plan does not ask for counts in each tenth of a second.
    pub(crate) held_up: Option<ThreadStalls>,
    origin_ns: u64,
    begin: Edge,
    end: Option<Edge>,
    in_flight_ns: u128,
    seen_ns: u64,
}

/// State at the start or at the end of the measured window.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    at_ns: u64,
    counts: Counts,
    cpu_us: (f64, f64),
}

impl Record {
    /// Creates the empty record of a load that starts at `origin_ns`.
    pub(crate) fn new(origin_ns: u64, keeps: RecordOptions) -> Self {
        let classes = Classes::new(keeps.classes);
        Self {
            counts: Counts::default(),
            measuring: false,
            coarse: Box::new([0; CoarseHist::BUCKETS]),
            coarse_unanswered: Box::new([0; CoarseHist::BUCKETS]),
            response: Hist::new(),
            service: keeps.service.then(Hist::new),
            pieces: PieceTimes::new(keeps.service),
            failed_pieces: None,
            blocked: Hist::new(),
            start_error: Hist::new(),
            on_time: Hist::new(),
            connect: Hist::new(),
            unanswered: Hist::new(),
            refused: Hist::new(),
            under_way: Hist::new(),
            carried_in: Hist::new(),
            hung: None,
            begun: None,
            hung_begun: None,
            service_unanswered: UnansweredTimes::default(),
            handshake: keeps.handshake.then(Hist::new),
            handshake_resumed: keeps.handshake.then(Hist::new),
            stream_limit: None,
            quic: None,
            shortest_idle_ns: None,
            unread_closes: 0,
            answers_before_close: AnswersBeforeClose::default(),
            answers_before_idle_close: AnswersBeforeClose::default(),
            busy_answers: None,
            early_times: None,
            server_ends: ServerEnds::default(),
            first_failures: FirstFailures::default(),
            has_details: !classes.is_empty() || keeps.addresses > 1,
            classes,
            addresses: Addresses::new(keeps.addresses),
            slow_traces: SlowTraces::default(),
            streams: None,
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

    /// Sets the start of the load to `origin_ns`. Nothing may be recorded before this call.
    pub(crate) fn begin_at(&mut self, origin_ns: u64) {
        (self.origin_ns, self.begin.at_ns, self.seen_ns) = (origin_ns, origin_ns, origin_ns);
    }

    /// Sets the counter for each tenth of a second.
    pub(crate) fn in_tenths(&mut self, counter: TenthCounter) {
        self.held_up = counter.counts().then(ThreadStalls::new);
        self.tenths = counter;
    }

    /// Sets the record of streams of events.
    pub(crate) fn as_streams(&mut self, streams: StreamRecord) {
        self.streams = Some(Box::new(streams));
        self.has_details = true;
    }

    /// From now on, records service times separately from response times. If service times were not recorded separately
    /// until now, all of them equal the response times.
    pub(crate) fn record_service(&mut self) {
        if self.service.is_none() {
            self.service = Some(self.response.clone());
            self.pieces.record_service();
        }
    }

    /// Records events of an answer that is not yet complete. Returns true if there were any events and the answers are
    /// streams.
    pub(crate) fn events(&mut self, now_ns: u64, conn: u32, request: &InFlightRequest, events: u32) -> bool {
        let streams = self.streams.as_mut().filter(|_| events > 0);
        streams.map(|streams| streams.events(now_ns, conn, request, events)).is_some()
    }

    /// From now on, `times` also counts the response times of each slot (short period) of an experiment.
    pub(crate) fn in_slots(&mut self, times: SlotTimes) {
        self.slot_times = times;
    }

    /// Records that a connection was established. `open` is the number of open connections, including this one.
    #[inline]
    pub(crate) fn connected(&mut self, now_ns: u64, open: u64) {
        self.counts.connected += 1;
        if open > self.most_open.0 {
            self.most_open = (open, now_ns);
        }
    }

    /// Returns the maximum number of open connections, and the time at which it was reached.
    pub(crate) fn opened(&self) -> ConnectionOpening {
        let (connections, at_ns) = self.most_open;
        ConnectionOpening { connections, at_s: at_ns.saturating_sub(self.origin_ns) as f64 / 1e9 }
    }

    /// Records a started request of one request class, on a connection to an address.
    #[inline]
    pub(crate) fn begun(&mut self, class: u16, address: u16) {
        self.classes.begun(class);
        self.addresses.begun(address);
    }
}

#[cfg(test)]
mod tests;
