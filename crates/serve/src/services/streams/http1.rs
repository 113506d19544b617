//! HTTP/1.1 connection of the service `sse`: reads requests, and answers each of them with a stream of events.

use std::io::Write as _;
use std::sync::Arc;

use proto::http1::{Chunked, Framing, HEAD_LIMIT, empty_lines, request};
use proto::{Fault, Progress, Session};

use super::plan::StreamPlan;
use super::schedule::Times;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// While `ENOUGH_OUTPUT_BYTES` or more bytes of output are unsent, no further event is added to the output of a
/// connection.
const ENOUGH_OUTPUT_BYTES: usize = 16 * 1024;

/// Part of a request to which the next byte belongs, or the answer that is being sent.
enum Phase {
    Head,
    /// The body of a request, whose remaining bytes (the number in the variant) are skipped.
    Body(u64),
    Chunks(Chunked),
    /// A request is being answered. Requests that arrive while an answer is being sent wait.
    Answering(Times),
}

/// Server side of one connection.
pub(super) struct StreamSession {
    plan: Arc<StreamPlan>,
    phase: Phase,
    /// Received bytes that were not parsed yet: an incomplete head, or requests that wait.
    input: Vec<u8>,
    output: Vec<u8>,
    /// Number of bytes of `output` that were sent.
    sent: usize,
    keep_alive: bool,
    /// True if streams are sent in chunks (HTTP/1.1). Without chunks (HTTP/1.0), a stream ends with its connection.
    has_chunks: bool,
    /// True if the connection must end after all output was sent.
    ends: bool,
}

impl StreamSession {
    pub(super) fn new(plan: Arc<StreamPlan>) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { plan, phase: Phase::Head, input, output, sent: 0, keep_alive: true, has_chunks: true, ends: false }
    }

    /// Parses the input as far as possible. Returns the number of requests that are now complete.
    fn read(&mut self) -> u32 {
        let (mut used, mut requests) = (0, 0);
        while !self.ends && used < self.input.len() {
            let rest = &self.input[used..];
            used += match &mut self.phase {
                Phase::Answering(_) => break,
                Phase::Body(left) => {
                    let n = (*left).min(rest.len() as u64);
                    *left -= n;
                    n as usize
                }
                Phase::Chunks(chunks) => match chunks.skip(rest) {
                    Ok((n, _)) => n,
                    Err(_) => {
                        self.refuse(400);
                        break;
                    }
                },
                Phase::Head => match empty_lines(rest) {
                    0 => match self.head(used) {
                        0 => break,
                        n => n,
                    },
                    n => n,
                },
            };
            let is_whole = match &self.phase {
                Phase::Body(left) => *left == 0,
                Phase::Chunks(chunks) => chunks.done(),
                Phase::Head | Phase::Answering(_) => false,
            };
            if is_whole {
                requests += 1;
                self.answer();
            }
        }
        self.input.drain(..used);
        requests
    }

    /// Parses the head of a request that begins at position `at` of the input. Returns the length of the head; 0 if the
    /// head is incomplete or refused.
    fn head(&mut self, at: usize) -> usize {
        let head = match request(&self.input[at..]) {
            Ok(Some(head)) => head,
            Ok(None) => return 0,
            Err(refused) => {
                self.refuse(refused.status);
                return 0;
            }
        };
        self.has_chunks = head.minor > 0;
        self.keep_alive = self.has_chunks && head.hop.persists(head.minor);
        if head.expects_continue {
            self.output.extend_from_slice(CONTINUE);
        }
        self.phase = match head.framing {
            Framing::Length(n) => Phase::Body(n),
            Framing::Chunked => Phase::Chunks(Chunked::new()),
            Framing::Undeclared | Framing::OtherCoding => Phase::Body(0),
        };
        head.length
    }

    /// Refuses a request, and ends the connection.
    fn refuse(&mut self, status: u16) {
        let _ = write!(self.output, "HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        self.ends = true;
    }

    /// Begins the answer to a request. The head of the answer is sent immediately.
    fn answer(&mut self) {
        let kind = if self.plan.lines { "application/x-ndjson" } else { "text/event-stream" };
        let close = if self.keep_alive { "" } else { "Connection: close\r\n" };
        let coding = if self.has_chunks { "Transfer-Encoding: chunked\r\n" } else { "" };
        let _ = write!(
            self.output,
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nCache-Control: no-cache\r\n{close}{coding}\r\n"
        );
        self.phase = Phase::Answering(self.plan.begin());
    }

    /// Writes the events that are due.
    fn write_due(&mut self) {
        while let Phase::Answering(times) = &mut self.phase {
            let plan = &self.plan;
            if self.output.len() >= ENOUGH_OUTPUT_BYTES || times.next_ns > (plan.clock)() {
                return;
            }
            if plan.schedule.is_over(times) {
                if !plan.end.is_empty() {
                    write_event(&mut self.output, plan.lines, self.has_chunks, format_args!("{}", plan.end));
                }
                if self.has_chunks {
                    self.output.extend_from_slice(LAST_CHUNK);
                }
                self.phase = Phase::Head;
                self.ends = !self.keep_alive;
                self.read();
                return;
            }
            write_event(&mut self.output, plan.lines, self.has_chunks, format_args!("{{\"event\":{}}}", times.sent));
            plan.schedule.advance(times);
        }
    }
}

/// Writes an event; if `has_chunks` is true, the event is written as a chunk.
fn write_event(output: &mut Vec<u8>, lines: bool, has_chunks: bool, text: std::fmt::Arguments<'_>) {
    let event = if lines { format!("{text}\n") } else { format!("data: {text}\n\n") };
    let _ = match has_chunks {
        true => write!(output, "{:x}\r\n{event}\r\n", event.len()),
        false => output.write_all(event.as_bytes()),
    };
}

impl Session for StreamSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            self.write_due();
        }
        let n = (self.output.len() - self.sent).min(out.len());
        out[..n].copy_from_slice(&self.output[self.sent..self.sent + n]);
        self.sent += n;
        n
    }

    fn wants_transmit(&self) -> bool {
        self.sent < self.output.len() || self.due_ns().is_some_and(|due_ns| due_ns <= (self.plan.clock)())
    }

    fn due_ns(&self) -> Option<u64> {
        match &self.phase {
            Phase::Answering(times) => Some(times.next_ns),
            _ => None,
        }
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        self.input.extend_from_slice(input);
        let completed = self.read();
        if self.input.len() > HEAD_LIMIT {
            return Err(Fault::Limit("the requests that wait exceed 64 KiB"));
        }
        Ok(Progress { completed, close: self.ends, linger: self.ends, ..Progress::default() })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn flushed(&mut self) -> Progress {
        Progress { close: self.ends, linger: self.ends, ..Progress::default() }
    }

    fn awaits_head(&self) -> bool {
        matches!(self.phase, Phase::Head) && !self.input.is_empty()
    }

    fn head_is_late(&mut self) {
        self.refuse(408);
    }

    fn reset(&mut self) {
        *self = Self::new(self.plan.clone());
    }
}

#[cfg(test)]
mod tests;
