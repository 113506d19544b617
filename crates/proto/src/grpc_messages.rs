//! Parts of a gRPC call over HTTP/2: messages with their lengths, and the text of a status. Source: "gRPC over HTTP2".

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Length of the prefix of a message, bytes: one byte that is 1 if the message is compressed, and four bytes with the
/// message's length.
const PREFIX_BYTES: usize = 5;

/// Reader of the messages in a body that arrives in pieces of any size. Each message has a prefix (see
/// [`PREFIX_BYTES`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// Number of bytes of the current message's prefix that have arrived.
    prefix: u8,
    /// Length of the current message. `length` is incomplete until the whole prefix of the message has arrived.
    length: u32,
    /// Number of bytes of the message that are still to come.
    left: u32,
    is_wrong: bool,
    /// True if any message is compressed.
    has_compressed: bool,
}

impl Messages {
    /// State of the reader before the first message.
    pub(crate) const NONE: Self = Self { prefix: 0, length: 0, left: 0, is_wrong: false, has_compressed: false };

    /// Reads a piece of the body, and calls `message_ends` for each message that ends in this piece.
    pub(crate) fn read(&mut self, mut piece: &[u8], mut message_ends: impl FnMut()) {
        while let Some((&byte, rest)) = piece.split_first() {
            if self.left > 0 {
                let n = piece.len().min(self.left as usize);
                self.left -= n as u32;
                piece = &piece[n..];
                if self.left == 0 {
                    message_ends();
                }
                continue;
            }
            match self.prefix {
                0 => {
                    (self.is_wrong, self.length) = (self.is_wrong || byte > 1, 0);
                    self.has_compressed |= byte == 1;
                }
                _ => self.length = self.length << 8 | u32::from(byte),
            }
            self.prefix += 1;
            if usize::from(self.prefix) == PREFIX_BYTES {
                (self.prefix, self.left) = (0, self.length);
                if self.length == 0 {
                    message_ends();
                }
            }
            piece = rest;
        }
    }

    /// Returns true if the last message of the body was complete, and the compression byte of every message was 0 or 1.
    pub(crate) const fn are_whole(self) -> bool {
        self.prefix == 0 && self.left == 0 && !self.is_wrong
    }

    /// Returns true if any message was compressed.
    pub(crate) const fn has_compressed(self) -> bool {
        self.has_compressed
    }
}

/// Reason why the messages of a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The body ends within a message, or a prefix is wrong.
    #[error("a message of gRPC is not as long as its prefix says")]
    Length,
    /// A message is marked as compressed, but it is no gzip data.
    #[error("a message of gRPC is marked as compressed, but it is no gzip data")]
    NoGzip,
    /// The messages are larger than the limit of the caller.
    #[error("the gRPC messages are larger than loadline accepts here")]
    Limit,
}

/// Returns a message with its prefix, compressed with gzip if `gzip` is true. Fails if the message is too long for the
/// prefix: gRPC has messages of at most 4 GiB.
pub fn framed(message: &[u8], gzip: bool) -> Result<Vec<u8>, MessageError> {
    let mut body = vec![u8::from(gzip), 0, 0, 0, 0];
    if gzip {
        let mut encoder = GzEncoder::new(&mut body, Compression::default());
        // The encoder writes into memory, so the only possible error is the limit on the size.
        encoder.write_all(message).and_then(|()| encoder.finish().map(drop)).map_err(|_| MessageError::Limit)?;
    } else {
        body.extend_from_slice(message);
    }
    let length = u32::try_from(body.len() - PREFIX_BYTES).map_err(|_| MessageError::Limit)?;
    body[1..PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(body)
}

/// Returns the messages of a complete body, decompressed. All messages together may have at most `max_bytes` bytes.
pub fn messages(mut body: &[u8], max_bytes: usize) -> Result<Vec<Vec<u8>>, MessageError> {
    let (mut found, mut room) = (Vec::new(), max_bytes);
    while let Some((prefix, rest)) = body.split_first_chunk::<PREFIX_BYTES>() {
        let [mark, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        let message = rest.get(..length).filter(|_| mark <= 1).ok_or(MessageError::Length)?;
        let message = if mark == 1 { decompressed(message, room)? } else { message.to_vec() };
        room = room.checked_sub(message.len().max(1)).ok_or(MessageError::Limit)?;
        found.push(message);
        body = &rest[length..];
    }
    if body.is_empty() { Ok(found) } else { Err(MessageError::Length) }
}

/// Decompresses gzip data. The result may have at most `max_bytes` bytes, because a short text can expand to gigabytes.
fn decompressed(message: &[u8], max_bytes: usize) -> Result<Vec<u8>, MessageError> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(message).take(max_bytes as u64 + 1).read_to_end(&mut plain);
    match read {
        Ok(n) if n > max_bytes => Err(MessageError::Limit),
        Ok(_) => Ok(plain),
        Err(_) => Err(MessageError::NoGzip),
    }
}

/// Decodes the value of `grpc-message`, in which bytes other than printable ASCII are written as `%HH`.
pub(crate) fn percent_decoded(message: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(message.len()), message);
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let coded = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(coded.unwrap_or(byte));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_long_as_their_prefixes_say() {
        let is_whole = |body: &[u8], cut: usize| {
            let mut messages = Messages::NONE;
            body.chunks(cut).for_each(|piece| messages.read(piece, || ()));
            messages.are_whole()
        };
        for cut in 1..12 {
            assert!(is_whole(&[0, 0, 0, 0, 3, 7, 8, 9], cut) && is_whole(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5], cut));
            for wrong in
                [&[0, 0, 0, 0, 3, 7, 8][..], &[0, 0, 0, 0], &[2, 0, 0, 0, 0], &[0, 0, 0, 0, 1, 7, 8], b"<html>"]
            {
                assert!(!is_whole(wrong, cut), "{wrong:?}");
            }
        }
    }

    #[test]
    fn messages_are_compressed_and_decompressed_within_a_limit() {
        let zeros = vec![0; 100_000];
        let body = [framed(&zeros, true).unwrap(), framed(b"plain", false).unwrap()].concat();
        assert!(body.len() < 1000 && body[..2] == [1, 0]);
        assert_eq!(messages(&body, 200_000).unwrap(), [zeros, b"plain".to_vec()]);
        assert_eq!(messages(&body, 99_999), Err(MessageError::Limit));
        assert_eq!(messages(&[1, 0, 0, 0, 2, 7, 7], 9), Err(MessageError::NoGzip));
        for cut in [&[0, 0, 0][..], &[0, 0, 0, 0, 2, 7], &[2, 0, 0, 0, 0]] {
            assert_eq!(messages(cut, 9), Err(MessageError::Length));
        }
        let empty = [0; 50];
        assert_eq!(messages(&empty, 9), Err(MessageError::Limit), "each message takes memory, even an empty one");
        assert_eq!(messages(&empty, 10).unwrap().len(), 10);
    }

    #[test]
    fn words_of_a_status_are_decoded() {
        assert_eq!(percent_decoded(b"50%25 of %C3%A4%zz%"), "50% of ä%zz%".as_bytes());
    }
}
