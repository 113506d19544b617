//! All connections of one UDP socket.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{ConnectionHandle, DatagramEvent, Endpoint, Incoming};

use super::answer::LastHead;
use super::connection::ServerConnection;
use super::requests::Reading;
use super::timers::Timers;
use super::{ServerCounts, ServerPlan};
use crate::http1::Site;
use crate::http2::request_headers::RequestHeaders;
use crate::http3::qpack::Decoder;
use crate::quic::instant;

/// Maximum number of connections of a shard. Connections beyond this maximum are refused.
const MAX_CONNECTIONS: usize = 100_000;
/// Maximum number of unsent answers that come from the QUIC endpoint itself and not from a connection, such as
/// refusals. Further answers are dropped, and the client sends its datagram again.
const MAX_REPLIES: usize = 256;

/// All connections of one UDP socket. The caller passes the current time, in nanoseconds of any monotonic clock.
pub struct ServerShard<S> {
    site: Arc<S>,
    endpoint: Endpoint,
    /// Connections by the numbers that the endpoint gives them.
    connections: Vec<Option<Box<ServerConnection>>>,
    /// Connections that may have something to send.
    to_send: VecDeque<usize>,
    timers: Timers,
    /// Answers of the endpoint itself, with their addresses.
    replies: VecDeque<(Vec<u8>, SocketAddr)>,
    counts: ServerCounts,
    decoder: Decoder,
    headers: RequestHeaders,
    last_head: LastHead,
}

impl<S: Site> ServerShard<S> {
    /// Creates a shard that answers with the pages of `site`.
    pub fn new(plan: &ServerPlan, site: Arc<S>) -> Self {
        Self {
            site,
            endpoint: Endpoint::new(plan.endpoint.clone(), Some(plan.config.clone()), true, None),
            connections: Vec::new(),
            to_send: VecDeque::new(),
            timers: Timers::default(),
            replies: VecDeque::new(),
            counts: ServerCounts::default(),
            decoder: Decoder::default(),
            headers: RequestHeaders::default(),
            last_head: LastHead::default(),
        }
    }

    /// Returns the counts since the last call.
    pub fn take_counts(&mut self) -> ServerCounts {
        std::mem::take(&mut self.counts)
    }

    /// Returns the time of the next timer, nanoseconds.
    pub fn due_ns(&self) -> Option<u64> {
        self.timers.next_ns()
    }

    /// Reads datagrams of `datagram_bytes` bytes each from one sender; the last one may be shorter. Calls `completed`
    /// once for each complete request, before its answer can be sent.
    pub fn receive(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        bytes: &[u8],
        datagram_bytes: usize,
        completed: &mut dyn FnMut(),
    ) {
        let now = instant(now_ns);
        let (mut rest, mut touched) = (BytesMut::from(bytes), None);
        while !rest.is_empty() {
            let datagram = rest.split_to(rest.len().min(datagram_bytes.max(1)));
            let handle = self.datagram(now, from, datagram);
            // All datagrams of a group almost always belong to one connection.
            if let Some(other) = touched.filter(|_| handle.is_some() && handle != touched) {
                self.handle_events(now, other, completed);
            }
            touched = handle.or(touched);
        }
        touched.into_iter().for_each(|at| self.handle_events(now, at, completed));
    }

    /// Reads one datagram, and returns the number of its connection.
    fn datagram(&mut self, now: Instant, from: SocketAddr, datagram: BytesMut) -> Option<usize> {
        let mut reply = Vec::new();
        match self.endpoint.handle(now, from, None, None, datagram, &mut reply)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                self.connections.get_mut(handle.0)?.as_mut()?.connection.handle_event(event);
                Some(handle.0)
            }
            DatagramEvent::NewConnection(incoming) => self.accept(now, incoming, reply),
            DatagramEvent::Response(sent) => {
                self.reply(reply, sent.size, sent.destination);
                None
            }
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming, mut reply: Vec<u8>) -> Option<usize> {
        if self.endpoint.open_connections() >= MAX_CONNECTIONS {
            let sent = self.endpoint.refuse(incoming, &mut reply);
            self.reply(reply, sent.size, sent.destination);
            return None;
        }
        match self.endpoint.accept(incoming, now, &mut reply, None) {
            Ok((ConnectionHandle(at), connection)) => {
                if self.connections.len() <= at {
                    self.connections.resize_with(at + 1, || None);
                }
                self.connections[at] = Some(Box::new(ServerConnection::new(connection)));
                Some(at)
            }
            Err(failed) => {
                if let Some(sent) = failed.response {
                    self.reply(reply, sent.size, sent.destination);
                }
                None
            }
        }
    }

    fn reply(&mut self, mut bytes: Vec<u8>, size: usize, to: SocketAddr) {
        if self.replies.len() < MAX_REPLIES {
            bytes.truncate(size);
            self.replies.push_back((bytes, to));
        }
    }

    /// Handles the timers that are due.
    pub fn tick(&mut self, now_ns: u64, completed: &mut dyn FnMut()) {
        let now = instant(now_ns);
        while let Some(at) = self.timers.pop_due(now_ns) {
            let Some(of) = self.connections.get_mut(at).and_then(Option::as_mut) else { continue };
            if of.connection.poll_timeout().is_some_and(|due| due <= now) {
                of.connection.handle_timeout(now);
            }
            self.handle_events(now, at, completed);
        }
    }

    /// Handles the changes on a connection, and lists the connection as one that may have something to send.
    fn handle_events(&mut self, now: Instant, at: usize, completed: &mut dyn FnMut()) {
        let Some(of) = self.connections.get_mut(at).and_then(Option::as_mut) else { return };
        let (site, decoder, headers) = (&*self.site, &mut self.decoder, &mut self.headers);
        let counts = &mut self.counts;
        let mut requests = 0;
        let mut count = || {
            requests += 1;
            completed();
        };
        let mut reading = Reading { site, decoder, headers, last_head: &mut self.last_head, completed: &mut count };
        of.handle_events(now, &mut reading, counts);
        counts.requests += requests;
        if !std::mem::replace(&mut of.listed, true) {
            self.to_send.push_back(at);
        }
        self.settle(at);
    }

    /// Passes events between a connection and the endpoint. Drops a connection that has ended completely.
    fn settle(&mut self, at: usize) {
        let Some(of) = self.connections.get_mut(at).and_then(Option::as_mut) else { return };
        let mut is_drained = false;
        while let Some(event) = of.connection.poll_endpoint_events() {
            is_drained |= event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(ConnectionHandle(at), event) {
                of.connection.handle_event(answer);
            }
        }
        if is_drained {
            self.connections[at] = None;
        }
    }

    /// Sends all datagrams that may be sent now. The function `send` gets bytes, the size of the datagrams in them, and
    /// the address. The function `send` returns false if the socket takes nothing at the moment. Returns false if
    /// `send` returned false; the caller calls this function again when the socket takes more datagrams.
    pub fn send(&mut self, now_ns: u64, send: &mut dyn FnMut(&[u8], usize, SocketAddr) -> bool) -> bool {
        let now = instant(now_ns);
        while let Some((bytes, to)) = self.replies.front() {
            if !send(bytes, bytes.len(), *to) {
                return false;
            }
            self.replies.pop_front();
        }
        while let Some(&at) = self.to_send.front() {
            if let Some(of) = self.connections.get_mut(at).and_then(Option::as_mut) {
                if !of.send(now, send) {
                    return false;
                }
                of.listed = false;
                if let Some(due_ns) = of.due_ns() {
                    self.timers.set(at, due_ns);
                }
            }
            self.to_send.pop_front();
            self.settle(at);
        }
        true
    }

    /// Closes all connections of the shard. Call [`ServerShard::send`] afterwards.
    pub fn stop(&mut self, now_ns: u64) {
        let now = instant(now_ns);
        for (at, of) in self.connections.iter_mut().enumerate() {
            let Some(of) = of else { continue };
            of.stop(now);
            if !std::mem::replace(&mut of.listed, true) {
                self.to_send.push_back(at);
            }
        }
    }
}
