//! Rules that distinguish a server's answers from messages that the server sends without a request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem::Finder;
use run::{Protocol, StreamPlan};

use super::ids::MessageIds;
use crate::events::{EventCounter, NO_END};
use crate::search::Search;
use crate::{Fault, Outcome, ProtoError, Which};

/// Maximum size, in bytes, of a message that the client searches for an ID.
const MAX_MESSAGE: usize = 1 << 20;
/// Close codes that are not errors: the connection has served its purpose, or the server shuts down (RFC 6455, section
/// 7.4.1).
const NORMAL_CLOSES: [u16; 2] = [1000, 1001];
/// Explanation of a message that no request asked for.
const PUSHES: &str = "it sends messages that no request asked for, so an answer is not known from them. Say how answers are \
                      told: by a text that only answers hold (--expect-text TEXT), by the request's ID (--body FILE \
                      --id-pointer /id), or by their position (--answer-message N --exchange-messages N)";

/// Rule that decides which message is an answer.
pub(super) enum AnswerRule {
    /// Each message answers the oldest request. The flag becomes true when the server sends a message without a request
    /// on any connection. Once the flag is true, no message counts as an answer.
    NextMessage(AtomicBool),
    /// Only a message that contains a given text is an answer.
    Text(Box<Finder<'static>>),
    /// An answer contains the ID of its request.
    Id(MessageIds),
    /// The server sends `messages` messages for each request, and message number `answer` is the answer. `misfit`
    /// becomes true when a message arrives between two exchanges (a request and its messages) on any connection. Once
    /// `misfit` is true, no message counts as an answer.
    Position { answer: u16, messages: u16, misfit: AtomicBool },
    /// The answer is a stream: all messages until the end marker, or until the server closes the connection.
    Stream(StreamPlan),
}

impl AnswerRule {
    /// Reads the rule for answers from the user's settings. Also returns the message to send, with space for an ID if
    /// the rule needs one.
    pub(super) fn new(plan: &Protocol, message: Arc<[u8]>) -> Result<(Self, Arc<[u8]>), ProtoError> {
        let Protocol::Websocket {
            expect_text, id_pointer, answer_id_pointer, answer_message, exchange_messages, ..
        } = plan
        else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        let text = Some(expect_text).filter(|text| !text.is_empty());
        match (text, id_pointer, answer_message) {
            (None, None, None) => Ok((Self::NextMessage(AtomicBool::new(false)), message)),
            (Some(text), None, None) => Ok((Self::Text(Box::new(Finder::new(text).into_owned())), message)),
            (None, Some(pointer), None) => {
                let (ids, message) = MessageIds::new(pointer, answer_id_pointer.as_deref(), &message)?;
                Ok((Self::Id(ids), message))
            }
            (None, None, Some(answer)) => {
                let messages = exchange_messages.unwrap_or(*answer);
                Ok((position(*answer, messages)?, message))
            }
            (_, Some(pointer), _) => Err(twice("id-pointer", pointer)),
            (_, None, Some(answer)) => Err(twice("answer-message", &answer.to_string())),
        }
    }

    /// Returns true if the rule could count a message that no request asked for as an answer.
    pub(super) fn may_take_pushes(&self) -> bool {
        matches!(self, Self::NextMessage(_) | Self::Position { .. })
    }
}

fn position(answer: u16, messages: u16) -> Result<AnswerRule, ProtoError> {
    if answer == 0 {
        let (flag, advice) = ("answer-message", "messages are counted from 1");
        return Err(ProtoError::Flag { flag, value: "0".into(), advice: advice.into() });
    }
    if messages < answer {
        let advice = format!("the answer is message {answer}; give at least {answer}");
        return Err(ProtoError::Flag { flag: "exchange-messages", value: messages.to_string(), advice });
    }
    Ok(AnswerRule::Position { answer, messages, misfit: AtomicBool::new(false) })
}

fn twice(flag: &'static str, value: &str) -> ProtoError {
    let advice = "give only one of --expect-text, --id-pointer and --answer-message".into();
    ProtoError::Flag { flag, value: run::visible(value).to_string(), advice }
}

/// Meaning of a complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The answer to a request.
    Answer(Which),
    /// A message of an exchange that is not the exchange's answer.
    Part,
    /// A message that no request asked for.
    Unasked,
}

/// State of the answer rule on one connection.
#[derive(Debug, Default)]
pub(super) struct AnswerFinder {
    search: Search,
    /// The message that is being received, if it is searched for an ID.
    message: Vec<u8>,
    is_too_long: bool,
    /// IDs of the messages that are not completely sent.
    unsent: VecDeque<u32>,
    /// Requests without an answer: the ID in each request's message, and the request's own ID on the connection.
    waiting: Vec<(u32, u16)>,
    /// Number of messages of the current exchange that have arrived.
    position: u16,
    /// Number of successive messages that no request asked for.
    unasked: u64,
    /// Event counter of streams; absent before the first message of the first stream.
    events: Option<Box<EventCounter>>,
    /// Number of events that were found since the last report to the caller.
    new_events: u32,
    /// Number of bytes of the current stream that have arrived.
    stream_bytes: u64,
}

impl AnswerFinder {
    /// Adds a request that waits for its answer.
    pub(super) fn begin(&mut self, rule: &AnswerRule, request: u16) {
        if let AnswerRule::Id(ids) = rule {
            let id = ids.next();
            self.unsent.push_back(id);
            self.waiting.push((id, request));
        }
    }

    /// Writes an ID into a piece of the message that is being sent. `from` is the offset of the piece in the message.
    pub(super) fn write_id(&self, rule: &AnswerRule, from: usize, piece: &mut [u8]) {
        if let (AnswerRule::Id(ids), Some(id)) = (rule, self.unsent.front()) {
            ids.write(*id, from, piece);
        }
    }

    /// Records that a message was sent completely.
    pub(super) fn sent(&mut self) {
        self.unsent.pop_front();
    }

    /// Reads a piece of a message from the server.
    pub(super) fn piece(&mut self, rule: &AnswerRule, bytes: &[u8]) {
        match rule {
            AnswerRule::Text(text) => self.search.look(text, bytes),
            AnswerRule::Id(_) => {
                self.is_too_long |= self.message.len() + bytes.len() > MAX_MESSAGE;
                if !self.is_too_long {
                    self.message.extend_from_slice(bytes);
                }
            }
            AnswerRule::Stream(plan) => {
                self.stream_bytes += bytes.len() as u64;
                self.events_of(plan).read(bytes, false);
            }
            AnswerRule::NextMessage(_) | AnswerRule::Position { .. } => {}
        }
    }

    fn events_of(&mut self, plan: &StreamPlan) -> &mut EventCounter {
        self.events.get_or_insert_with(|| Box::new(EventCounter::new(plan)))
    }

    /// Handles the end of a message of a stream. The message ends the stream only if it contains the end marker.
    fn event_ended(&mut self, plan: &StreamPlan) -> Found {
        let events = self.events_of(plan);
        let (count, is_end) = (events.read(&[], true), events.has_end() == Some(true));
        self.new_events += count;
        if !is_end {
            return Found::Part;
        }
        self.events_of(plan).clear();
        Found::Answer(Which::Oldest)
    }

    /// Ends a stream when the server closes the connection. Returns `None` if the answer is not a stream, or if the
    /// server closes the connection with an error.
    pub(super) fn stream_closed(&mut self, rule: &AnswerRule, code: &[u8]) -> Option<Outcome> {
        let AnswerRule::Stream(plan) = rule else { return None };
        let is_normal = code.is_empty() || NORMAL_CLOSES.iter().any(|normal| normal.to_be_bytes() == *code);
        let has_end = self.events_of(plan).has_end() != Some(false);
        is_normal.then_some(if has_end { Outcome::Expected } else { Outcome::Failed(Fault::WrongBody(NO_END)) })
    }

    /// Returns true if bytes of the current stream have arrived.
    pub(super) const fn is_in_stream(&self) -> bool {
        self.stream_bytes > 0
    }

    /// Returns the number of events that were found since the last call.
    pub(super) const fn take_events(&mut self) -> u32 {
        std::mem::replace(&mut self.new_events, 0)
    }

    /// Returns the number of bytes of a stream that has ended.
    pub(super) const fn take_stream_bytes(&mut self) -> u64 {
        std::mem::replace(&mut self.stream_bytes, 0)
    }

    /// Decides whether the complete message is an answer. `is_asked_for` is true if a completely sent request waits for
    /// an answer.
    pub(super) fn message_ended(&mut self, rule: &AnswerRule, is_asked_for: bool) -> Result<Found, Fault> {
        let found = match rule {
            AnswerRule::NextMessage(pushes) => {
                pushes.fetch_or(!is_asked_for, Ordering::Relaxed);
                if pushes.load(Ordering::Relaxed) { Found::Unasked } else { Found::Answer(Which::Oldest) }
            }
            AnswerRule::Text(_) if self.search.found() && is_asked_for => Found::Answer(Which::Oldest),
            AnswerRule::Text(_) => Found::Unasked,
            AnswerRule::Id(ids) => self.by_id(ids)?,
            AnswerRule::Stream(plan) if is_asked_for => self.event_ended(plan),
            AnswerRule::Stream(plan) => {
                self.events_of(plan).clear();
                self.stream_bytes = 0;
                Found::Unasked
            }
            AnswerRule::Position { answer, messages, misfit } => {
                misfit.fetch_or(self.position == 0 && !is_asked_for, Ordering::Relaxed);
                if misfit.load(Ordering::Relaxed) { Found::Unasked } else { self.by_position(*answer, *messages) }
            }
        };
        self.search.clear();
        self.message.clear();
        self.unasked = if found == Found::Unasked { self.unasked + 1 } else { 0 };
        if rule.may_take_pushes() && found == Found::Unasked {
            return Err(Fault::Unasked("a message that no request asked for"));
        }
        Ok(found)
    }

    fn by_id(&mut self, ids: &MessageIds) -> Result<Found, Fault> {
        if std::mem::take(&mut self.is_too_long) {
            return Err(Fault::Limit("a message of over 1 MiB whose ID is looked for"));
        }
        let id = ids.of_answer(&self.message);
        let at = self.waiting.iter().position(|(waiting, _)| Some(*waiting) == id);
        let request = at.map(|at| self.waiting.swap_remove(at).1);
        Ok(request.map_or(Found::Unasked, |request| Found::Answer(Which::Id(request))))
    }

    fn by_position(&mut self, answer: u16, messages: u16) -> Found {
        self.position += 1;
        let found = if self.position == answer { Found::Answer(Which::Oldest) } else { Found::Part };
        self.position %= messages;
        found
    }

    /// Explains why the last messages did not count as answers, with advice.
    pub(super) fn explain(&self, rule: &AnswerRule) -> Option<String> {
        if self.unasked == 0 {
            return None;
        }
        Some(match rule {
            AnswerRule::NextMessage(_) => PUSHES.into(),
            AnswerRule::Text(_) => {
                "no message held the text of --expect-text; give a text that every answer holds".into()
            }
            AnswerRule::Id(ids) => format!(
                "no message held the request's ID at {:?}; give the pointer of the ID in the answer with \
                 --answer-id-pointer",
                run::visible(&ids.pointer)
            ),
            AnswerRule::Stream(_) => "it sends messages before the request; they are no events".into(),
            AnswerRule::Position { messages, .. } => format!(
                "it sends more messages for a request than {messages}; give their number with --exchange-messages, or \
                 tell answers by their text (--expect-text) or ID (--id-pointer)"
            ),
        })
    }

    /// Prepares the state for a new connection, without freeing the memory.
    pub(super) fn clear(&mut self) {
        self.search.clear();
        self.message.clear();
        self.unsent.clear();
        self.waiting.clear();
        (self.is_too_long, self.position, self.unasked) = (false, 0, 0);
        self.events.iter_mut().for_each(|events| events.clear());
        (self.new_events, self.stream_bytes) = (0, 0);
    }
}
