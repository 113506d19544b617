//! Unidirectional streams that the peer opens: its control stream, and its two streams of QPACK.

use quinn_proto::{Connection, StreamId, VarInt};

use super::error_codes::{
    CONTROL_ENDED, ENTRY_NOT_SENT, INCOMPLETE, NO_SETTINGS, PUSHED, SECOND_STREAM, STREAM_CREATION_ERROR, TABLE_USED,
    UNEXPECTED, WRONG_GOAWAY,
};
use super::frame::{self, FrameReader, IntegerReader};
use crate::Fault;

/// Maximum number of bytes of a frame on the control stream whose content is read.
const MAX_CONTROL_FRAME: usize = 4096;

/// Side of the connection that receives the streams: the client or the server. Only clients may send MAX_PUSH_ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// Unidirectional streams that the peer has opened.
#[derive(Debug)]
pub(super) struct PeerStreams {
    side: Side,
    streams: Vec<PeerStream>,
    settled: bool,
    /// Lowest ID of all GOAWAY frames so far.
    goaway: Option<u64>,
}

#[derive(Debug)]
struct PeerStream {
    id: StreamId,
    /// Kind of the stream; `None` before it has arrived.
    kind: Option<u64>,
    kind_reader: IntegerReader,
    reader: FrameReader,
    decoder: DecoderInstructions,
    content: Vec<u8>,
}

impl PeerStream {
    fn new(id: StreamId) -> Self {
        let (kind_reader, reader) = (IntegerReader::default(), FrameReader::default());
        let decoder = DecoderInstructions::default();
        Self { id, kind: None, kind_reader, reader, decoder, content: Vec::new() }
    }
}

/// Check of the instructions of the peer's decoder of QPACK (RFC 9204, section 4.4). Entries of the dynamic table are
/// never sent, so the only allowed instruction is the cancellation of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct DecoderInstructions {
    /// True if the number of the cancelled stream continues in the next byte.
    continues: bool,
}

impl DecoderInstructions {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        for byte in bytes {
            self.continues = match byte {
                _ if self.continues => byte & 0x80 != 0,
                0x40..=0x7f => *byte == 0x7f,
                _ => return Err(ENTRY_NOT_SENT),
            };
        }
        Ok(())
    }
}

impl PeerStreams {
    pub(super) const fn new(side: Side) -> Self {
        Self { side, streams: Vec::new(), settled: false, goaway: None }
    }

    /// Returns the ID in the peer's last GOAWAY: requests from this ID on are not processed.
    pub(super) const fn goaway(&self) -> Option<u64> {
        self.goaway
    }

    /// Takes a stream that the peer has opened, and reads what has arrived on it.
    pub(super) fn opened(&mut self, connection: &mut Connection, id: StreamId) -> Result<(), Fault> {
        self.streams.push(PeerStream::new(id));
        self.read(connection, id)
    }

    /// Reads bytes of a stream without the help of a QUIC connection. Tests use this function with the bytes of a
    /// hostile peer. `ends` is true if the stream ends with these bytes.
    pub(super) fn receive(&mut self, id: StreamId, bytes: &[u8], ends: bool) -> Result<(), Fault> {
        let at = self.streams.iter().position(|stream| stream.id == id).unwrap_or_else(|| {
            self.streams.push(PeerStream::new(id));
            self.streams.len() - 1
        });
        self.arrived(at, bytes)?;
        if ends { self.ended(at) } else { Ok(()) }
    }

    /// Reads what has arrived on a stream.
    pub(super) fn read(&mut self, connection: &mut Connection, id: StreamId) -> Result<(), Fault> {
        let Some(at) = self.streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        loop {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return Ok(()) };
            let chunk = chunks.next(usize::MAX);
            // The bytes that were read no longer occupy the connection's flow-control window. The next call of
            // `poll_transmit` reports the free space to the peer.
            let _ = chunks.finalize();
            match chunk {
                Ok(Some(chunk)) => {
                    if !self.arrived(at, &chunk.bytes)? {
                        let _ = connection.recv_stream(id).stop(VarInt::from_u32(STREAM_CREATION_ERROR as u32));
                        self.streams.swap_remove(at);
                        return Ok(());
                    }
                }
                Err(quinn_proto::ReadError::Blocked) => return Ok(()),
                Ok(None) | Err(quinn_proto::ReadError::Reset(_)) => return self.ended(at),
            }
        }
    }

    /// Handles the end of a stream. The control stream and the streams of QPACK must never end.
    fn ended(&mut self, at: usize) -> Result<(), Fault> {
        match self.streams.swap_remove(at).kind {
            Some(frame::CONTROL_STREAM | frame::ENCODER_STREAM | frame::DECODER_STREAM) => Err(CONTROL_ENDED),
            _ => Ok(()),
        }
    }

    /// Handles bytes of a stream. Returns false if the stream has an unknown kind, so that it is not read (section
    /// 6.2).
    fn arrived(&mut self, at: usize, mut bytes: &[u8]) -> Result<bool, Fault> {
        let kind = match self.streams[at].kind {
            Some(kind) => kind,
            None => match self.streams[at].kind_reader.read(&mut bytes) {
                None => return Ok(true),
                Some(kind) => {
                    self.is_new(kind)?;
                    *self.streams[at].kind.insert(kind)
                }
            },
        };
        match kind {
            frame::CONTROL_STREAM => self.control(at, bytes).map(|()| true),
            // The only instruction that a table of 0 bytes allows sets its capacity to 0 (RFC 9204, section 4.3.1).
            frame::ENCODER_STREAM if bytes.iter().all(|byte| *byte == 0x20) => Ok(true),
            frame::ENCODER_STREAM => Err(TABLE_USED),
            frame::DECODER_STREAM => self.streams[at].decoder.read(bytes).map(|()| true),
            frame::PUSH_STREAM => Err(PUSHED),
            _ => Ok(false),
        }
    }

    fn is_new(&self, kind: u64) -> Result<(), Fault> {
        let single = [frame::CONTROL_STREAM, frame::ENCODER_STREAM, frame::DECODER_STREAM];
        match single.contains(&kind) && self.streams.iter().any(|stream| stream.kind == Some(kind)) {
            true => Err(SECOND_STREAM),
            false => Ok(()),
        }
    }

    fn control(&mut self, at: usize, mut bytes: &[u8]) -> Result<(), Fault> {
        loop {
            let stream = &mut self.streams[at];
            let Some(piece) = stream.reader.next(&mut bytes)? else { return Ok(()) };
            if !self.settled && piece.kind != frame::SETTINGS {
                return Err(NO_SETTINGS);
            }
            if !matches!(piece.kind, frame::SETTINGS | frame::GOAWAY) {
                self.is_allowed(piece.kind)?;
                continue;
            }
            if stream.content.len() + piece.bytes.len() > MAX_CONTROL_FRAME {
                return Err(Fault::Limit("a control frame of HTTP/3 of more than 4 KiB"));
            }
            stream.content.extend_from_slice(piece.bytes);
            if piece.ends {
                let content = std::mem::take(&mut stream.content);
                self.frame(piece.kind, &content)?;
            }
        }
    }

    /// Checks a frame whose content is not used.
    fn is_allowed(&self, kind: u64) -> Result<(), Fault> {
        match kind {
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => Err(UNEXPECTED),
            frame::MAX_PUSH_ID if self.side == Side::Client => Err(UNEXPECTED),
            // No push was ever announced, so none can be cancelled (section 7.2.3).
            frame::CANCEL_PUSH => Err(PUSHED),
            _ => Ok(()),
        }
    }

    fn frame(&mut self, kind: u64, mut content: &[u8]) -> Result<(), Fault> {
        if kind == frame::SETTINGS {
            if std::mem::replace(&mut self.settled, true) {
                return Err(UNEXPECTED);
            }
            return frame::check_settings(content);
        }
        let id = frame::integer(&mut content).filter(|_| content.is_empty()).ok_or(INCOMPLETE)?;
        // The GOAWAY of a server names a request, whose stream has an ID of 0, 4, 8, … The GOAWAY of a client names a
        // push.
        let is_request = self.side == Side::Server || id.is_multiple_of(4);
        if !is_request || self.goaway.is_some_and(|before| before < id) {
            return Err(WRONG_GOAWAY);
        }
        self.goaway = Some(id);
        Ok(())
    }
}
