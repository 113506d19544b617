//! gRPC call whose client and server take turns: each message of the client is answered by one message.

use std::sync::Arc;

use crate::grpc_messages::{MessageError, framed, messages};
use crate::http1::Page;

/// Maximum size of a message from the client, with its prefix, bytes.
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// Maximum size of all answers of a call, bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Length of the prefix of a message, bytes.
const PREFIX_BYTES: usize = 5;

/// Messages of one call.
pub(super) struct Conversation {
    page: Arc<Page>,
    /// Beginning of a message from the client.
    unread: Vec<u8>,
    /// All answers so far, each with its prefix.
    pub(super) answers: Vec<u8>,
}

impl Conversation {
    /// Begins a conversation if the page answers each message.
    pub(super) fn begin(page: &Arc<Page>) -> Option<Box<Self>> {
        let begun = || Box::new(Self { page: page.clone(), unread: Vec::new(), answers: Vec::new() });
        page.answers_messages().then(begun)
    }

    /// Reads a piece of the request's body, and answers each message that ends in it.
    pub(super) fn read(&mut self, piece: &[u8]) -> Result<(), MessageError> {
        self.unread.extend_from_slice(piece);
        let mut at = 0;
        while let Some(length) = self.unread[at..].first_chunk::<PREFIX_BYTES>().map(|prefix| length(*prefix)) {
            if length > MAX_REQUEST_BYTES {
                return Err(MessageError::Limit);
            }
            let Some(message) = self.unread[at..].get(..length) else { break };
            let message = messages(message, MAX_REQUEST_BYTES)?;
            for answer in message.iter().filter_map(|message| self.page.answer_to(message)) {
                self.answers.extend(framed(&answer, false)?);
            }
            at += length;
        }
        self.unread.drain(..at);
        if self.answers.len() > MAX_ANSWER_BYTES { Err(MessageError::Limit) } else { Ok(()) }
    }

    /// Returns true if the last message of the client is complete.
    pub(super) const fn is_whole(&self) -> bool {
        self.unread.is_empty()
    }
}

/// Returns the length of a message with its prefix.
fn length([_, length @ ..]: [u8; PREFIX_BYTES]) -> usize {
    u32::from_be_bytes(length) as usize + PREFIX_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_pieces_of_any_size_are_answered_in_order() {
        let page = Page::grpc_by_message(|message| [message, message].concat());
        let request =
            [framed(b"ab", false).unwrap(), framed(b"", false).unwrap(), framed(b"c", true).unwrap()].concat();
        let answers = [framed(b"abab", false).unwrap(), framed(b"", false).unwrap(), framed(b"cc", false).unwrap()];
        for size in 1..request.len() {
            let mut conversation = Conversation::begin(&page).unwrap();
            request.chunks(size).for_each(|piece| conversation.read(piece).unwrap());
            assert_eq!(conversation.answers, answers.concat());
            assert!(conversation.is_whole());
        }
        let mut conversation = Conversation::begin(&page).unwrap();
        conversation.read(&request[..3]).unwrap();
        assert!(!conversation.is_whole());
        assert_eq!(conversation.read(&[255; 9]), Err(MessageError::Limit));
        assert!(Conversation::begin(&Page::grpc(0, Vec::new())).is_none());
    }
}
