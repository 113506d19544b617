//! Check of text messages, which must be UTF-8 (RFC 6455, section 8.1). A message may arrive in frames and pieces that
//! end within a character.

use super::frame::{CONTINUATION, FrameHeader, TEXT};
use crate::Fault;

const NOT_UTF8: Fault = Fault::Malformed("a text message of WebSocket that is not UTF-8");

/// Check of the current message of one connection.
#[derive(Debug, Default)]
pub(super) struct TextCheck {
    is_text: bool,
    /// Bytes of a character whose end has not arrived; at most three.
    cut: [u8; 4],
    have: usize,
}

impl TextCheck {
    /// Checks a piece of a message: the bytes from the offset `from` of a frame. The last frame of a message must not
    /// end within a character.
    pub(super) fn piece(&mut self, head: FrameHeader, from: u64, bytes: &[u8], ends: bool) -> Result<(), Fault> {
        if from == 0 && head.opcode != CONTINUATION {
            (self.is_text, self.have) = (head.opcode == TEXT, 0);
        }
        if !self.is_text {
            return Ok(());
        }
        self.continued(bytes)?;
        if ends && head.fin && self.have > 0 { Err(NOT_UTF8) } else { Ok(()) }
    }

    fn continued(&mut self, mut bytes: &[u8]) -> Result<(), Fault> {
        while let (1.., Some((first, rest))) = (self.have, bytes.split_first()) {
            (self.cut[self.have], self.have, bytes) = (*first, self.have + 1, rest);
            match std::str::from_utf8(&self.cut[..self.have]) {
                Ok(_) => self.have = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(NOT_UTF8),
            }
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            let cut = &bytes[error.valid_up_to()..];
            if error.error_len().is_some() {
                return Err(NOT_UTF8);
            }
            self.cut[..cut.len()].copy_from_slice(cut);
            self.have = cut.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::frame::BINARY;

    fn check(opcode: u8, message: &[u8], cut: usize) -> Result<(), Fault> {
        let (mut check, mut from) = (TextCheck::default(), 0);
        let length = message.len() as u64;
        for piece in message.chunks(cut) {
            let head = FrameHeader { opcode, fin: true, length, ..FrameHeader::default() };
            let ends = from + piece.len() as u64 == length;
            check.piece(head, from, piece, ends)?;
            from += piece.len() as u64;
        }
        Ok(())
    }

    #[test]
    fn text_must_be_utf8_wherever_it_is_cut() {
        for cut in 1..12 {
            let text = "naïve 日本 🦀";
            assert!(check(TEXT, text.as_bytes(), cut).is_ok(), "{cut}");
            for wrong in [&b"ab\xff\xfecd"[..], b"\xe6\x97", b"\xed\xa0\x80", b"a\xf0\x9f\xa6z", b"\xc0\xaf"] {
                assert!(check(TEXT, wrong, cut).is_err(), "{wrong:?} in pieces of {cut}");
                assert!(check(BINARY, wrong, cut).is_ok(), "{wrong:?}");
            }
        }
    }

    #[test]
    fn a_message_in_frames_is_one_text() {
        let mut check = TextCheck::default();
        let head = |opcode, fin| FrameHeader { opcode, fin, length: 1, ..FrameHeader::default() };
        check.piece(head(TEXT, false), 0, b"\xc3", true).unwrap();
        check.piece(head(CONTINUATION, true), 0, b"\xaf", true).unwrap();
        check.piece(head(TEXT, false), 0, b"\xc3", true).unwrap();
        assert!(check.piece(head(CONTINUATION, true), 0, b"", true).is_err());
    }
}
