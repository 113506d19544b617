//! IDs in messages: each message contains an ID, and the answer contains the same ID.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ProtoError;
use crate::json_pointer::JsonPointer;

/// Smallest ID that the client gives to a message. All IDs have ten digits, so each message has the same length.
const MIN_ID: u32 = 1_000_000_000;
/// Number of IDs before they repeat. The largest ID still fits into a signed 32-bit integer.
const IDS: u32 = i32::MAX as u32 - MIN_ID;
const DIGITS: usize = 10;

/// Positions of the IDs in messages and in answers, and the generator of new IDs.
pub(super) struct MessageIds {
    in_message: Range<usize>,
    in_answer: JsonPointer,
    /// JSON pointer to the ID in answers, as the user gave it.
    pub(super) pointer: String,
    /// ID of the next message. IDs are unique over all connections, because a server may send an answer to several
    /// connections.
    next: AtomicU32,
}

impl MessageIds {
    /// Finds the position of the ID in the message. Also returns a copy of the message with space for an ID of ten
    /// digits.
    pub(super) fn new(
        pointer: &str,
        answer_pointer: Option<&str>,
        message: &[u8],
    ) -> Result<(Self, Arc<[u8]>), ProtoError> {
        let parsed = parse("id-pointer", pointer)?;
        let (flag, of_answer) = answer_pointer.map_or(("id-pointer", pointer), |p| ("answer-id-pointer", p));
        let in_answer = parse(flag, of_answer)?;
        let found = parsed.find(message).ok_or_else(|| wrong("id-pointer", pointer, missing(message)))?;
        let begin = found.as_ptr() as usize - message.as_ptr() as usize;
        let quote = match found.as_bytes() {
            [b'"', ..] => "\"",
            [b'-' | b'0'..=b'9', ..] => "",
            _ => return Err(wrong("id-pointer", pointer, "the value there is no text and no number".into())),
        };
        let room = format!("{quote}{MIN_ID}{quote}");
        let with_id = [&message[..begin], room.as_bytes(), &message[begin + found.len()..]].concat();
        let in_message = begin + quote.len()..begin + quote.len() + DIGITS;
        // The first ID is random, so that several load generators that use one server have different IDs.
        let next = AtomicU32::new(fastrand::u32(..IDS));
        Ok((Self { in_message, in_answer, pointer: of_answer.into(), next }, with_id.into()))
    }

    /// Returns an ID that no recent message of this process had.
    pub(super) fn next(&self) -> u32 {
        MIN_ID + self.next.fetch_add(1, Ordering::Relaxed) % IDS
    }

    /// Writes the part of an ID that lies within `out`. `out` is a piece of the message, from position `from` on.
    pub(super) fn write(&self, id: u32, from: usize, out: &mut [u8]) {
        let (begin, end) = (self.in_message.start.max(from), self.in_message.end.min(from + out.len()));
        if begin < end {
            let digits = id.to_string();
            let of_id = &digits.as_bytes()[begin - self.in_message.start..end - self.in_message.start];
            out[begin - from..end - from].copy_from_slice(of_id);
        }
    }

    /// Returns the ID in a message of the server, which may be a JSON number or a JSON string.
    pub(super) fn of_answer(&self, message: &[u8]) -> Option<u32> {
        let found = self.in_answer.find(message)?;
        let bare = found.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(found);
        // Servers that have only floating-point numbers may write an ID as 1000000000.0 or 1e9.
        bare.parse().ok().or_else(|| bare.parse::<f64>().ok().filter(|id| id.fract() == 0.0).map(|id| id as u32))
    }
}

fn parse(flag: &'static str, pointer: &str) -> Result<JsonPointer, ProtoError> {
    let advice = "no JSON pointer (RFC 6901); write a slash before each name, such as /params/id";
    JsonPointer::parse(pointer).ok_or_else(|| wrong(flag, pointer, advice.into()))
}

fn missing(message: &[u8]) -> String {
    match serde_json::from_slice::<serde::de::IgnoredAny>(message) {
        Ok(_) => "the message has no such value; put any ID there, such as 1".into(),
        Err(_) => "the message of --body is no JSON".into(),
    }
}

fn wrong(flag: &'static str, value: &str, advice: String) -> ProtoError {
    ProtoError::Flag { flag, value: run::visible(value).to_string(), advice }
}
