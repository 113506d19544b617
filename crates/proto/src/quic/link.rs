//! Client side of one QUIC connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::{Connection, ConnectionHandle, DatagramEvent, Endpoint, VarInt};

use run::QuicPaths;

use super::output::Output;
use super::{CLIENT_DATAGRAM_BYTES, monotonic_ns};
use crate::tls::{CertificateCheck, take_check, take_new_ticket};

/// Address that quinn-proto gets instead of the server's address. The socket is connected, so quinn-proto need not know
/// where a datagram goes.
pub(super) const PLACEHOLDER_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
/// Maximum number of datagrams that one system call sends. All datagrams of one call together fit into the smallest
/// send buffer of the drivers, 16 KiB.
const MAX_GROUP: usize = 13;

/// Client side of one QUIC connection, with its waiting datagrams.
pub(crate) struct Link {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    pub(crate) connection: Connection,
    output: Output,
    /// Buffer that quinn-proto requires for answers of the endpoint itself, although a client's endpoint sends no such
    /// answers.
    unused: Vec<u8>,
    due: Option<Instant>,
    /// Result of the check of the server's certificate; absent before the check, and in a resumed handshake, which has
    /// no check.
    pub(crate) certificate: Option<CertificateCheck>,
    /// True if the server has sent a ticket for resuming its session.
    pub(crate) has_ticket: bool,
}

impl Link {
    pub(super) fn new(endpoint: Endpoint, handle: ConnectionHandle, connection: Connection) -> Self {
        Self {
            endpoint,
            handle,
            connection,
            output: Output::default(),
            unused: Vec::new(),
            due: None,
            certificate: None,
            has_ticket: false,
        }
    }

    /// Reads datagrams of `datagram_bytes` bytes each; the last one may be shorter.
    pub(crate) fn receive(&mut self, now: Instant, input: &[u8], datagram_bytes: usize) {
        let mut rest = BytesMut::from(input);
        while !rest.is_empty() {
            let datagram = rest.split_to(rest.len().min(datagram_bytes.max(1)));
            let event = self.endpoint.handle(now, PLACEHOLDER_ADDRESS, None, None, datagram, &mut self.unused);
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.connection.handle_event(event);
            }
        }
        if self.connection.is_handshaking() || self.certificate.is_none() {
            self.certificate = self.certificate.take().or_else(take_check);
        }
        self.has_ticket |= take_new_ticket();
        self.settle();
    }

    /// Handles the timers that are due.
    pub(crate) fn tick(&mut self, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
            self.settle();
        }
    }

    /// Passes events between the connection and its endpoint.
    fn settle(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
    }

    /// Prepares the next datagrams. Returns true if any datagram waits to be sent.
    pub(crate) fn fill(&mut self, now: Instant) -> bool {
        let waits = self.output.fill(&mut self.connection, now, MAX_GROUP);
        self.due = self.connection.poll_timeout();
        waits
    }

    /// Returns true if a datagram waits to be sent.
    pub(crate) fn wants_transmit(&self) -> bool {
        self.output.is_waiting()
    }

    /// Copies the datagrams that one system call can send, and prepares the next ones.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut [u8]) -> usize {
        let bytes = self.output.cut(usize::from(CLIENT_DATAGRAM_BYTES), out.len());
        let count = bytes.len();
        // Callers must provide space for at least one datagram. If `out` were too short, the datagram would be dropped,
        // as if the network had lost it.
        let copied = out.get_mut(..count).map_or(0, |out| {
            out.copy_from_slice(bytes);
            count
        });
        self.output.sent(count);
        self.fill(now);
        copied
    }

    /// Returns the time of the next timer, nanoseconds of the caller's clock.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due.map(monotonic_ns)
    }

    /// Returns the path statistics so far: round-trip times, congestion window, and lost packets.
    pub(crate) fn path(&self) -> QuicPaths {
        let path = self.connection.stats().path;
        QuicPaths {
            connections: 1,
            rtt_us: path.rtt.as_secs_f64() * 1e6,
            min_rtt_us: path.min_rtt.as_secs_f64() * 1e6,
            congestion_window_bytes: path.cwnd as f64,
            sent_packets: path.sent_packets,
            lost_packets: path.lost_packets,
            lost_bytes: path.lost_bytes,
        }
    }

    /// Prepares the datagram that closes the connection with an error code of the protocol over QUIC, such as HTTP/3.
    pub(crate) fn close(&mut self, now: Instant, code: u64, reason: &'static str) {
        let code = VarInt::from_u64(code).unwrap_or_default();
        self.connection.close(now, code, Bytes::from_static(reason.as_bytes()));
        self.output.clear();
        self.fill(now);
    }
}
