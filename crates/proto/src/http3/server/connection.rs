//! One connection of the server.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionError, Dir, Event, StreamEvent, StreamId, VarInt};

use super::ServerCounts;
use super::requests::{Reading, RequestStream};
use crate::Fault;
use crate::http1::Site;
use crate::http3::error_codes::{self, NO_ERROR};
use crate::http3::frame;
use crate::http3::peer_streams::{PeerStreams, Side};
use crate::quic::{Output, monotonic_ns};

/// Maximum number of datagrams that one system call sends. The kernel takes at most 64 datagrams and 64 KiB.
const MAX_GROUP: usize = 40;

/// One connection of the server.
pub(super) struct ServerConnection {
    pub(super) connection: Connection,
    output: Output,
    streams: Vec<RequestStream>,
    peer: PeerStreams,
    /// True between the end of the handshake and the end of the connection.
    is_open: bool,
    /// True if the shard lists this connection as one that may have something to send.
    pub(super) listed: bool,
}

impl ServerConnection {
    pub(super) fn new(connection: Connection) -> Self {
        let peer = PeerStreams::new(Side::Server);
        Self { connection, output: Output::default(), streams: Vec::new(), peer, is_open: false, listed: false }
    }

    /// Handles the changes that datagrams or timers have caused. If the client violates the protocol, closes the
    /// connection.
    pub(super) fn handle_events<S: Site>(
        &mut self,
        now: Instant,
        reading: &mut Reading<'_, S>,
        counts: &mut ServerCounts,
    ) {
        while let Some(event) = self.connection.poll() {
            if let Err(fault) = self.event(event, reading, counts) {
                self.give_up(now, &fault, counts);
            }
        }
    }

    fn event<S: Site>(
        &mut self,
        event: Event,
        reading: &mut Reading<'_, S>,
        counts: &mut ServerCounts,
    ) -> Result<(), Fault> {
        match event {
            Event::Connected => self.connected(counts),
            Event::ConnectionLost { reason } => {
                self.lost(&reason, counts);
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                while let Some(id) = self.connection.streams().accept(Dir::Uni) {
                    self.peer.opened(&mut self.connection, id)?;
                }
                Ok(())
            }
            Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                while let Some(id) = self.connection.streams().accept(Dir::Bi) {
                    self.streams.push(RequestStream::new(id));
                    self.read(id, reading)?;
                }
                Ok(())
            }
            Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Uni => {
                self.peer.read(&mut self.connection, id)
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(id, reading),
            Event::Stream(StreamEvent::Stopped { id, .. }) => {
                if let Some(at) = self.streams.iter().position(|stream| stream.id == id) {
                    self.streams.swap_remove(at).stop(&mut self.connection);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Opens the server's control stream.
    fn connected(&mut self, counts: &mut ServerCounts) -> Result<(), Fault> {
        (self.is_open, counts.opened) = (true, counts.opened + 1);
        let id = self.connection.streams().open(Dir::Uni);
        let id = id.ok_or(Fault::Malformed("the client permits no control stream of HTTP/3"))?;
        let written = self.connection.send_stream(id).write(&frame::control_stream());
        written.map(drop).map_err(|_| Fault::Malformed("the client's flow control leaves no room for settings"))
    }

    fn read<S: Site>(&mut self, id: StreamId, reading: &mut Reading<'_, S>) -> Result<(), Fault> {
        let Some(at) = self.streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        if !self.streams[at].read(&mut self.connection, reading)? {
            self.streams.swap_remove(at);
        }
        Ok(())
    }

    fn lost(&mut self, reason: &ConnectionError, counts: &mut ServerCounts) {
        self.streams.clear();
        if std::mem::take(&mut self.is_open) {
            counts.closed += 1;
            counts.silent += u64::from(*reason == ConnectionError::TimedOut);
            counts.faults += u64::from(matches!(reason, ConnectionError::TransportError(_)));
        }
    }

    fn give_up(&mut self, now: Instant, fault: &Fault, counts: &mut ServerCounts) {
        if std::mem::take(&mut self.is_open) {
            counts.closed += 1;
            counts.faults += 1;
        }
        self.close(now, error_codes::code(fault));
    }

    /// Closes the connection because the server stops.
    pub(super) fn stop(&mut self, now: Instant) {
        self.close(now, NO_ERROR);
    }

    fn close(&mut self, now: Instant, code: u64) {
        self.streams.clear();
        self.connection.close(now, VarInt::from_u64(code).unwrap_or_default(), Bytes::new());
    }

    /// Returns the time of the connection's next timer or of its next event, nanoseconds.
    pub(super) fn due_ns(&mut self) -> Option<u64> {
        let events = self.streams.iter().filter_map(RequestStream::due_ns);
        events.chain(self.connection.poll_timeout().map(monotonic_ns)).min()
    }

    /// Passes answers to QUIC, and sends datagrams. The function `send` gets bytes, the size of the datagrams in them,
    /// and the address. The function `send` returns false if the socket takes nothing at the moment. Returns false if
    /// `send` returned false.
    pub(super) fn send(&mut self, now: Instant, send: &mut dyn FnMut(&[u8], usize, SocketAddr) -> bool) -> bool {
        let Self { connection, streams, output, .. } = self;
        streams.retain_mut(|stream| !stream.send(connection));
        while output.fill(connection, now, MAX_GROUP) {
            let (bytes, datagram_bytes) = output.group();
            if !send(bytes, datagram_bytes, connection.remote_address()) {
                return false;
            }
            output.sent(bytes.len());
        }
        true
    }
}
