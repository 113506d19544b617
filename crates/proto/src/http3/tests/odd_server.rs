//! A server over QUIC that sends only the HTTP/3 bytes that a test writes.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{Connection, ConnectionError, DatagramEvent, Dir, Endpoint, Event, StreamEvent, StreamId, VarInt};

use crate::http3::frame::{self, HEADERS, write_head};
use crate::http3::qpack::{QPACK, write_field};
use crate::quic::server_setup;
use crate::tls::{self_signed, server_config};

/// Maximum number of concurrent requests that the server permits.
const STREAMS: u32 = 20;

/// Returns a frame of type `kind` with the content `content`.
pub(super) fn framed(kind: u64, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_head(&mut bytes, kind, content.len());
    bytes.extend_from_slice(content);
    bytes
}

/// Returns a HEADERS frame with the header fields `fields`.
pub(super) fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = QPACK.prefix.to_vec();
    fields.iter().for_each(|(name, value)| write_field(&mut block, name, value));
    framed(HEADERS, &block)
}

/// Returns the bytes of a variable-length integer.
pub(super) fn integer(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write_integer(&mut bytes, value);
    bytes
}

/// A QUIC server that behaves oddly, as a test demands.
pub(super) struct OddServer {
    endpoint: Endpoint,
    connection: Option<Connection>,
    /// True if the server reads the requests; false to read nothing of them, so that flow control stops large requests.
    pub(super) reads_requests: bool,
    /// True if the server first asks each client to prove its address (Retry).
    pub(super) asks_for_proof: bool,
    /// Streams of requests, in the order in which they were opened.
    pub(super) requests: Vec<StreamId>,
    /// Streams that the client reset, each with the error code that the client sent.
    pub(super) reset: Vec<(StreamId, u64)>,
    /// Streams that the client stopped reading, each with the error code that the client sent.
    pub(super) stopped: Vec<(StreamId, u64)>,
    /// Bytes on the client's control stream.
    pub(super) control: Vec<u8>,
    /// Reason for the end of the connection.
    pub(super) lost: Option<ConnectionError>,
    outgoing: Vec<Vec<u8>>,
}

impl OddServer {
    /// Creates a server that offers only the protocol `alpn` over QUIC.
    pub(super) fn speaking(alpn: &str) -> Self {
        let (chain, key) = self_signed(&["localhost"]).unwrap();
        let tls = server_config(chain.as_bytes(), key.as_bytes(), &[alpn]).unwrap();
        let (endpoint, config) = server_setup(tls, STREAMS).unwrap();
        Self {
            endpoint: Endpoint::new(endpoint, Some(config), true, None),
            connection: None,
            reads_requests: true,
            asks_for_proof: false,
            requests: Vec::new(),
            reset: Vec::new(),
            stopped: Vec::new(),
            control: Vec::new(),
            lost: None,
            outgoing: Vec::new(),
        }
    }

    /// Returns the server's connection to the client.
    pub(super) fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().unwrap()
    }

    /// Opens a unidirectional stream, and writes `bytes` on it.
    pub(super) fn open(&mut self, bytes: &[u8]) -> StreamId {
        let id = self.connection().streams().open(Dir::Uni).expect("the client permits a stream");
        self.write(id, bytes);
        id
    }

    /// Writes on a stream.
    pub(super) fn write(&mut self, id: StreamId, bytes: &[u8]) {
        assert_eq!(self.connection().send_stream(id).write(bytes).unwrap(), bytes.len());
    }

    /// Writes on the stream of a request; the first request has the index 0.
    pub(super) fn answer(&mut self, request: usize, bytes: &[u8]) {
        self.write(self.requests[request], bytes);
    }

    /// Ends a stream of the server.
    pub(super) fn finish(&mut self, id: StreamId) {
        self.connection().send_stream(id).finish().unwrap();
    }

    /// Ends the answer to a request.
    pub(super) fn end(&mut self, request: usize) {
        self.finish(self.requests[request]);
    }

    /// Resets the answer to a request.
    pub(super) fn reset_answer(&mut self, request: usize, code: u64) {
        let (id, code) = (self.requests[request], VarInt::from_u64(code).unwrap());
        self.connection().send_stream(id).reset(code).unwrap();
    }

    /// Reads no more of a request (STOP_SENDING). Does nothing for a request that was read completely.
    pub(super) fn stop_reading(&mut self, request: usize, code: u64) {
        let (id, code) = (self.requests[request], VarInt::from_u64(code).unwrap());
        let _ = self.connection().recv_stream(id).stop(code);
    }

    /// Reads what has arrived on the streams of all requests.
    pub(super) fn read_requests(&mut self) {
        let Self { connection: Some(connection), requests, control, reset, .. } = self else { return };
        requests.iter().for_each(|id| read(connection, *id, control, reset));
    }

    /// Returns the error code of the client's CONNECTION_CLOSE.
    pub(super) fn client_code(&self) -> Option<u64> {
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) => Some(close.error_code.into_inner()),
            _ => None,
        }
    }

    /// Reads a datagram of the client.
    pub(super) fn receive(&mut self, now: Instant, datagram: &[u8]) {
        let (from, mut reply): (SocketAddr, _) = ("10.0.0.1:5000".parse().unwrap(), Vec::new());
        match self.endpoint.handle(now, from, None, None, BytesMut::from(datagram), &mut reply) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
            Some(DatagramEvent::NewConnection(incoming)) if self.asks_for_proof => {
                self.asks_for_proof = false;
                let sent = self.endpoint.retry(incoming, &mut reply).ok().unwrap();
                self.outgoing.push(reply[..sent.size].to_vec());
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut reply, None) {
                    Ok((_, connection)) => self.connection = Some(connection),
                    Err(failed) => self.outgoing.extend(failed.response.map(|sent| reply[..sent.size].to_vec())),
                }
            }
            Some(DatagramEvent::Response(sent)) => self.outgoing.push(reply[..sent.size].to_vec()),
            None => {}
        }
    }

    /// Records what the client has done, and returns the server's next datagram.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if let Some(datagram) = self.outgoing.pop() {
            return Some(datagram);
        }
        let connection = self.connection.as_mut()?;
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            self.endpoint.handle_event(quinn_proto::ConnectionHandle(0), event);
        }
        while let Some(event) = connection.poll() {
            let reads = |id: StreamId| self.reads_requests || id.dir() == Dir::Uni;
            match event {
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    self.stopped.push((id, error_code.into_inner()));
                    let _ = connection.send_stream(id).reset(error_code);
                }
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.requests.extend((dir == Dir::Bi).then_some(id));
                        if reads(id) {
                            read(connection, id, &mut self.control, &mut self.reset);
                        }
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) if reads(id) => {
                    read(connection, id, &mut self.control, &mut self.reset);
                }
                _ => {}
            }
        }
        let mut datagram = Vec::new();
        connection.poll_transmit(now, 1, &mut datagram).map(|_| datagram)
    }
}

/// Reads what has arrived on a stream of the client.
fn read(connection: &mut Connection, id: StreamId, control: &mut Vec<u8>, reset: &mut Vec<(StreamId, u64)>) {
    loop {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let chunk = chunks.next(usize::MAX);
        let _ = chunks.finalize();
        match chunk {
            Ok(Some(chunk)) if id.dir() == Dir::Uni => control.extend_from_slice(&chunk.bytes),
            Ok(Some(_)) => {}
            Err(quinn_proto::ReadError::Reset(code)) => return reset.push((id, code.into_inner())),
            Ok(None) | Err(quinn_proto::ReadError::Blocked) => return,
        }
    }
}
