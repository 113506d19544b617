//! An exchange of a client with an odd server. Datagrams arrive at once, and none is lost.

use bytes::Bytes;
use quinn_proto::{StreamId, VarInt};
use run::HttpPlan;

use super::odd_server::{OddServer, framed};
use super::pair::{client_of, insecure};
use crate::http3::{ClientSession, frame};
use crate::quic::instant;
use crate::{Client, Done, Fault, Progress, Request, Requester};

/// Time at which an exchange begins, nanoseconds.
const BEGIN_NS: u64 = 1_000_000_000;

/// A client, and the odd server that it talks to.
pub(super) struct Exchange {
    pub(super) client: ClientSession,
    pub(super) server: OddServer,
    pub(super) now_ns: u64,
    pub(super) done: Vec<Done>,
    pub(super) fault: Option<Fault>,
    pub(super) progress: Progress,
}

impl Exchange {
    /// Creates a client for requests with the settings `http`, and a server that has no connection yet.
    pub(super) fn before_handshake(http: HttpPlan) -> Self {
        let client = client_of(http, &insecure()).session();
        let (server, progress) = (OddServer::speaking("h3"), Progress::default());
        Self { client, server, now_ns: BEGIN_NS, done: Vec::new(), fault: None, progress }
    }

    /// Completes the handshake. After this call, the server has no control stream.
    pub(super) fn without_control_stream() -> Self {
        let mut exchange = Self::before_handshake(HttpPlan::default());
        exchange.settle();
        assert!(exchange.client.ready() && exchange.fault.is_none());
        exchange
    }

    /// Completes the handshake, and opens the server's control stream with empty settings. Also returns this control
    /// stream.
    pub(super) fn with(http: HttpPlan) -> (Self, StreamId) {
        let mut exchange = Self::before_handshake(http);
        exchange.settle();
        let control =
            exchange.server.open(&[&[frame::CONTROL_STREAM as u8], &framed(frame::SETTINGS, b"")[..]].concat());
        exchange.settle();
        assert!(exchange.client.ready() && exchange.fault.is_none());
        (exchange, control)
    }

    /// Does what [`Exchange::with`] does, and then sends `count` requests with the IDs 0, 1, …
    pub(super) fn of_requests(count: u16) -> (Self, StreamId) {
        let (mut exchange, control) = Self::with(HttpPlan::default());
        (0..count).for_each(|id| exchange.begin(id));
        assert_eq!(exchange.server.requests.len(), usize::from(count));
        (exchange, control)
    }

    /// Sends a request of the client.
    pub(super) fn begin(&mut self, id: u16) {
        self.client.begin(Request { id, ..Request::default() });
        self.settle();
    }

    fn receive(&mut self, datagram: &[u8]) {
        let done = &mut self.done;
        self.client.expect_datagrams(datagram.len());
        match self.client.receive(datagram, &mut |ended| done.push(ended)) {
            Ok(progress) => self.progress.merge(progress),
            Err(fault) => {
                self.fault.get_or_insert(fault);
            }
        }
    }

    /// Returns the streams that the client reset, in the order of their IDs, each with the client's error code. Before
    /// it collects the resets, this function reads all requests that were not read yet.
    pub(super) fn reset(&mut self) -> Vec<(StreamId, u64)> {
        self.server.read_requests();
        self.server.reset.sort_unstable();
        self.server.reset.clone()
    }

    /// Returns the streams that the client stopped reading, in the order of their IDs, each with the client's error
    /// code.
    pub(super) fn stopped(&mut self) -> Vec<(StreamId, u64)> {
        self.server.stopped.sort_unstable();
        self.server.stopped.clone()
    }

    /// Exchanges datagrams until neither side has one to send.
    pub(super) fn settle(&mut self) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let mut is_silent = true;
            self.client.tick(self.now_ns);
            while self.client.wants_transmit() {
                let count = self.client.transmit(&mut buffer);
                if count == 0 {
                    break;
                }
                is_silent = false;
                let now = instant(self.now_ns);
                buffer[..count].chunks(1200).for_each(|datagram| self.server.receive(now, datagram));
            }
            while let Some(datagram) = self.server.transmit(instant(self.now_ns)) {
                is_silent = false;
                self.receive(&datagram);
            }
            if is_silent {
                return;
            }
        }
    }

    /// Lets the server close the connection.
    pub(super) fn close(&mut self, code: u64, reason: &[u8]) {
        let (now, code) = (instant(self.now_ns), VarInt::from_u64(code).unwrap());
        self.server.connection().close(now, code, Bytes::copy_from_slice(reason));
        self.settle();
    }
}

/// Runs `act` and exchanges datagrams. Returns the fault of the client, and the error code with which the client closes
/// the connection. The client has one request in flight. The second argument of `act` is the server's control stream.
pub(super) fn refusal(act: impl FnOnce(&mut OddServer, StreamId)) -> (String, u64) {
    let (mut exchange, control) = Exchange::of_requests(1);
    act(&mut exchange.server, control);
    exchange.settle();
    let fault = exchange.fault.map(|fault| fault.to_string()).unwrap_or_default();
    assert!(exchange.done.is_empty(), "{:?} {fault}", exchange.done);
    (fault, exchange.server.client_code().unwrap_or_default())
}

/// Writes a file of 3 MiB, which is more than the server takes before it reads, and returns its path.
pub(super) fn large_body_file(dir: &tempfile::TempDir) -> Option<String> {
    let file = dir.path().join("body");
    std::fs::write(&file, vec![b'b'; 3 << 20]).unwrap();
    Some(file.display().to_string())
}
