//! Tests of the engine with a small protocol that has the features of TLS, HTTP/2 and request mixes. These are a
//! handshake, answers in any order, single failures, and pings at any time. The driver is an in-memory wire, to which
//! the tests write directly.

use proto::{Done, Fault, Outcome, Progress, Request, Requester, Which};
use run::{ErrorKind, Intensity, LoadPart, LoadPlan, Phase, ThinkTime};
use sys::Errno;

use super::{Core, State};
use crate::driver::{Completion, Ops, Sent};

/// The protocol begins with a handshake: client `H`, server `h`, client `F`. Requests are `R` id class. Answers are `A`
/// id, `X` id (failed), `U` id (left unprocessed) or `T` id (status 408). The answer to a ping `P` is `p`, and to a
/// close `C` is `c`. An error `E` is reported by `e`. `M` begins an answer, and `B` is a close with a reason.
#[derive(Clone)]
struct TestProtocol {
    mix: proto::Mix,
}

struct TestSession {
    ready: bool,
    leaving: bool,
    answering: bool,
    gave_reason: bool,
    out: Vec<u8>,
}

const GREETING: &[u8] = b"H";

impl proto::Client for TestProtocol {
    type Session = TestSession;

    fn session(&self) -> TestSession {
        TestSession { ready: false, leaving: false, answering: false, gave_reason: false, out: GREETING.to_vec() }
    }

    fn mix(&self) -> &proto::Mix {
        &self.mix
    }

    fn is_idempotent(&self, item: u16) -> bool {
        item == 0
    }
}

impl Requester for TestSession {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn ready(&self) -> bool {
        self.ready
    }

    fn takes_more(&self) -> bool {
        !self.leaving
    }

    fn close_words(&self) -> Option<String> {
        self.gave_reason.then(|| "closed with code 1011".to_owned())
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.answering)
    }

    fn leave(&mut self) {
        self.out.push(b'l');
    }

    fn begin(&mut self, request: Request) {
        assert!(!self.leaving, "no request where the server leaves");
        assert!(self.ready, "no request before the handshake is done");
        self.out.extend([b'R', request.id as u8, request.item as u8]);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.out.len());
        out[..n].copy_from_slice(&self.out[..n]);
        self.out.drain(..n);
        n
    }

    fn wants_transmit(&self) -> bool {
        !self.out.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut end = |id: u8, status, outcome| {
            progress.completed += 1;
            done(Done { which: Which::Id(u16::from(id)), status, outcome, bytes: 0 });
        };
        let mut rest = input;
        while let Some((&kind, after)) = rest.split_first() {
            rest = after;
            match (kind, after.split_first()) {
                (b'h', _) => {
                    self.ready = true;
                    self.out.push(b'F');
                }
                (b'M', _) => self.answering = true,
                (b'B', _) => {
                    self.gave_reason = true;
                    return Ok(Progress { close: true, ..progress });
                }
                (b'P', _) => self.out.push(b'p'),
                (b'E', _) => {
                    self.out.push(b'e');
                    return Err(Fault::Malformed("an end that it is told of"));
                }
                (b'C', _) => {
                    self.out.push(b'c');
                    return Ok(Progress { close: true, ..progress });
                }
                (b'A' | b'X', Some((&id, after))) => {
                    end(id, 0, if kind == b'A' { Outcome::Expected } else { Outcome::Failed(Fault::Short) });
                    rest = after;
                }
                (b'T', Some((&id, after))) => {
                    end(id, 408, Outcome::Unexpected);
                    rest = after;
                }
                (b'U', Some((&id, after))) => {
                    self.leaving = true;
                    end(id, 0, Outcome::Failed(Fault::Unprocessed));
                    rest = after;
                }
                _ => return Err(Fault::Malformed("not of this protocol")),
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {
        (self.ready, self.leaving, self.answering, self.out) = (false, false, false, GREETING.to_vec());
        self.gave_reason = false;
    }
}

/// Connections in memory with a manual clock.
#[derive(Default)]
pub(super) struct MemoryWire {
    pub(super) now_ns: u64,
    writes: Vec<Vec<u8>>,
    /// True if the driver reports a completed send only later.
    acked: bool,
    pub(super) connects: u32,
    pub(super) closes: u32,
    /// Connection of the last connect.
    pub(super) current: u32,
}

impl Ops for MemoryWire {
    fn now(&self) -> u64 {
        self.now_ns
    }

    fn refresh(&mut self) -> u64 {
        self.now_ns
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        self.connects += 1;
        self.current = conn;
        Ok(())
    }

    fn send(&mut self, _conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        let mut buffer = [0; 256];
        let n = fill(&mut buffer);
        self.writes.push(buffer[..n].to_vec());
        Ok(if self.acked { Sent::Pending } else { Sent::All })
    }

    fn send_last(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.send(conn, fill).is_ok()
    }

    fn close(&mut self, _conn: u32) {
        self.closes += 1;
    }
}

pub(super) struct Fixture {
    pub(super) core: Core,
    pub(super) wire: MemoryWire,
}

impl Fixture {
    /// Connects one connection with `pipeline` requests in flight, all measured.
    fn new(pipeline: u32, think_ms: f64, weights: &[f64]) -> Self {
        let think = ThinkTime { mean_ms: think_ms, exponential: false };
        let intensity = Intensity::Closed { connections: 1, pipeline, think };
        let plan = LoadPlan { intensity, ..LoadPlan::default() };
        let mix = proto::Mix { weights: weights.to_vec().into(), ..proto::Mix::ONE.clone() };
        let core = Core::new(crate::share::task(&plan, 0, 0, 1000), &TestProtocol { mix });
        let mut fixture = Self { core, wire: MemoryWire::default() };
        fixture.core.enter(&mut fixture.wire, Phase::Measure, 0);
        fixture.core.start(&mut fixture.wire);
        fixture.core.on(&mut fixture.wire, Completion::Connected { conn: 0 });
        fixture
    }

    /// Connects and completes the handshake; the written bytes are the first requests.
    pub(super) fn ready(pipeline: u32, think_ms: f64, weights: &[f64]) -> Self {
        let mut fixture = Self::new(pipeline, think_ms, weights);
        fixture.hear(b"h");
        assert_eq!(fixture.wire.writes.drain(..2).collect::<Vec<_>>(), [b"H", b"F"]);
        fixture
    }

    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Received { conn, bytes });
    }

    pub(super) fn up(&mut self) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Connected { conn });
    }

    pub(super) fn closed(&mut self, conn: u32) {
        self.core.on(&mut self.wire, Completion::PeerClosed { conn });
    }

    pub(super) fn at_ms(&mut self, ms: u64) {
        self.wire.now_ns = ms * 1_000_000;
        self.core.advance(&mut self.wire);
    }

    pub(super) fn sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.wire.writes)
    }

    pub(super) fn part(mut self) -> LoadPart {
        self.core.finish(&mut self.wire)
    }
}

#[test]
fn a_handshake_precedes_the_first_request_and_does_not_count_as_one() {
    let mut fixture = Fixture::new(1, 0.0, &[1.0]);
    assert_eq!((fixture.sent(), fixture.core.in_flight), (vec![b"H".to_vec()], 0));
    fixture.at_ms(7);
    fixture.hear(b"h");
    assert_eq!(fixture.sent(), [b"F".to_vec(), b"R\0\0".to_vec()]);
    fixture.at_ms(10);
    fixture.hear(b"A\0");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.connected, t.handshakes, t.sent, t.completed), (1, 1, 2, 1));
    assert_eq!((t.handshake_bytes_sent, t.handshake_bytes_received), (2, 1));
    assert_eq!((t.bytes_sent, t.bytes_received), (2 + 3 + 3, 1 + 2));
    assert_eq!((part.histograms["handshake"].len(), part.histograms["response"].len()), (1, 1));
    assert!((part.histograms["handshake"].mean_us() / 7000.0 - 1.0).abs() < 0.01);
    assert!((part.histograms["response"].mean_us() / 3000.0 - 1.0).abs() < 0.01);
}

#[test]
fn a_handshake_that_fails_is_a_failed_connect_and_is_tried_again() {
    for spoil in [
        |b: &mut Fixture| b.hear(b"?"),
        |b: &mut Fixture| b.hear(b"C"),
        |b: &mut Fixture| b.core.on(&mut b.wire, Completion::PeerClosed { conn: 0 }),
        |b: &mut Fixture| b.at_ms(60_000),
    ] {
        let mut fixture = Fixture::new(1, 0.0, &[1.0]);
        spoil(&mut fixture);
        assert_eq!((fixture.core.open, fixture.core.conns[0].state), (0, State::Waiting));
        fixture.at_ms(70_000);
        assert_eq!(fixture.wire.connects, 2);
        let total = fixture.part().total;
        let kinds = [ErrorKind::ConnectFailed, ErrorKind::ConnectTimeout];
        let failed: u64 = kinds.iter().filter_map(|kind| total.errors.0.get(kind)).sum();
        assert_eq!((failed, total.error_count(), total.sent, total.handshakes), (1, 1, 0, 0));
    }
}

#[test]
fn a_failing_connection_announces_its_reason_although_a_request_is_in_flight() {
    for acked in [false, true] {
        let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
        fixture.hear(b"A\0");
        fixture.wire.acked = acked;
        fixture.at_ms(60_000);
        fixture.hear(b"E");
        let sent = fixture.sent();
        assert_eq!((sent.last().unwrap().as_slice(), fixture.wire.closes), (&b"e"[..], 1), "{acked}: {sent:?}");
    }
}

#[test]
fn a_close_is_answered_although_a_request_is_on_its_way() {
    // The first case has a request that will not be answered. The second has no request, and the server closes at once.
    for (heard, ends) in [(&b"C"[..], false), (b"A\0C", true)] {
        let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
        fixture.hear(b"A\0");
        fixture.wire.acked = true;
        fixture.at_ms(60_000);
        fixture.hear(heard);
        if ends {
            fixture.core.on(&mut fixture.wire, Completion::PeerClosed { conn: 0 });
        }
        let sent = fixture.sent();
        assert_eq!((sent.last().unwrap().as_slice(), fixture.wire.closes), (&b"c"[..], 1), "{ends}: {sent:?}");
    }
}

#[test]
fn answers_may_come_in_any_order() {
    let mut fixture = Fixture::ready(3, 1000.0, &[1.0]);
    fixture.at_ms(1);
    fixture.hear(b"A\x02");
    fixture.at_ms(5);
    fixture.hear(b"A\x00A\x01");
    let part = fixture.part();
    assert_eq!((part.total.sent, part.total.completed, part.total.unanswered), (3, 3, 0));
    let times = part.histograms["response"].summary();
    assert!((times.min / 1000.0 - 1.0).abs() < 0.01 && (times.max / 5000.0 - 1.0).abs() < 0.01, "{times:?}");
}

#[test]
fn a_slow_request_holds_up_no_other() {
    let mut fixture = Fixture::ready(2, 0.0, &[1.0]);
    fixture.sent();
    for _ in 0..100 {
        fixture.hear(b"A\x01");
        assert_eq!(fixture.sent(), [b"R\x01\0".to_vec()], "the name is free again at once");
    }
    fixture.at_ms(50);
    fixture.hear(b"A\x00");
    let part = fixture.part();
    assert_eq!((part.total.completed, part.total.unanswered), (101, 2));
    assert!((part.histograms["response"].summary().max / 50_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn one_request_may_fail_alone_and_a_strange_name_is_nothing() {
    let mut fixture = Fixture::ready(2, 1000.0, &[1.0]);
    fixture.hear(b"A\x07X\x01A\x01A\x00");
    let total = fixture.part().total;
    assert_eq!((total.completed, total.unanswered), (1, 0));
    assert_eq!(total.errors.0, [(ErrorKind::ShortResponse, 1)].into());
}

/// The server answers one of three requests and ends the connection. Returns the next connection, ready for requests.
fn left(drains: bool) -> Fixture {
    let mut fixture = Fixture::ready(3, 0.0, &[1.0]);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0R\x02\0".to_vec()]);
    fixture.at_ms(10);
    fixture.hear(b"U\x01U\x02");
    assert!(fixture.sent().is_empty() && fixture.core.in_flight == 1);
    if drains {
        fixture.core.enter(&mut fixture.wire, Phase::Drain, 0);
    }
    fixture.hear(b"A\0C");
    assert_eq!(fixture.sent(), [b"c".to_vec()]);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 0), "no wait for the FIN");
    assert!(fixture.wire.current != 0 && !fixture.core.drained(fixture.wire.now_ns));
    fixture.closed(0);
    assert_eq!((fixture.wire.connects, fixture.wire.closes), (2, 1));
    fixture.up();
    fixture.hear(b"h");
    assert_eq!(fixture.wire.writes.drain(..2).collect::<Vec<_>>(), [b"H", b"F"]);
    fixture
}

#[test]
fn requests_left_by_a_server_are_sent_again_and_count_once() {
    let mut fixture = left(false);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0R\x02\0".to_vec()], "two again, and a new one");
    fixture.at_ms(30);
    fixture.hear(b"A\0A\x01");
    let part = fixture.part();
    let t = &part.total;
    assert_eq!((t.unprocessed, t.completed, t.sent, t.due, t.unanswered), (2, 3, 6, 6, 3));
    assert_eq!((t.error_count(), t.attempted), (0, 2));
    let times = part.histograms["response"].summary();
    assert!((times.max / 30_000.0 - 1.0).abs() < 0.01, "from the intended start: {times:?}");
}

#[test]
fn the_drain_repeats_unprocessed_requests_and_sends_no_others() {
    let mut fixture = left(true);
    assert_eq!(fixture.sent(), [b"R\0\0R\x01\0".to_vec()]);
    fixture.hear(b"A\0A\x01");
    assert!(fixture.core.drained(fixture.wire.now_ns) && fixture.sent().is_empty());
    let t = fixture.part().total;
    assert_eq!((t.unprocessed, t.completed, t.sent, t.unanswered), (2, 3, 3, 0));
}

/// A thread without a CPU misses the edge, so its pending events belong to the next phase.
#[test]
fn entering_a_phase_does_not_move_its_recorded_edge() {
    let mut fixture = Fixture::ready(1, 0.0, &[1.0]);
    fixture.at_ms(10);
    let now = fixture.wire.now();
    fixture.core.edge(Phase::Drain, now, now);
    fixture.at_ms(12);
    fixture.hear(b"A\0");
    fixture.core.enter(&mut fixture.wire, Phase::Drain, now);
    let part = fixture.part();
    assert_eq!((part.measured.completed, part.total.completed), (0, 1));
    assert_eq!((part.measured_at_s + part.measured_s) * 1e9, now as f64, "the window ended before");
}

#[test]
fn control_bytes_are_sent_even_without_requests() {
    let mut fixture = Fixture::ready(1, 1000.0, &[1.0]);
    fixture.sent();
    fixture.hear(b"P");
    assert_eq!(fixture.sent(), [b"p".to_vec()], "a request is under way");
    fixture.hear(b"A\0");
    fixture.hear(b"PP");
    assert_eq!((fixture.sent(), fixture.core.conns[0].state), (vec![b"pp".to_vec()], State::Thinking));
    fixture.core.enter(&mut fixture.wire, Phase::Drain, 0);
    fixture.hear(b"P");
    assert_eq!(fixture.sent(), [b"p".to_vec()], "the drain is no silence");
    let total = fixture.part().total;
    assert_eq!((total.sent, total.completed), (1, 1));
}

#[test]
fn classes_are_drawn_told_and_counted_apart() {
    let mut fixture = Fixture::ready(8, 0.0, &[1.0, 3.0]);
    let mut asked = [0_u64; 2];
    for _ in 0..500 {
        for request in fixture.sent().concat().chunks(3).filter(|r| r[0] == b'R') {
            asked[usize::from(request[2])] += 1;
            fixture.hear(&[if request[2] == 1 { b'A' } else { b'X' }, request[1]]);
        }
    }
    fixture.hear(b"?");
    let part = fixture.part();
    let class_counts = |i: usize| part.classes[i].total;
    assert_eq!(part.classes.len(), 2);
    assert!(asked[0] > 500 && (2.6..3.4).contains(&(asked[1] as f64 / asked[0] as f64)), "{asked:?}");
    assert_eq!(class_counts(0).begun + class_counts(1).begun, asked[0] + asked[1] + 8);
    assert_eq!((class_counts(0).completed, class_counts(1).completed), (0, asked[1]));
    assert_eq!(
        class_counts(0).failed + class_counts(1).failed,
        asked[0] + 8,
        "those that failed alone, and those lost with the connection"
    );
    assert_eq!((part.total.completed, part.classes[1].response.len()), (asked[1], asked[1]));
    assert!(Fixture::ready(1, 0.0, &[1.0]).part().classes.is_empty());
}
