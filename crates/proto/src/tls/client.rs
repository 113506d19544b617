//! TLS client: a handshake, and then the session of another protocol inside TLS.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};

use super::explain::explain;
use super::permission::Permission;
use super::pipe::{Pipe, Plain};
use crate::{Client, Done, Fault, Mix, Progress, ProtocolSpec, Request, Requester, Which};

/// Maximum number of decrypted bytes that the first connection of a load stores for display.
const MAX_PLAIN_BYTES: usize = 8 * 1024;

/// Explanation of an answer that counts as cut off because close_notify is missing.
const NO_CLOSE_NOTIFY: &str = "the server ended TLS without close_notify, so the answer, which has no length, may be cut off; \
                               let the server send close_notify, or answers with Content-Length";

/// Data that all connections of a load share.
pub(super) struct Shared {
    /// Configuration of connections with a full handshake.
    pub(super) fresh: Arc<ClientConfig>,
    /// Configuration of connections that resume an earlier session.
    pub(super) resuming: Arc<ClientConfig>,
    /// Fraction of connections that resume an earlier session, 0 to 1.
    pub(super) resume: f64,
    pub(super) name: ServerName<'static>,
    /// Number of connections so far, which decides whether the next connection resumes an earlier session.
    pub(super) connections: AtomicU64,
    /// Table entry of the inner protocol.
    pub(super) spec: ProtocolSpec,
}

impl Shared {
    /// Creates the TLS state of the next connection. The returned flag is true for the first connection of the load.
    fn connect(&self) -> (Result<UnbufferedClientConnection, rustls::Error>, bool) {
        let n = self.connections.fetch_add(1, Ordering::Relaxed) as f64;
        let resumes = ((n + 1.0) * self.resume).floor() > (n * self.resume).floor();
        let config = if resumes { &self.resuming } else { &self.fresh };
        (UnbufferedClientConnection::new(config.clone(), self.name.clone()), n == 0.0)
    }
}

/// A protocol's client within TLS.
#[derive(Clone)]
pub struct TlsClient<C> {
    pub(super) within: C,
    pub(super) shared: Arc<Shared>,
}

impl<C: Client> Client for TlsClient<C> {
    type Session = ClientSession<C::Session>;

    fn session(&self) -> Self::Session {
        ClientSession {
            within: self.within.session(),
            shared: self.shared.clone(),
            permission: Permission::default(),
            pipe: Pipe::default(),
            ready: false,
            resumed: false,
            is_cut: false,
            plain: None,
        }
    }

    fn mix(&self) -> &Mix {
        self.within.mix()
    }

    fn fixed(&self) -> bool {
        self.within.fixed()
    }

    fn is_idempotent(&self, item: u16) -> bool {
        self.within.is_idempotent(item)
    }

    fn address_weights(&self) -> Vec<f64> {
        self.within.address_weights()
    }

    fn resends_pipelined(&self) -> bool {
        self.within.resends_pipelined()
    }

    fn has_transactions(&self) -> bool {
        self.within.has_transactions()
    }
}

/// Client side of one connection.
pub struct ClientSession<S> {
    within: S,
    shared: Arc<Shared>,
    permission: Permission,
    pipe: Pipe<UnbufferedClientConnection>,
    ready: bool,
    resumed: bool,
    /// True if the server closed the connection without close_notify, during an answer that ends with the connection.
    is_cut: bool,
    /// The first [`MAX_PLAIN_BYTES`] decrypted bytes. Only the first connection of the load, and connections on which
    /// [`Requester::forget_first_answer`] was called, have them.
    plain: Option<Vec<u8>>,
}

impl<S: Requester> ClientSession<S> {
    /// Checks that the finished handshake selected `h2` (ALPN) if the protocol needs it, and records whether the
    /// session was resumed.
    fn established(&mut self) -> Result<(), Fault> {
        let Some(engine) = &self.pipe.engine else { return Ok(()) };
        let chosen = engine.alpn_protocol();
        if self.shared.spec.alpn == "h2" && chosen != Some(b"h2") {
            return Err(Fault::Malformed(
                "the server does not choose h2 (ALPN), which HTTP/2 and gRPC need; for HTTP/1.1, write https:// without \
                 --http2",
            ));
        }
        self.resumed = engine.handshake_kind() == Some(HandshakeKind::Resumed);
        self.ready = true;
        Ok(())
    }

    fn cut_words(&self) -> Option<String> {
        self.is_cut.then(|| NO_CLOSE_NOTIFY.to_owned())
    }
}

impl<S: Requester> Requester for ClientSession<S> {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn matches_answers_by_order(&self) -> bool {
        self.within.matches_answers_by_order()
    }

    fn ready(&self) -> bool {
        self.ready && self.within.ready()
    }

    fn resumed(&self) -> bool {
        self.resumed
    }

    fn stream_limit(&self) -> Option<u32> {
        self.within.stream_limit()
    }

    fn explain(&self) -> Option<String> {
        let within = || self.within.explain();
        let engine = self.pipe.engine.as_ref().filter(|_| self.ready);
        let again = engine.is_some_and(|engine| engine.protocol_version() == Some(ProtocolVersion::TLSv1_2));
        let of_tls = self.pipe.error.as_ref().map(|error| explain(error, &self.shared.name, again));
        of_tls.or_else(|| self.permission.explain()).or_else(|| self.cut_words()).or_else(within)
    }

    fn refusal_words(&self) -> Option<String> {
        self.within.refusal_words()
    }

    fn close_words(&self) -> Option<String> {
        self.within.close_words().or_else(|| self.cut_words())
    }

    fn asks_to_come_later(&self) -> bool {
        self.within.asks_to_come_later()
    }

    fn plain(&self) -> Option<&[u8]> {
        self.within.plain().or(self.plain.as_deref())
    }

    fn keep_first_answer(&mut self, max_bytes: usize) {
        self.within.keep_first_answer(max_bytes);
    }

    fn forget_first_answer(&mut self) {
        self.plain = Some(Vec::new());
        self.within.forget_first_answer();
    }

    fn last_body_bytes(&self) -> Option<u64> {
        self.within.last_body_bytes()
    }

    fn takes_more(&self) -> bool {
        self.within.takes_more()
    }

    fn is_answering(&self) -> Option<bool> {
        self.within.is_answering()
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        self.within.each_begun_answer(begun);
    }

    fn each_late_request(&mut self, sent: &mut dyn FnMut(u16)) {
        self.within.each_late_request(sent);
    }

    fn leave(&mut self) {
        if self.ready {
            self.within.leave();
            self.pipe.say_goodbye();
        }
    }

    fn aim(&mut self, address: u16) {
        self.within.aim(address);
    }

    fn begin(&mut self, request: Request) {
        self.within.begin(request);
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if let Some(question) = self.shared.spec.before_tls
            && !self.permission.is_given()
        {
            return self.permission.ask(&question, out);
        }
        if self.pipe.engine.is_none() && self.pipe.error.is_none() {
            let (engine, first) = self.shared.connect();
            self.plain = self.plain.take().or(first.then(Vec::new));
            self.pipe.open(engine);
        }
        self.pipe.give(out, |plain| self.within.transmit(plain))
    }

    fn wants_transmit(&self) -> bool {
        if let Some(question) = self.shared.spec.before_tls
            && !self.permission.is_given()
        {
            return self.permission.wants_to_ask(&question);
        }
        let unopened = self.pipe.engine.is_none() && self.pipe.error.is_none();
        unopened || self.pipe.wants_out() || self.pipe.established && self.within.wants_transmit()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if let Some(question) = self.shared.spec.before_tls
            && !self.permission.is_given()
        {
            return self.permission.receive(&question, input).map(|()| Progress::default());
        }
        let Self { within, pipe, plain: kept, .. } = self;
        let mut progress = Progress::default();
        pipe.take(input, &mut |plain| {
            match plain {
                Plain::Bytes(bytes) => {
                    if let Some(kept) = kept {
                        kept.extend(bytes.iter().take(MAX_PLAIN_BYTES - kept.len()));
                    }
                    progress.merge(within.receive(bytes, done)?);
                }
                // The alert close_notify announces the end of the stream. TCP also reports the end of the stream, but
                // later than close_notify. The alert close_notify matters only for a response without a known length,
                // which lasts until the end of the stream.
                Plain::End => {
                    let ended = within.peer_closed(done)?;
                    if ended.completed > 0 {
                        progress.merge(ended);
                    }
                }
            }
            Ok(())
        })?;
        if self.pipe.established && !self.ready {
            self.established()?;
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        // After close_notify, no answer is in progress any more. Without close_notify, an answer that lasts until the
        // end of the connection counts as incomplete (RFC 9112, section 9.8). Anyone can end a TCP connection.
        self.is_cut = self.ready && self.within.lasts_until_close();
        if self.ready && !self.is_cut { self.within.peer_closed(done) } else { Err(Fault::Short) }
    }

    fn flushed(&mut self, done: &mut dyn FnMut(Done)) -> Progress {
        self.within.flushed(done)
    }

    fn reset(&mut self) {
        self.within.reset();
        self.permission = Permission::default();
        self.pipe.reset();
        (self.ready, self.resumed, self.is_cut, self.plain) = (false, false, false, None);
    }
}
