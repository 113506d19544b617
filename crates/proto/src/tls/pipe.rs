//! Records in and out of one end of a TLS connection.

use std::cell::Cell;

use rustls::Error;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic};

use crate::Fault;
use crate::outbox::Owed;

/// Most bytes that wait for the rest of their record or message. rustls takes handshake messages of up to 64 KiB, and a
/// piece of input comes on top.
const MOST_WAITING: usize = 256 * 1024;
/// What is kept of a buffer for the next connection.
const KEPT: usize = 32 * 1024;
/// Plaintext of one record at most (RFC 8446, section 5.1), and what a record adds to it at most.
const RECORD: usize = 16 * 1024;
const OVERHEAD: usize = 64;

/// What a TLS error is for the caller of the session; the words for it are in `explain`.
pub(super) const BROKEN: Fault = Fault::Malformed("TLS failed");

thread_local! {
    /// Input of the connection that is served now: rustls decrypts in place.
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Plaintext on its way into records.
    static PLAIN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One end of a connection in rustls.
pub(super) trait Engine {
    type Side;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Side>;
    /// Whether records of its own wait, which it gives before it looks at any input.
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

/// What came out of records.
pub(super) enum Plain<'a> {
    Bytes(&'a [u8]),
    /// The peer says that it will send nothing more (close_notify).
    End,
}

/// One end of a connection with its bytes on the way.
pub(super) struct Pipe<E> {
    pub(super) engine: Option<Box<E>>,
    /// The beginning of a record, or of a handshake message over several.
    incoming: Vec<u8>,
    /// Records of the handshake and alerts.
    outgoing: Owed,
    /// Application data may be sent.
    pub(super) established: bool,
    pub(super) error: Option<Error>,
}

impl<E> Default for Pipe<E> {
    fn default() -> Self {
        let (incoming, outgoing) = (Vec::new(), Owed::default());
        Self { engine: None, incoming, outgoing, established: false, error: None }
    }
}

impl<E: Engine> Pipe<E> {
    /// Begins a connection; what it has to say first is ready.
    pub(super) fn open(&mut self, engine: Result<E, Error>) {
        match engine {
            Ok(engine) => {
                self.engine = Some(Box::new(engine));
                // Nothing has come yet, so nothing can be given on; an error is kept.
                let _ = self.process(&mut [], &mut |_| Ok(()));
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Whether records of the handshake or alerts wait to be given out.
    pub(super) fn wants_out(&self) -> bool {
        self.outgoing.waiting() > 0
    }

    /// Takes bytes that arrived and hands on what was in them.
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
        if self.incoming.len() + input.len() > MOST_WAITING {
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

    /// Lets rustls work on the bytes; how many it is done with.
    fn process(
        &mut self,
        bytes: &mut [u8],
        each: &mut dyn FnMut(Plain<'_>) -> Result<(), Fault>,
    ) -> Result<usize, Fault> {
        let Self { engine, outgoing, established, error, .. } = self;
        let Some(engine) = engine else { return Err(BROKEN) };
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
                    // What rustls tells the peer of it; with nothing to tell, it must not be asked again.
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

    /// Writes records into `out`: what the handshake has to say, or else what `fill` gives of the session within.
    pub(super) fn give(&mut self, out: &mut [u8], fill: impl FnOnce(&mut [u8]) -> usize) -> usize {
        if self.wants_out() || !self.established || self.error.is_some() {
            return self.give_waiting(out);
        }
        let mut plain = PLAIN.take();
        let records = out.len() / RECORD + 1;
        let room = out.len().saturating_sub(records * OVERHEAD).max(1);
        plain.resize(plain.len().max(room), 0);
        let n = fill(&mut plain[..room]).min(room);
        let given = if n > 0 { self.encrypt(&plain[..n], out) } else { 0 };
        PLAIN.set(plain);
        given
    }

    /// The last record: nothing more is sent (close_notify). A peer that gets none cannot tell the end from a cut.
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
        self.outgoing.give(usize::MAX, out)
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
                // A new key is told before what it protects.
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

    /// Forgets the connection and keeps some of its memory.
    pub(super) fn reset(&mut self) {
        let Self { engine, incoming, outgoing, established, error } = self;
        (*engine, *error, *established) = (None, None, false);
        outgoing.forget(KEPT);
        incoming.clear();
        incoming.shrink_to(KEPT);
    }
}

fn broken(kept: &mut Option<Error>, error: Error) -> Fault {
    kept.get_or_insert(error);
    BROKEN
}

/// Appends a record of the handshake; false when it cannot be had.
fn encode<S>(outgoing: &mut Vec<u8>, mut data: EncodeTlsData<'_, S>) -> bool {
    let Err(EncodeError::InsufficientSize(needs)) = data.encode(&mut []) else { return false };
    let at = outgoing.len();
    outgoing.resize(at + needs.required_size, 0);
    data.encode(&mut outgoing[at..]).is_ok()
}

/// Encrypts into `out`, and how many bytes; or, where something goes before it or `out` is too small, to the end of
/// `outgoing`.
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
