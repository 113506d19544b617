//! Incoming and outgoing TLS records of a client's or server's connection.

use std::cell::Cell;

use rustls::Error;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic};

use crate::Fault;
use crate::outbox::SendBuffer;

/// Maximum number of stored bytes of an incomplete record or message. rustls accepts handshake messages of up to 64
/// KiB. Besides an incomplete message, the bytes of one receive call must fit.
const MAX_WAITING: usize = 256 * 1024;
/// Maximum size of each buffer that is kept for the next connection, bytes.
const KEPT_BYTES: usize = 32 * 1024;
/// Maximum plaintext of one record, bytes (RFC 8446, section 5.1).
const MAX_PLAINTEXT: usize = 16 * 1024;
/// Maximum number of bytes that encryption adds to a record.
const MAX_OVERHEAD: usize = 64;

/// Fault for any TLS error. The function `explain` describes the error itself.
pub(super) const TLS_FAILED: Fault = Fault::Malformed("TLS failed");

thread_local! {
    /// Input of the connection that this thread currently serves. rustls decrypts it in place.
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Plaintext that is about to be encrypted.
    static PLAIN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// State of a client's or server's TLS connection in rustls.
pub(super) trait Engine {
    type Side;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Side>;
    /// Returns true if an alert waits to be sent. rustls returns such alerts before it reads input.
    fn has_alert(&self) -> bool;
}

impl Engine for UnbufferedClientConnection {
    type Side = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Side> {
        self.process_tls_records(incoming)
    }
    fn has_alert(&self) -> bool {
        self.wants_write()
    }
}

impl Engine for UnbufferedServerConnection {
    type Side = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Side> {
        self.process_tls_records(incoming)
    }
    fn has_alert(&self) -> bool {
        self.wants_write()
    }
}

/// Content of the received TLS records, decrypted.
pub(super) enum Plain<'a> {
    Bytes(&'a [u8]),
    /// The peer announced that it will send nothing more (close_notify).
    End,
}

/// TLS state of a connection, with its buffered bytes.
pub(super) struct Pipe<E> {
    pub(super) engine: Option<Box<E>>,
    /// Incomplete record, or incomplete handshake message that extends over several records.
    incoming: Vec<u8>,
    /// Unsent records of the handshake, and unsent alerts.
    outgoing: SendBuffer,
    /// True once application data may be sent.
    pub(super) established: bool,
    pub(super) error: Option<Error>,
}

impl<E> Default for Pipe<E> {
    fn default() -> Self {
        let (incoming, outgoing) = (Vec::new(), SendBuffer::default());
        Self { engine: None, incoming, outgoing, established: false, error: None }
    }
}

impl<E: Engine> Pipe<E> {
    /// Starts a connection and prepares its first bytes.
    pub(super) fn open(&mut self, engine: Result<E, Error>) {
        match engine {
            Ok(engine) => {
                self.engine = Some(Box::new(engine));
                // No input has arrived yet, so no data can be passed on. If `process` fails, the error is stored in
                // `self.error`.
                let _ = self.process(&mut [], &mut |_| Ok(()));
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Returns true if records of the handshake or alerts wait to be sent.
    pub(super) fn wants_out(&self) -> bool {
        self.outgoing.waiting() > 0
    }

    /// Decrypts the bytes that arrived, and passes the content of their records to `each`.
    pub(super) fn take(
        &mut self,
        input: &[u8],
        each: &mut dyn FnMut(Plain<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.incoming.is_empty() {
            let mut bytes = INPUT.take();
            bytes.clear();
            bytes.extend_from_slice(input);
            let taken = self.process(&mut bytes, each);
            if let Ok(taken) = taken {
                self.incoming.extend_from_slice(bytes.get(taken..).unwrap_or_default());
            }
            INPUT.set(bytes);
            return taken.map(drop);
        }
        if self.incoming.len() + input.len() > MAX_WAITING {
            return Err(Fault::Limit("a TLS message of more than 256 KiB"));
        }
        let mut bytes = std::mem::take(&mut self.incoming);
        bytes.extend_from_slice(input);
        let taken = self.process(&mut bytes, each);
        if let Ok(taken) = taken {
            bytes.drain(..taken.min(bytes.len()));
        }
        self.incoming = bytes;
        taken.map(drop)
    }

    /// Lets rustls process `bytes`, and returns the number of bytes that rustls consumed.
    fn process(
        &mut self,
        bytes: &mut [u8],
        each: &mut dyn FnMut(Plain<'_>) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        let Self { engine, outgoing, established, error, .. } = self;
        let Some(engine) = engine else { return Err(TLS_FAILED) };
        let mut at = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = engine.process(bytes.get_mut(at..).unwrap_or_default());
            let waits = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|e| broken(error, e))?;
                        discard += record.discard;
                        each(Plain::Bytes(record.payload))?;
                    }
                    false
                }
                Ok(ConnectionState::EncodeTlsData(data)) => !encode(outgoing.end(), data),
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    false
                }
                Ok(ConnectionState::PeerClosed) => {
                    each(Plain::End)?;
                    false
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    *established = true;
                    true
                }
                Ok(_) => true,
                Err(e) => {
                    // After an error, rustls may only be called while it has an alert for the peer.
                    while engine.has_alert()
                        && let Ok(ConnectionState::EncodeTlsData(data)) = engine.process(&mut []).state
                    {
                        encode(outgoing.end(), data);
                    }
                    return Err(broken(error, e));
                }
            };
            at += discard;
            if waits {
                return Ok(at);
            }
        }
    }

    /// Writes records into `out`: waiting handshake records if there are any, otherwise data that `fill` takes from the
    /// inner session. Returns the number of bytes written.
    pub(super) fn give(&mut self, out: &mut [u8], fill: impl FnOnce(&mut [u8]) -> usize) -> usize {
        if self.wants_out() || !self.established || self.error.is_some() {
            return self.give_waiting(out);
        }
        let mut plain = PLAIN.take();
        let records = out.len() / MAX_PLAINTEXT + 1;
        let room = out.len().saturating_sub(records * MAX_OVERHEAD).max(1);
        plain.resize(plain.len().max(room), 0);
        let n = fill(&mut plain[..room]).min(room);
        let given = if n > 0 { self.encrypt(&plain[..n], out) } else { 0 };
        PLAIN.set(plain);
        given
    }

    /// Queues the last record (close_notify). Without close_notify, the peer cannot distinguish a normal end from a cut
    /// connection.
    pub(super) fn say_goodbye(&mut self) {
        let Self { engine, incoming, outgoing, .. } = self;
        let Some(engine) = engine else { return };
        let Ok(ConnectionState::WriteTraffic(mut traffic)) = engine.process(incoming).state else { return };
        let Err(EncryptError::InsufficientSize(needs)) = traffic.queue_close_notify(&mut []) else { return };
        let outgoing = outgoing.end();
        let from = outgoing.len();
        outgoing.resize(from + needs.required_size, 0);
        let n = traffic.queue_close_notify(&mut outgoing[from..]).unwrap_or(0);
        outgoing.truncate(from + n);
    }

    fn give_waiting(&mut self, out: &mut [u8]) -> usize {
        self.outgoing.take_into(usize::MAX, out)
    }

    fn encrypt(&mut self, plain: &[u8], out: &mut [u8]) -> usize {
        let Self { engine, incoming, outgoing, error, .. } = self;
        let Some(engine) = engine else { return 0 };
        loop {
            match engine.process(incoming).state {
                Ok(ConnectionState::WriteTraffic(traffic)) => match seal(traffic, plain, out, outgoing.end()) {
                    Ok(Some(n)) => return n,
                    Ok(None) => return self.give_waiting(out),
                    Err(e) => {
                        broken(error, e);
                        return 0;
                    }
                },
                // A key update precedes the first record that uses the new key.
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    if !encode(outgoing.end(), data) {
                        return 0;
                    }
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(_) => return 0,
                Err(e) => {
                    broken(error, e);
                    return 0;
                }
            }
        }
    }

    /// Prepares the pipe for a new connection, and shrinks the buffers to [`KEPT_BYTES`].
    pub(super) fn reset(&mut self) {
        let Self { engine, incoming, outgoing, established, error } = self;
        (*engine, *error, *established) = (None, None, false);
        outgoing.forget(KEPT_BYTES);
        incoming.clear();
        incoming.shrink_to(KEPT_BYTES);
    }
}

fn broken(kept: &mut Option<Error>, error: Error) -> Fault {
    kept.get_or_insert(error);
    TLS_FAILED
}

/// Appends a handshake record or an alert. Returns false if rustls cannot encode the record.
fn encode<S>(outgoing: &mut Vec<u8>, mut data: EncodeTlsData<'_, S>) -> bool {
    let Err(EncodeError::InsufficientSize(needs)) = data.encode(&mut []) else { return false };
    let at = outgoing.len();
    outgoing.resize(at + needs.required_size, 0);
    data.encode(&mut outgoing[at..]).is_ok()
}

/// Encrypts `plain` into `out`, and returns the number of bytes written. If other records must be sent first, or if
/// `out` is too small, appends the record to `outgoing` and returns `None`.
fn seal<S>(
    mut traffic: WriteTraffic<'_, S>,
    plain: &[u8],
    out: &mut [u8],
    outgoing: &mut Vec<u8>,
) -> Result<Option<usize>, Error> {
    let exhausted = || Error::EncryptError;
    let required = match if outgoing.is_empty() { traffic.encrypt(plain, out) } else { traffic.encrypt(plain, &mut []) }
    {
        Ok(n) => return Ok(Some(n)),
        Err(EncryptError::InsufficientSize(needs)) => needs.required_size,
        Err(EncryptError::EncryptExhausted) => return Err(exhausted()),
    };
    let at = outgoing.len();
    outgoing.resize(at + required, 0);
    let n = traffic.encrypt(plain, &mut outgoing[at..]).map_err(|_| exhausted())?;
    outgoing.truncate(at + n);
    Ok(None)
}
