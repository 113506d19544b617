//! Texts of answers with an unexpected status: the beginning of the body, or the message of a gRPC status. Pieces of
//! several bodies arrive in mixed order, so the text of each refusal is kept separately.

use crate::grpc_messages;
use crate::refusal::Refusal;

/// Maximum number of refusals whose bodies a connection stores at the same time. The bodies of further refusals are not
/// stored.
const MAX_STREAMS: usize = 16;

/// Maximum number of bytes that are stored of the message in gRPC trailers.
pub(crate) const MAX_MESSAGE: usize = 200;

/// Texts of answers with an unexpected status ("refusals").
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    /// Refusals whose bodies are still arriving, with their stream IDs.
    open: Vec<(u32, Refusal)>,
    /// Body of the refusal that was completed last.
    last: Refusal,
    /// Buffers that can be used for further refusals.
    free: Vec<Refusal>,
    /// Status and message of the last refused gRPC call.
    call: Option<(u16, Vec<u8>)>,
}

impl Refusals {
    /// Starts to store the body of a refusal.
    pub(crate) fn begin(&mut self, stream: u32) {
        if self.open.len() < MAX_STREAMS {
            let mut refusal = self.free.pop().unwrap_or_default();
            refusal.begin(true);
            self.open.push((stream, refusal));
        }
    }

    /// Adds a piece of a body if the answer on the stream is a refusal.
    #[inline]
    pub(crate) fn add(&mut self, stream: u32, piece: &[u8]) {
        let refusal = self.open.iter_mut().find(|(number, _)| *number == stream);
        refusal.into_iter().for_each(|(_, refusal)| refusal.add(piece));
    }

    /// Handles the end of the answer on a stream. If the ended answer is a refusal, its text replaces the text of the
    /// last refusal.
    #[inline]
    pub(crate) fn end(&mut self, stream: u32, is_refusal: bool) {
        let kept = self.open.iter().position(|(number, _)| *number == stream).map(|at| self.open.swap_remove(at).1);
        match (kept, is_refusal) {
            (Some(kept), true) => self.free.push(std::mem::replace(&mut self.last, kept)),
            (Some(kept), false) => self.free.push(kept),
            // The body of this refusal was not stored, so the body of the previous refusal is deleted and not shown.
            (None, true) => self.last.begin(true),
            (None, false) => {}
        }
    }

    /// Stores the message of a refused gRPC call.
    pub(crate) fn end_call(&mut self, status: u16, message: &[u8]) {
        let (kept, words) = self.call.get_or_insert_default();
        *kept = status;
        words.clear();
        words.extend_from_slice(&message[..message.len().min(MAX_MESSAGE)]);
    }

    /// Returns the text of the last refusal.
    pub(crate) fn words(&self) -> Option<String> {
        let message = self.call.as_ref().map(|(_, message)| grpc_messages::percent_decoded(message));
        let message = message.filter(|message| !message.is_empty());
        let message = message.map(|message| format!("{:?}", run::visible(&String::from_utf8_lossy(&message))));
        // If a proxy answers in place of the service, the text of the proxy is in the body.
        message.or_else(|| self.last.words())
    }

    /// Returns the status and the text of the last refused gRPC call, with advice.
    pub(crate) fn explain_call(&self) -> Option<String> {
        let (status, _) = self.call.as_ref()?;
        let words = self.words().map_or("no words".into(), |words| format!("the words {words}"));
        let (name, code) = (run::STATUS_CLASSES[run::status_class(*status)], status.saturating_sub(run::GRPC_STATUS));
        Some(format!(
            "it was answered {name} ({code}) with {words}; correct the call (path, --body, --header), or give \
             --expect-status {code} if this is the right answer"
        ))
    }

    /// Forgets all refusals, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.free.extend(self.open.drain(..).map(|(_, refusal)| refusal));
        self.last.begin(true);
        self.call = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_own_words_and_few_are_kept_at_once() {
        let mut refusals = Refusals::default();
        let streams = || (0..MAX_STREAMS as u32 + 1).map(|i| 1 + 2 * i);
        for round in 0..2 {
            streams().for_each(|stream| refusals.begin(stream));
            for piece in ["no ", "backend "] {
                streams().for_each(|stream| refusals.add(stream, format!("{piece}{stream}").as_bytes()));
            }
            for stream in streams().rev() {
                refusals.end(stream, true);
                let kept = stream < 1 + 2 * MAX_STREAMS as u32;
                let words = kept.then(|| format!("\"no {stream}backend {stream}\""));
                assert_eq!(refusals.words(), words, "round {round}");
            }
        }
        refusals.begin(1);
        refusals.add(1, b"reset");
        refusals.end(1, false);
        assert_eq!(refusals.words().unwrap(), "\"no 1backend 1\"", "a stream that was reset is no answer");
        refusals.clear();
        assert_eq!(refusals.words(), None);
        assert!(refusals.free.len() <= 2 * (MAX_STREAMS + 1), "{}", refusals.free.len());
    }
}
