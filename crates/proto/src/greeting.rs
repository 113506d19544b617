//! Finds the end of the greeting that some servers send at the start of a connection.

use std::sync::Arc;

use memchr::memmem::Finder;

use crate::{Fault, ProtoError};

/// Maximum length of a greeting, bytes.
const MAX_GREETING_BYTES: usize = 64 << 10;

/// Rule that tells where a greeting ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// The greeting has a fixed number of bytes.
    Bytes(usize),
    /// The greeting ends with a fixed text.
    Text(Arc<[u8]>),
}

impl Greeting {
    /// Parses the value of `--read-first`: `line`, a number of bytes, or the text with which the greeting ends.
    pub(crate) fn new(text: &str) -> Result<Self, ProtoError> {
        let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(bytes @ 1..=MAX_GREETING_BYTES) if number => Ok(Self::Bytes(bytes)),
            _ if number || text.is_empty() => Err(ProtoError::Invalid {
                what: "--read-first",
                value: text.into(),
                advice: "give line, a number of bytes up to 65536, or the text with which the greeting ends",
            }),
            _ => Ok(Self::Text(if text == "line" { b"\n"[..].into() } else { text.as_bytes().into() })),
        }
    }

    /// Returns the state of the greeting at the beginning of a connection.
    pub(crate) fn begin(&self) -> GreetingState {
        GreetingState { greeting: self.clone(), received: Vec::new() }
    }
}

/// A greeting that is being received.
pub(crate) struct GreetingState {
    greeting: Greeting,
    received: Vec<u8>,
}

impl GreetingState {
    /// Searches `input` for the end of the greeting. Returns the number of bytes of `input` that belong to the
    /// greeting, if the greeting is now complete. Returns `None` if the greeting is still incomplete.
    pub(crate) fn end_in(&mut self, input: &[u8]) -> Result<Option<usize>, Fault> {
        let before = self.received.len();
        self.received.extend_from_slice(input);
        let end = match &self.greeting {
            Greeting::Bytes(bytes) => Some(*bytes).filter(|bytes| self.received.len() >= *bytes),
            Greeting::Text(text) => Finder::new(text).find(&self.received).map(|at| at + text.len()),
        };
        if end.unwrap_or(self.received.len()) > MAX_GREETING_BYTES {
            return Err(Fault::Limit("a greeting of more than 64 KiB"));
        }
        Ok(end.map(|end| end.saturating_sub(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_end_after_a_line_a_text_or_a_number_of_bytes() {
        let greeting = b"220-hello\r\n220 ready\r\nmore";
        for (until, end) in [("line", 11), ("220 ready", 20), ("5", 5)] {
            for size in 1..greeting.len() {
                let (mut state, mut read) = (Greeting::new(until).unwrap().begin(), 0);
                for piece in greeting.chunks(size) {
                    if let Some(n) = state.end_in(piece).unwrap() {
                        read += n;
                        break;
                    }
                    read += piece.len();
                }
                assert_eq!(read, end, "{until} in pieces of {size}");
            }
        }
        assert!(Greeting::new("").is_err() && Greeting::new("0").is_err() && Greeting::new("99999").is_err());
        let mut endless = Greeting::new("line").unwrap().begin();
        assert!(endless.end_in(&[b'x'; MAX_GREETING_BYTES]).unwrap().is_none() && endless.end_in(b"x").is_err());
        let mut at_once = Greeting::new("line").unwrap().begin();
        assert!(at_once.end_in(&[[b'x'; MAX_GREETING_BYTES].as_slice(), b"\n"].concat()).is_err(), "as in two pieces");
    }
}
