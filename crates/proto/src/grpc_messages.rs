//! Parts of a gRPC response over HTTP/2: messages with their lengths, and the text of a status. Source: "gRPC over
//! HTTP2".

/// Reader of the messages in a body that arrives in pieces of any size. Each message has a prefix: one byte that is 1
/// if the message is compressed, and then four bytes with the message's length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    /// Number of bytes of the current message's prefix that have arrived.
    prefix: u8,
    /// Length of the current message. `length` is incomplete until the whole prefix of the message has arrived.
    length: u32,
    /// Number of bytes of the message that are still to come.
    left: u32,
    is_wrong: bool,
}

impl Messages {
    /// State before the first message.
    pub(crate) const NONE: Self = Self { prefix: 0, length: 0, left: 0, is_wrong: false };

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
                0 => (self.is_wrong, self.length) = (self.is_wrong || byte > 1, 0),
                _ => self.length = self.length << 8 | u32::from(byte),
            }
            self.prefix += 1;
            if self.prefix == 5 {
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
    fn words_of_a_status_are_decoded() {
        assert_eq!(percent_decoded(b"50%25 of %C3%A4%zz%"), "50% of ä%zz%".as_bytes());
    }
}
