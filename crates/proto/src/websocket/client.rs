//! WebSocket client. For each request, the client sends the same message with a new mask, and waits for the answering
//! message.

mod sending;

use std::sync::Arc;

use run::{Protocol, StreamFormat, StreamPlan};

use super::answers::{AnswerFinder, AnswerRule, Found};
use super::frame::{self, Piece, Reader};
use super::handshake::check_accepted;
use super::prepared::Prepared;
use super::text::TextCheck;
use crate::http1::HeadBuffer;
use crate::outbox::SendBuffer;
use crate::{Client, Done, Fault, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Maximum size of unsent answers to pings, bytes.
const MAX_OWED: usize = 64 * 1024;

/// Close code of a server that asks the client to come back later, because it is overloaded (registry of IANA,
/// "WebSocket Close Code Number").
const TRY_AGAIN_LATER: u16 = 1013;

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan(Arc<Prepared>);

impl ClientPlan {
    /// Checks the settings, reads the message, and builds the handshake and the frame header.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        Ok(Self(Arc::new(Prepared::new(plan)?)))
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn with_stream(mut self, stream: &StreamPlan) -> Result<Self, ProtoError> {
        // The settings were just made, so this `Arc` is the only reference to them.
        let plan = Arc::get_mut(&mut self.0).filter(|_| stream.format == StreamFormat::Ws);
        plan.ok_or_else(|| ProtoError::wrong_stream(stream))?.answer_rule = AnswerRule::Stream(stream.clone());
        Ok(self)
    }

    fn session(&self) -> ClientSession {
        let mut session = ClientSession {
            plan: self.0.clone(),
            outgoing: SendBuffer::default(),
            answer: HeadBuffer::default(),
            refusal: None,
            close_code: None,
            open: false,
            over: false,
            to_send: 0,
            sent: 0,
            mask: [0; 4],
            masks: fastrand::Rng::new(),
            begun: 0,
            outstanding: 0,
            reader: Reader::new(false),
            bytes: 0,
            text: TextCheck::default(),
            answers: AnswerFinder::default(),
        };
        session.reset();
        session
    }
}

/// Client side of one connection.
pub struct ClientSession {
    plan: Arc<Prepared>,
    /// Unsent handshake and control frames, which are sent between messages.
    outgoing: SendBuffer,
    answer: HeadBuffer,
    refusal: Option<String>,
    /// Code of the server's close frame; `None` without such a frame, or if it has no code.
    close_code: Option<u16>,
    /// True once the handshake is complete.
    open: bool,
    /// True after a close frame was sent.
    over: bool,
    to_send: u32,
    /// Number of bytes of the current frame that were sent.
    sent: usize,
    /// Mask of the current frame.
    mask: [u8; 4],
    masks: fastrand::Rng,
    begun: u64,
    outstanding: u32,
    reader: Reader,
    /// Number of bytes of the current message that have arrived.
    bytes: u64,
    text: TextCheck,
    answers: AnswerFinder,
}

impl Requester for ClientSession {
    fn sends_unasked(&self) -> bool {
        true
    }

    fn matches_answers_by_order(&self) -> bool {
        self.plan.answer_rule.may_take_pushes()
    }

    fn ready(&self) -> bool {
        self.open
    }

    fn explain(&self) -> Option<String> {
        self.refusal.clone().or_else(|| self.answers.explain(&self.plan.answer_rule))
    }

    fn close_words(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn asks_to_come_later(&self) -> bool {
        self.close_code == Some(TRY_AGAIN_LATER)
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.bytes > 0 || self.reader.is_inside() || self.answers.is_in_stream())
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        let is_known = self.matches_answers_by_order() || self.answers.is_in_stream();
        if is_known && self.is_answering() == Some(true) {
            begun(Which::Oldest, self.answers.take_events());
        }
    }

    fn takes_more(&self) -> bool {
        !self.over && (self.plan.most == 0 || self.begun < self.plan.most)
    }

    fn begin(&mut self, request: Request) {
        self.answers.begin(&self.plan.answer_rule, request.id);
        self.to_send += 1;
        self.outstanding += 1;
        self.begun += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() {
            done += if self.sent == 0 && self.outgoing.waiting() > 0 {
                self.give(&mut out[done..])
            } else if self.open && self.to_send > 0 {
                self.message(&mut out[done..])
            } else {
                break;
            };
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0 || self.open && self.to_send > 0
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut rest = input;
        if !self.open {
            let Some(used) = self.answer.collect(input)? else { return Ok(Progress::default()) };
            self.answered(self.answer.head(input, used).to_vec().as_slice())?;
            self.answer.clear();
            rest = &input[used..];
        }
        let mut progress = Progress::default();
        while let Some(piece) = self.reader.next(&mut rest)? {
            match piece {
                Piece::Data { head, from, bytes, ends } => {
                    self.text.piece(head, from, bytes, ends)?;
                    self.bytes += bytes.len() as u64;
                    self.answers.piece(&self.plan.answer_rule, bytes);
                    if ends && head.fin {
                        self.message_ended(&mut progress, done)?;
                    }
                }
                Piece::Control { opcode: frame::PING, payload } => {
                    let mask = Some(self.masks.u32(..).to_ne_bytes());
                    frame::write_control(self.outgoing.end(), frame::PONG, payload, mask);
                    if self.outgoing.waiting() > MAX_OWED {
                        return Err(Fault::Limit("pings of WebSocket without end"));
                    }
                }
                Piece::Control { opcode: frame::CLOSE, payload } => {
                    self.refusal.get_or_insert_with(|| closed(payload));
                    self.close_code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    let code = payload.get(..2).unwrap_or_default().to_vec();
                    self.server_closed(&code, &mut progress, done);
                    return Ok(progress);
                }
                Piece::Control { .. } => {}
            }
        }
        if progress.completed > 0 && self.outstanding == 0 && !self.takes_more() {
            self.close(&1000_u16.to_be_bytes());
            progress.merge(Progress::CLOSE);
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let inside = !self.open || self.outstanding > 0 || self.reader.is_inside();
        if inside { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        self.outgoing.clear();
        self.outgoing.append(&self.plan.handshake);
        self.answer.clear();
        self.reader.reset();
        (self.open, self.over, self.refusal, self.close_code) = (false, false, None, None);
        self.answers.clear();
        self.text = TextCheck::default();
        (self.to_send, self.sent, self.begun, self.outstanding, self.bytes) = (0, 0, 0, 0, 0);
    }
}

impl ClientSession {
    /// Reports the request that the complete message answers.
    #[inline]
    fn message_ended(&mut self, progress: &mut Progress, done: &mut dyn FnMut(Done)) -> Result<(), Fault> {
        let bytes = std::mem::take(&mut self.bytes);
        let is_asked_for = self.outstanding > self.to_send;
        match self.answers.message_ended(&self.plan.answer_rule, is_asked_for)? {
            Found::Answer(which) => self.completed(which, Outcome::Expected, bytes, progress, done),
            Found::Part => {}
            Found::Unasked => progress.unasked += 1,
        }
        Ok(())
    }

    /// Reports a complete answer. `bytes` is the length of its last message.
    #[inline]
    fn completed(
        &mut self,
        which: Which,
        outcome: Outcome,
        bytes: u64,
        progress: &mut Progress,
        done: &mut dyn FnMut(Done),
    ) {
        self.outstanding -= 1;
        progress.completed += 1;
        let bytes = bytes.max(self.answers.take_stream_bytes());
        let events = self.answers.take_events();
        done(Done { which, status: 0, outcome, bytes, events });
    }

    /// Handles a close frame of the server, which may be the regular end of a stream.
    fn server_closed(&mut self, code: &[u8], progress: &mut Progress, done: &mut dyn FnMut(Done)) {
        if self.outstanding > self.to_send
            && let Some(outcome) = self.answers.stream_closed(&self.plan.answer_rule, code)
        {
            self.completed(Which::Oldest, outcome, 0, progress, done);
        }
        self.close(code);
        progress.merge(Progress::CLOSE);
    }

    /// Checks the complete answer to the handshake.
    fn answered(&mut self, head: &[u8]) -> Result<(), Fault> {
        let Err(why) = check_accepted(head) else {
            self.open = true;
            return Ok(());
        };
        let line = head.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(80)]);
        self.refusal = Some(format!(
            "{why}: it answers {:?}; correct the path or give the headers that it wants with --header",
            run::visible(&line)
        ));
        Err(Fault::Malformed("the server does not agree to WebSocket"))
    }
}

/// Describes a close frame of the server (RFC 6455, section 5.5.1).
fn closed(payload: &[u8]) -> String {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return "the server closed the connection without a code".into();
    };
    let (code, reason) = (u16::from_be_bytes(*code), String::from_utf8_lossy(reason));
    let words = if reason.is_empty() { "no reason".into() } else { format!("the reason {:?}", run::visible(&reason)) };
    let meaning = if code == TRY_AGAIN_LATER { " (try again later: it is overloaded)" } else { "" };
    format!("the server closed the connection with code {code}{meaning} and {words}")
}
