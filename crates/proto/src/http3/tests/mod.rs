//! Client and server against each other, in virtual time and without a network. Datagrams may be lost.

mod odd_answers;
mod odd_endings;
mod odd_server;
mod odd_streams;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use run::{HttpPlan, Protocol, TlsPlan};

use super::{ClientSession, ServerPlan, ServerShard};
use crate::http1::{Page, Site};
use crate::tls::{self_signed, server_config};
use crate::{Client, Done, Fault, Outcome, Progress, Request, Requester, Which};

/// Travel time of a datagram, nanoseconds.
const DELAY_NS: u64 = 1_000_000;

struct Pages(Arc<Page>);

impl Site for Pages {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, _: &str, path: &str) -> Arc<Page> {
        if path == "/missing" { self.plain(404) } else { self.0.clone() }
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }
}

/// Datagrams on their way, each with its time of arrival.
#[derive(Default)]
struct Way(VecDeque<(u64, Vec<u8>)>);

impl Way {
    fn take(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let arrived = self.0.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns);
        if arrived { self.0.pop_front().map(|(_, bytes)| bytes) } else { None }
    }
}

/// A client, a server, and the two ways between them.
struct Pair {
    client: ClientSession,
    server: ServerShard<Pages>,
    up: Way,
    down: Way,
    now_ns: u64,
    /// The share of datagrams that is lost: one of this many; 0 for none.
    lost_of: u32,
    rng: fastrand::Rng,
    done: Vec<Done>,
    fault: Option<Fault>,
    progress: Progress,
}

fn client_of(http: HttpPlan, tls: &TlsPlan) -> super::ClientPlan {
    crate::quic::client(tls, super::SPEC, super::ClientPlan::with_set(&Protocol::Http3(http), None).unwrap()).unwrap()
}

fn insecure() -> TlsPlan {
    TlsPlan { insecure: true, server_name: "localhost".into(), ..TlsPlan::default() }
}

impl Pair {
    fn with(client: ClientSession, body_bytes: usize, streams: u32) -> Self {
        let (chain, key) = self_signed(&["localhost"]).unwrap();
        let config = server_config(chain.as_bytes(), key.as_bytes(), &["h3"]).unwrap();
        let page = Page::new(200, "text/plain", "", vec![b'x'; body_bytes]);
        let plan = ServerPlan::new(config, streams).unwrap();
        Self {
            client,
            server: ServerShard::new(&plan, Arc::new(Pages(page))),
            up: Way::default(),
            down: Way::default(),
            now_ns: 1_000_000_000,
            lost_of: 0,
            rng: fastrand::Rng::with_seed(1),
            done: Vec::new(),
            fault: None,
            progress: Progress::default(),
        }
    }

    fn new(http: HttpPlan, body_bytes: usize) -> Self {
        Self::with(client_of(http, &insecure()).session(), body_bytes, 100)
    }

    fn survives(&mut self) -> bool {
        self.lost_of == 0 || self.rng.u32(0..self.lost_of) > 0
    }

    fn receive(&mut self, bytes: &[u8]) {
        let done = &mut self.done;
        self.client.expect_datagrams(bytes.len());
        match self.client.receive(bytes, &mut |ended| done.push(ended)) {
            Ok(progress) => self.progress.merge(progress),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// Sends what both sides have to send.
    fn send(&mut self) {
        self.client.tick(self.now_ns);
        let mut piece = vec![0; 16 * 1024];
        while self.client.wants_transmit() {
            let count = self.client.transmit(&mut piece);
            for datagram in piece[..count].chunks(1200) {
                if self.survives() {
                    self.up.0.push_back((self.now_ns + DELAY_NS, datagram.to_vec()));
                }
            }
        }
        let (now_ns, mut sent) = (self.now_ns, Vec::new());
        let all = self.server.send(now_ns, &mut |bytes, size, _| {
            sent.extend(bytes.chunks(size).map(<[u8]>::to_vec));
            true
        });
        assert!(all);
        for datagram in sent {
            if self.survives() {
                self.down.0.push_back((now_ns + DELAY_NS, datagram));
            }
        }
    }

    /// Runs until `until` holds. Panics after 30 virtual seconds.
    fn run(&mut self, until: impl Fn(&Self) -> bool) {
        let (from, end_ns): (SocketAddr, u64) = ("10.0.0.1:4433".parse().unwrap(), self.now_ns + 30_000_000_000);
        while !until(self) {
            assert!(self.now_ns < end_ns, "nothing more happens: {:?} {:?}", self.done.len(), self.fault);
            self.send();
            if until(self) {
                return;
            }
            let arrivals = [self.up.0.front(), self.down.0.front()].into_iter().flatten().map(|(at_ns, _)| *at_ns);
            let timers = [self.client.due_ns(), self.server.due_ns()].into_iter().flatten();
            let next_ns = arrivals.chain(timers).min().unwrap_or(end_ns);
            self.now_ns = next_ns.max(self.now_ns + 1);
            while let Some(bytes) = self.up.take(self.now_ns) {
                self.server.receive(self.now_ns, from, &bytes, bytes.len(), &mut || ());
            }
            self.server.tick(self.now_ns, &mut || ());
            self.client.tick(self.now_ns);
            while let Some(bytes) = self.down.take(self.now_ns) {
                self.receive(&bytes);
            }
            self.receive(&[]);
        }
    }

    /// Sends `count` requests, at most `at_once` at a time, and returns how they ended.
    fn requests(&mut self, count: usize, at_once: usize) -> Vec<Done> {
        self.run(|pair| pair.client.ready() || pair.fault.is_some());
        let mut begun = 0;
        while self.done.len() < count && self.fault.is_none() {
            while begun < count && begun < self.done.len() + at_once {
                self.client.begin(Request { id: begun as u16, ..Request::default() });
                begun += 1;
            }
            let before = self.done.len();
            self.run(|pair| pair.done.len() > before || pair.fault.is_some());
        }
        std::mem::take(&mut self.done)
    }
}

fn ended(id: u16, status: u16, outcome: Outcome, bytes: u64) -> Done {
    Done { which: Which::Id(id), status, outcome, bytes, events: 0 }
}

#[test]
fn each_request_gets_its_answer() {
    let mut pair = Pair::new(HttpPlan::default(), 1294);
    let mut done = pair.requests(200, 10);
    done.sort_by_key(|done| match done.which {
        Which::Id(id) => id,
        Which::Oldest => u16::MAX,
    });
    assert_eq!(done, (0..200).map(|id| ended(id, 200, Outcome::Expected, 1294)).collect::<Vec<_>>());
    assert_eq!(pair.server.take_counts().requests, 200);
    assert!(pair.client.plain().unwrap().starts_with(b"HTTP/3 200\r\n\r\nxxx"));
}

#[test]
fn lost_datagrams_are_sent_again() {
    let mut pair = Pair::new(HttpPlan::default(), 20_000);
    pair.lost_of = 10;
    let done = pair.requests(50, 5);
    assert!(done.len() == 50 && done.iter().all(|d| d.outcome == Outcome::Expected && d.bytes == 20_000), "{done:?}");
    let path = pair.client.quic_path().unwrap();
    assert!(path.lost_packets > 0 && path.lost_packets < path.sent_packets / 2, "{path:?}");
    // A datagram takes 1 ms each way, and an acknowledgement may be up to 25 ms late.
    assert!((1_990.0..2_500.0).contains(&path.min_rtt_us) && path.rtt_us < 60_000.0, "{path:?}");
}

#[test]
fn bodies_larger_than_every_window_arrive_in_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("body");
    std::fs::write(&file, vec![b'b'; 9 << 20]).unwrap();
    let body_file = Some(file.display().to_string());
    let mut pair = Pair::new(HttpPlan { method: "POST".into(), body_file, ..HttpPlan::default() }, 20 << 20);
    let done = pair.requests(1, 1);
    assert_eq!(done, [ended(0, 200, Outcome::Expected, 20 << 20)]);
    assert_eq!(pair.server.take_counts().requests, 1);
}

#[test]
fn requests_wait_for_the_streams_that_the_server_permits() {
    let mut pair = Pair::with(client_of(HttpPlan::default(), &insecure()).session(), 10, 2);
    assert_eq!(pair.requests(20, 20).len(), 20);
}

#[test]
fn an_unexpected_status_and_a_head_request_are_told() {
    let mut pair = Pair::new(HttpPlan { path: "/missing".into(), ..HttpPlan::default() }, 1);
    let done = pair.requests(1, 1);
    assert_eq!((done[0].status, done[0].outcome), (404, Outcome::Unexpected));
    let mut pair = Pair::new(HttpPlan { method: "HEAD".into(), ..HttpPlan::default() }, 500);
    assert_eq!(pair.requests(1, 1), [ended(0, 200, Outcome::Expected, 0)]);
}

#[test]
fn an_untrusted_certificate_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, self_signed(&["other"]).unwrap().0).unwrap();
    let ca_file = Some(file.display().to_string());
    let tls = TlsPlan { ca_file, server_name: "localhost".into(), ..TlsPlan::default() };
    let mut pair = Pair::with(client_of(HttpPlan::default(), &tls).session(), 1, 10);
    assert!(pair.requests(1, 1).is_empty() && pair.fault.is_some());
    let why = pair.client.explain().unwrap();
    assert!(why.contains("certificate") && why.contains("--insecure"), "{why}");
}

#[test]
fn a_second_connection_resumes_the_session_of_the_first() {
    let plan = client_of(HttpPlan::default(), &TlsPlan { resume: 1.0, ..insecure() });
    let mut pair = Pair::with(plan.session(), 10, 10);
    for resumed in [false, true] {
        assert_eq!(pair.requests(3, 1).len(), 3);
        assert_eq!(pair.client.resumed(), resumed);
        pair.client.leave();
        pair.send();
        pair.client = plan.session();
        (pair.fault, pair.progress) = (None, Progress::default());
    }
}

#[test]
fn the_end_of_the_server_is_told_with_its_code() {
    let mut pair = Pair::new(HttpPlan::default(), 10);
    assert_eq!(pair.requests(1, 1).len(), 1);
    pair.server.stop(pair.now_ns);
    pair.run(|pair| pair.progress.close);
    assert_eq!(pair.fault, None, "no request was in flight");
    assert!(pair.client.close_words().unwrap().contains("H3_NO_ERROR (0x100)"));
    let mut pair = Pair::new(HttpPlan::default(), 10);
    assert_eq!(pair.requests(1, 1).len(), 1);
    pair.client.begin(Request::default());
    pair.server.stop(pair.now_ns);
    pair.run(|pair| pair.fault.is_some());
    assert_eq!(pair.fault, Some(Fault::Short));
}

#[test]
fn without_settings_of_tls_the_reason_is_told() {
    let mut session = super::ClientPlan::with_set(&Protocol::Http3(HttpPlan::default()), None).unwrap().session();
    session.tick(1);
    assert!(!session.wants_transmit() && session.explain().unwrap().contains("h3://"));
}
