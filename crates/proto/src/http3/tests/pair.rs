//! A client and loadline's own server, with a simulated network that carries datagrams in both directions.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use run::{HttpPlan, Protocol, TlsPlan};

use crate::http1::{Page, Site};
use crate::http3::{ClientPlan, ClientSession, SPEC, ServerPlan, ServerShard};
use crate::pace::Pace;
use crate::tls::{self_signed, server_config};
use crate::{Client, Done, Fault, Outcome, Progress, Request, Requester, Which};

/// Travel time of a datagram, nanoseconds.
pub(super) const DELAY_NS: u64 = 1_000_000;

pub(super) struct Pages {
    pub(super) page: Arc<Page>,
    /// Number of further requests that the server answers with status 425.
    pub(super) too_early: AtomicU32,
    /// Times at which the lines of the page are sent, nanoseconds of virtual time; empty if they are sent at once.
    pub(super) line_times_ns: Vec<u64>,
}

thread_local! {
    /// Virtual time of the pair that this thread runs, nanoseconds.
    static VIRTUAL_NS: Cell<u64> = const { Cell::new(0) };
}

impl Pages {
    pub(super) fn of(page: Arc<Page>) -> Self {
        Self { page, too_early: AtomicU32::new(0), line_times_ns: Vec::new() }
    }
}

impl Site for Pages {
    fn now_s(&self) -> u64 {
        784_111_777
    }

    fn find(&self, _: &str, path: &str) -> Arc<Page> {
        let left = self.too_early.load(Ordering::Relaxed);
        self.too_early.store(left.saturating_sub(1), Ordering::Relaxed);
        match path {
            _ if left > 0 => self.plain(425),
            "/missing" => self.plain(404),
            _ => self.page.clone(),
        }
    }

    fn plain(&self, status: u16) -> Arc<Page> {
        Page::plain(status, "")
    }

    fn pace(&self) -> Option<Pace> {
        let line_bytes = self.page.body().len().checked_div(self.line_times_ns.len())?;
        Some(Pace::new(self.line_times_ns.clone(), line_bytes, || VIRTUAL_NS.get()))
    }
}

/// Datagrams in transit in one direction, each with its time of arrival.
#[derive(Default)]
struct Way(VecDeque<(u64, Vec<u8>)>);

impl Way {
    fn take(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let arrived = self.0.front().is_some_and(|(at_ns, _)| *at_ns <= now_ns);
        if arrived { self.0.pop_front().map(|(_, bytes)| bytes) } else { None }
    }
}

/// A client, a server, and the datagrams in transit between them.
pub(super) struct Pair {
    pub(super) client: ClientSession,
    pub(super) server: ServerShard<Pages>,
    up: Way,
    down: Way,
    pub(super) now_ns: u64,
    /// On average, one in `lost_of` datagrams is lost; 0 if none is lost.
    pub(super) lost_of: u32,
    pub(super) rng: fastrand::Rng,
    pub(super) done: Vec<Done>,
    pub(super) fault: Option<Fault>,
    pub(super) progress: Progress,
}

pub(super) fn client_of(http: HttpPlan, tls: &TlsPlan) -> ClientPlan {
    crate::quic::client(tls, SPEC, ClientPlan::with_set(&Protocol::Http3(http), None).unwrap()).unwrap()
}

pub(super) fn insecure() -> TlsPlan {
    TlsPlan { insecure: true, server_name: "localhost".into(), ..TlsPlan::default() }
}

impl Pair {
    pub(super) fn with(client: ClientSession, body_bytes: usize, streams: u32) -> Self {
        let page = Page::new(200, "text/plain", "", vec![b'x'; body_bytes]);
        Self::of_pages(client, Pages::of(page), streams)
    }

    pub(super) fn of_pages(client: ClientSession, pages: Pages, streams: u32) -> Self {
        let (chain, key) = self_signed(&["localhost"]).unwrap();
        let config = server_config(chain.as_bytes(), key.as_bytes(), &["h3"]).unwrap();
        let plan = ServerPlan::new(config, streams).unwrap();
        Self {
            client,
            server: ServerShard::new(&plan, Arc::new(pages)),
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

    pub(super) fn new(http: HttpPlan, body_bytes: usize) -> Self {
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
    pub(super) fn send(&mut self) {
        VIRTUAL_NS.set(self.now_ns);
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

    /// Runs the simulation until `until` returns true. Panics after 30 virtual seconds.
    pub(super) fn run(&mut self, until: impl Fn(&Self) -> bool) {
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
    pub(super) fn requests(&mut self, count: usize, at_once: usize) -> Vec<Done> {
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

pub(super) fn ended(id: u16, status: u16, outcome: Outcome, bytes: u64) -> Done {
    Done { which: Which::Id(id), status, outcome, bytes, events: 0 }
}
