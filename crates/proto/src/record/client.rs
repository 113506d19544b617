//! Record client: reads the same record again and again.

use super::{HEAD_BYTES, Head, HeadBuffer, LARGE_BYTES, MAX_BYTES, Operation, SPLIT_BYTES, Status};
use crate::{Client, Done, Fault, Progress, Request, Requester, Which};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone, Copy, Debug)]
pub struct ClientPlan {
    record_bytes: u32,
}

impl ClientPlan {
    /// Creates settings for records of `record_bytes` bytes, but at least 1 and at most [`MAX_BYTES`]. The client reads
    /// the first record of the file.
    pub fn new(record_bytes: u32) -> Self {
        Self { record_bytes: record_bytes.clamp(1, MAX_BYTES) }
    }

    /// Returns the prepared answer to one request, for measuring the generator's maximum rate without a server. If a
    /// record is split into parts of unequal size, the prepared answer is too long for the last part. The generator's
    /// maximum rate is measured only with record sizes that are split into equal parts, or that are not split.
    pub fn canned_answer(&self) -> Vec<u8> {
        let piece = piece_of(self.record_bytes, self.record_bytes >= LARGE_BYTES);
        let head = Head { status: Some(Status::Done), ..Head::request(Operation::Read, 0, piece) };
        let mut answer = head.encode().to_vec();
        answer.resize(HEAD_BYTES + piece as usize, b'x');
        answer
    }
}

const fn piece_of(left: u32, large: bool) -> u32 {
    if large || left < SPLIT_BYTES { left } else { SPLIT_BYTES }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession {
            plan: *self,
            base: 0,
            waiting: 0,
            done_bytes: 0,
            large: self.record_bytes >= LARGE_BYTES,
            state: State::Idle,
            head: HeadBuffer::new(),
            to_send: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// A request was sent, and the head of its answer has not arrived completely. The number is the number of requested
    /// bytes.
    Head(u32),
    /// The body of an answer is arriving. The number is the number of bytes of the body that are still missing.
    Body(u32),
}

/// Client side of one connection. The client reads one record at a time. The next requested record waits until the
/// current record is complete.
#[derive(Debug)]
pub struct ClientSession {
    plan: ClientPlan,
    /// Position of the record in the file.
    base: u64,
    /// Number of records that were requested and are not complete.
    waiting: u32,
    /// Number of bytes of the current record that were received.
    done_bytes: u32,
    /// True if the current record is requested in one large read.
    large: bool,
    state: State,
    head: HeadBuffer,
    /// The request to send, and the number of its bytes that were sent.
    to_send: Option<([u8; HEAD_BYTES], usize)>,
}

impl ClientSession {
    /// Sets the file position of all records that are requested from now on.
    pub fn seek(&mut self, offset: u64) {
        self.base = offset;
    }

    /// Requests the next part of the current record.
    fn ask(&mut self) {
        let piece = piece_of(self.plan.record_bytes - self.done_bytes, self.large);
        let head = Head::request(Operation::Read, self.base + u64::from(self.done_bytes), piece);
        self.to_send = Some((head.encode(), 0));
        self.state = State::Head(piece);
    }

    fn on_head(&mut self, asked: u32, bytes: &[u8; HEAD_BYTES]) -> Result<(), Fault> {
        let head = Head::decode(bytes).ok_or(Fault::Malformed("a reply without a head of the record protocol"))?;
        match (head.operation, head.status) {
            (Operation::Read, Some(Status::Done)) if head.length == asked => self.state = State::Body(asked),
            (Operation::Read, Some(Status::NoBuffer)) if self.large && head.length == 0 => {
                self.large = false;
                self.ask();
            }
            (Operation::Read, Some(Status::Done)) => return Err(Fault::WrongBody("a record of another length")),
            (Operation::Read, Some(status)) => return Err(Fault::WrongBody(status.words())),
            _ => return Err(Fault::Malformed("a reply to something that was not asked")),
        }
        Ok(())
    }

    /// Reads bytes of a record. Returns true if the record is complete.
    fn on_body(&mut self, left: u32, input: &mut &[u8]) -> bool {
        let n = input.len().min(left as usize);
        *input = &input[n..];
        self.done_bytes += n as u32;
        if (n as u32) < left {
            self.state = State::Body(left - n as u32);
            return false;
        }
        if self.done_bytes < self.plan.record_bytes {
            self.ask();
            return false;
        }
        self.waiting -= 1;
        self.start_next();
        true
    }

    fn start_next(&mut self) {
        self.done_bytes = 0;
        self.large = self.plan.record_bytes >= LARGE_BYTES;
        self.state = State::Idle;
        if self.waiting > 0 {
            self.ask();
        }
    }
}

impl Requester for ClientSession {
    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.done_bytes > 0 || matches!(self.state, State::Body(_)) {
            begun(Which::Oldest, 0);
        }
    }

    fn begin(&mut self, _: Request) {
        self.waiting += 1;
        if self.state == State::Idle {
            self.start_next();
        }
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let Some((bytes, at)) = &mut self.to_send else { return 0 };
        let n = out.len().min(HEAD_BYTES - *at);
        out[..n].copy_from_slice(&bytes[*at..*at + n]);
        *at += n;
        if *at == HEAD_BYTES {
            self.to_send = None;
        }
        n
    }

    fn wants_transmit(&self) -> bool {
        self.to_send.is_some()
    }

    fn receive(&mut self, mut input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        while !input.is_empty() {
            match self.state {
                State::Idle => return Err(Fault::Malformed("bytes that nobody asked for")),
                State::Head(asked) => {
                    if let Some(bytes) = self.head.take(&mut input) {
                        self.on_head(asked, &bytes)?;
                    }
                }
                State::Body(left) => {
                    if self.on_body(left, &mut input) {
                        progress.completed += 1;
                        done(Done::OLDEST);
                    }
                }
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if self.waiting > 0 { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.waiting, self.done_bytes, self.to_send, self.state) = (0, 0, None, State::Idle);
        self.head = HeadBuffer::new();
    }
}
