//! Record server: answers requests with records from [`Records`], and invalid requests with an error status.

use std::sync::Arc;

use super::{Head, HeadBuffer, MAX_BYTES, Operation, SPLIT_BYTES, Status};
use crate::{Fault, Progress, Session};

/// Origin of a record: the page cache, the disk, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// True if at least a part of the record was in the page cache.
    pub cached: bool,
    /// True if at least a part of the record came from the disk.
    pub disk: bool,
}

/// The file of a server, which all of its sessions share.
pub trait Records: Send + Sync {
    /// Returns the length of the file.
    fn file_bytes(&self) -> Result<u64, Status>;

    /// Appends `length` bytes from `offset` on to `into`. Near the end of the file, appends fewer bytes.
    fn read(&self, offset: u64, length: u32, into: &mut Vec<u8>) -> Result<Origin, Status>;

    /// Writes bytes to the file.
    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Status>;

    /// Returns a buffer for one large read, or `None` if no buffer is free. Dropping the returned value frees the
    /// buffer.
    fn large_buffer(self: Arc<Self>) -> Option<LargeBuffer>;
}

/// A buffer for large reads that is in use.
pub struct LargeBuffer(Option<Box<dyn FnOnce() + Send>>);

impl LargeBuffer {
    /// Creates a buffer that is in use. `give_back` is called once, when the buffer is dropped.
    pub fn new(give_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(give_back)))
    }
}

impl Drop for LargeBuffer {
    fn drop(&mut self) {
        if let Some(give_back) = self.0.take() {
            give_back();
        }
    }
}

/// Server side of one connection.
pub struct ServerSession<R: Records> {
    records: Arc<R>,
    head: HeadBuffer,
    /// The current write request: its position in the file, and its number of bytes.
    writing: Option<(u64, u32)>,
    body: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    /// Buffers for the large reads whose replies wait in `out`.
    held: Vec<LargeBuffer>,
    closing: bool,
}

impl<R: Records> ServerSession<R> {
    /// Creates a session that reads and writes `records`.
    pub fn new(records: Arc<R>) -> Self {
        Self {
            records,
            head: HeadBuffer::new(),
            writing: None,
            body: Vec::new(),
            out: Vec::new(),
            at: 0,
            held: Vec::new(),
            closing: false,
        }
    }

    fn answer(&mut self, request: Option<Head>) -> bool {
        let Some(request) = request.filter(|head| head.status.is_none()) else {
            // After an invalid header, the beginning of the next header is unknown, so the connection ends.
            self.closing = true;
            self.reply(Head::request(Operation::Read, 0, 0), Err(Status::Malformed));
            return false;
        };
        match request.operation {
            Operation::Length => {
                let outcome = self.records.file_bytes().map(|_| Origin::default());
                self.reply(Head { length: 0, ..request }, outcome);
            }
            Operation::Read => self.read(request),
            Operation::Write if request.length > MAX_BYTES => {
                self.closing = true;
                self.reply(Head { length: 0, ..request }, Err(Status::TooLong));
                return false;
            }
            Operation::Write => {
                self.writing = Some((request.offset, request.length));
                return self.write(&mut &[][..]);
            }
        }
        true
    }

    fn read(&mut self, request: Head) {
        let refuse = |status| (Head { length: 0, ..request }, Err(status));
        let (head, outcome) = if request.length > MAX_BYTES {
            refuse(Status::TooLong)
        } else if request.length > SPLIT_BYTES {
            match Arc::clone(&self.records).large_buffer() {
                Some(buffer) => {
                    self.held.push(buffer);
                    (request, Ok(()))
                }
                None => refuse(Status::NoBuffer),
            }
        } else {
            (request, Ok(()))
        };
        match outcome {
            Ok(()) => self.fetch(head),
            Err(status) => self.reply(head, Err(status)),
        }
    }

    /// Reads a record and appends the reply to `out`.
    fn fetch(&mut self, request: Head) {
        let begin = self.out.len();
        self.reply(request, Ok(Origin::default()));
        let body = self.out.len();
        let outcome = self.records.read(request.offset, request.length, &mut self.out);
        let got = (self.out.len() - body) as u32;
        let outcome = match outcome {
            Ok(_) if got == 0 && request.length > 0 => Err(Status::PastEnd),
            Ok(_) if got < request.length => Err(Status::Short),
            other => other,
        };
        if outcome != Ok(Origin::default()) {
            // The header is written again, because its status and the record's origin are known only after the read.
            self.out.truncate(if outcome.is_err() { begin } else { self.out.len() });
            let length = if outcome.is_err() { 0 } else { got };
            let head = self.head_of(Head { length, ..request }, outcome);
            match outcome {
                Ok(_) => self.out[begin..body].copy_from_slice(&head),
                Err(_) => self.out.extend_from_slice(&head),
            }
        }
    }

    /// Reads bytes of a write request. Returns true when the write is complete and answered.
    fn write(&mut self, input: &mut &[u8]) -> bool {
        let Some((offset, length)) = self.writing else { return false };
        let n = input.len().min(length as usize - self.body.len());
        self.body.extend_from_slice(&input[..n]);
        *input = &input[n..];
        if self.body.len() < length as usize {
            return false;
        }
        self.writing = None;
        let body = std::mem::take(&mut self.body);
        let outcome = self.records.write(offset, &body).map(|()| Origin::default());
        self.reply(Head::request(Operation::Write, offset, 0), outcome);
        true
    }

    fn reply(&mut self, request: Head, outcome: Result<Origin, Status>) {
        let head = self.head_of(request, outcome);
        self.out.extend_from_slice(&head);
    }

    fn head_of(&self, request: Head, outcome: Result<Origin, Status>) -> [u8; super::HEAD_BYTES] {
        let (status, origin) = outcome.map_or_else(|s| (s, Origin::default()), |o| (Status::Done, o));
        let file_bytes = self.records.file_bytes().unwrap_or(0);
        Head { status: Some(status), origin: (origin.cached, origin.disk), file_bytes, ..request }.encode()
    }
}

impl<R: Records> Session for ServerSession<R> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.out.len() - self.at);
        out[..n].copy_from_slice(&self.out[self.at..self.at + n]);
        self.at += n;
        if self.at == self.out.len() {
            self.at = 0;
            self.out.clear();
            self.out.shrink_to(2 * SPLIT_BYTES as usize);
            self.held.clear();
        }
        n
    }

    fn wants_transmit(&self) -> bool {
        self.at < self.out.len()
    }

    fn receive(&mut self, mut input: &[u8]) -> Result<Progress, Fault> {
        let mut progress = Progress { close: self.closing, linger: self.closing, ..Progress::default() };
        while !input.is_empty() && !self.closing {
            let complete = if self.writing.is_some() {
                self.write(&mut input)
            } else {
                match self.head.take(&mut input) {
                    Some(bytes) => self.answer(Head::decode(&bytes)),
                    None => false,
                }
            };
            progress.completed += u32::from(complete);
            (progress.close, progress.linger) = (self.closing, self.closing);
        }
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn awaits_head(&self) -> bool {
        self.writing.is_none() && !self.closing && self.head.filled > 0
    }

    fn reset(&mut self) {
        self.head = HeadBuffer::new();
        (self.writing, self.at, self.closing) = (None, 0, false);
        self.body = Vec::new();
        self.out = Vec::new();
        self.held.clear();
    }
}

#[cfg(test)]
mod tests;
