//! Streams of one HTTP/2 connection of the server. Each stream stores its request and the number of sent bytes of the
//! answer's body.

use std::sync::Arc;

use super::conversation::Conversation;
use super::flow::{Received, Sending};
use super::frame::{self, MAX_PAYLOAD};
use super::hpack;
use super::stream_list::{AnyStream, StreamList};
use crate::http1::Page;
use crate::pace::Pace;

/// One request and its answer.
pub(super) struct ServerStream {
    pub(super) number: u32,
    page: Arc<Page>,
    head_only: bool,
    /// Length of the request's body according to its headers, bytes; `None` if the headers give no length.
    pub(super) length: Option<u64>,
    /// Number of bytes of the request's body that have arrived.
    pub(super) body: u64,
    pub(super) received: Received,
    /// True once the request is complete, so that it can be answered.
    pub(super) asked: bool,
    /// Times at which parts of the answer's body may be sent; absent if the answer is not a stream of events.
    pub(super) pace: Option<Pace>,
    /// Number of bytes of the answer's body that were sent; `None` before its headers are sent.
    sent: Option<usize>,
    window: i64,
    /// Messages of a call whose client and server take turns; absent for all other requests.
    pub(super) conversation: Option<Box<Conversation>>,
}

impl ServerStream {
    pub(super) fn new(number: u32, page: Arc<Page>, head_only: bool, length: Option<u64>, window: i64) -> Self {
        let (received, conversation) = (Received::stream(), Conversation::begin(&page));
        let (body, asked, pace, sent) = (0, false, None, None);
        Self { number, page, head_only, length, body, received, asked, pace, sent, window, conversation }
    }

    /// Returns true if the body has the length that the headers announced.
    pub(super) fn is_whole(&self) -> bool {
        self.length.is_none_or(|length| length == self.body)
            && self.conversation.as_ref().is_none_or(|conversation| conversation.is_whole())
    }

    fn body(&self) -> &[u8] {
        match &self.conversation {
            Some(conversation) => &conversation.answers,
            None if self.head_only => &[],
            None => self.page.body(),
        }
    }

    /// Returns true if a part of the answer can be sent now.
    fn can_send(&self, sending: &Sending) -> bool {
        let is_begun = self.asked || self.conversation.as_ref().is_some_and(|found| !found.answers.is_empty());
        match self.sent {
            None => is_begun,
            // After the whole body, only trailers may be left.
            Some(sent) if sent == self.body().len() => self.asked,
            Some(_) => is_begun && self.window > 0 && sending.window > 0 && self.allowed() > 0,
        }
    }

    /// Returns the number of bytes of the body that the answer's pace allows in the next frame.
    fn allowed(&self) -> usize {
        self.pace.as_ref().map_or(usize::MAX, |pace| pace.allowed(self.sent.unwrap_or_default()))
    }

    /// Returns the time of the next event, if the answer is a stream of events.
    fn due_ns(&self) -> Option<u64> {
        self.pace.as_ref().filter(|_| self.asked)?.due_ns(self.sent.unwrap_or_default())
    }

    /// Appends the next frame of the answer. Returns true if the frame was the last frame of the answer.
    fn send(&mut self, sending: &mut Sending, now: &DateHeader, to: &mut Vec<u8>) -> bool {
        let (length, [block, trailers]) = (self.body().len(), self.page.coded(blocks));
        let Some(sent) = self.sent else {
            let ends = length == 0 && trailers.is_empty();
            let date = if trailers.is_empty() { now.date.as_slice() } else { &[] };
            let flags = frame::END_HEADERS | if ends { frame::END_STREAM } else { 0 };
            frame::write_head(to, block.len() + date.len(), frame::HEADERS, flags, self.number);
            to.extend_from_slice(block);
            to.extend_from_slice(date);
            self.sent = Some(0);
            return ends;
        };
        if sent == length {
            frame::write_block(to, self.number, frame::END_STREAM, trailers);
            return true;
        }
        let most = self.window.min(sending.window).max(0) as usize;
        let n = (length - sent).min(most).min(MAX_PAYLOAD).min(self.allowed());
        self.sent = Some(sent + n);
        self.window -= n as i64;
        sending.window -= n as i64;
        let ends = sent + n == length && trailers.is_empty();
        let flags = if ends { frame::END_STREAM } else { 0 };
        frame::write(to, frame::DATA, flags, self.number, &self.body()[sent..sent + n]);
        ends
    }
}

/// Encodes the head of a page without its date header, and the trailers. Only successful gRPC answers have trailers.
fn blocks(page: &Page) -> [Vec<u8>; 2] {
    let (status, fields, grpc) = page.parts();
    let (status, length) = (status.to_string(), page.content_length());
    let lines = fields.lines().filter_map(|line| line.split_once(':'));
    let lines: Vec<(String, &str)> = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.trim())).collect();
    let lines = lines.iter().map(|(name, value)| (&**name, *value));
    let begin = [(":status", &*status)].into_iter();
    let Some(code) = grpc else {
        let length = length.as_deref().map(|length| ("content-length", length));
        return [hpack::write_fields(begin.chain([("server", "loadline")]).chain(length).chain(lines)), Vec::new()];
    };
    let code = code.to_string();
    let end = [("grpc-status", &*code)].into_iter();
    match &*code {
        "0" => [hpack::write_fields(begin.chain(lines)), hpack::write_fields(end)],
        _ => [hpack::write_fields(begin.chain(lines).chain(end)), Vec::new()],
    }
}

/// The date header, which all answers in one second share.
#[derive(Debug, Default)]
pub(super) struct DateHeader {
    pub(super) second: Option<u64>,
    date: Vec<u8>,
}

impl DateHeader {
    pub(super) fn tell(&mut self, second: u64) {
        if self.second != Some(second) {
            self.second = Some(second);
            self.date.clear();
            hpack::write_field(&mut self.date, "date", &crate::http1::http_date(second));
        }
    }
}

impl AnyStream for ServerStream {
    fn number(&self) -> u32 {
        self.number
    }

    fn window(&mut self) -> &mut i64 {
        &mut self.window
    }
}

/// Open streams of one connection, on the server's side. The next frame is sent on the first stream in the list that
/// has something to send.
pub(super) type ServerStreams = StreamList<ServerStream>;

impl ServerStreams {
    pub(super) fn close(&mut self, number: u32) {
        self.0.retain(|stream| stream.number != number);
    }

    pub(super) fn can_send(&self, sending: &Sending) -> bool {
        self.0.iter().any(|stream| stream.can_send(sending))
    }

    /// Returns the time of the earliest unsent event, over all answers that are streams of events.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.0.iter().filter_map(ServerStream::due_ns).min()
    }

    /// Appends one frame of the first stream that can send, and moves this stream to the end of the list. Returns false
    /// if no stream can send.
    pub(super) fn send(&mut self, sending: &mut Sending, now: &DateHeader, to: &mut Vec<u8>) -> bool {
        let Some(at) = self.0.iter().position(|stream| stream.can_send(sending)) else { return false };
        if self.0[at].send(sending, now, to) {
            self.0.remove(at);
        } else {
            self.0[at..].rotate_left(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_content_has_no_length() {
        let fields = |length: Option<(&'static str, &'static str)>, status| {
            let begin = [(":status", status), ("server", "loadline")];
            hpack::write_fields(begin.into_iter().chain(length).chain([("content-type", "text/plain")]))
        };
        let page = |status| Page::new(status, "text/plain", "", b"body".to_vec());
        assert_eq!(blocks(&page(204))[0], fields(None, "204"));
        assert_eq!(blocks(&page(200))[0], fields(Some(("content-length", "4")), "200"));
    }
}
