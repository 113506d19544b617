//! One request and its answer over a blocking socket. A load uses the same protocol code as this exchange.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use proto::{Fault, Outcome, Request, Requester};
use sys::blocking_stream::BlockingStream;
use sys::clock::monotonic_ns;

use super::response_text::Answer;

/// Maximum length of a response, bytes. A longer response counts as endless, and is an error.
const MAX_BYTES: u64 = 1 << 30;

/// Time to wait, before any load, for another message after the answer. On most network paths, a packet arrives within
/// this time. A later message is noticed during the load.
const LISTEN_TIME: Duration = Duration::from_millis(50);

/// Reasons why an exchange was not completed.
pub(super) enum ExchangeError {
    Fault(Fault),
    /// The protocol code gave an explanation that is more specific than the error.
    Explained(String),
    Silent,
    /// The server did not read the whole request in time.
    Unread,
    Endless,
    Io(std::io::Error),
}

/// One exchange of request and answer, with its times and byte counts.
pub(super) struct Exchange {
    pub(super) stream: BlockingStream,
    pub(super) begin: Instant,
    pub(super) deadline: Instant,
    /// Time from `begin` to the end of the answer.
    pub(super) took: Duration,
    /// First bytes of the answer, which can reveal another protocol.
    pub(super) answer: Answer,
    pub(super) bytes: u64,
    pub(super) bytes_sent: u64,
    pub(super) answer_bytes: u64,
    /// True if a request was begun. A request begins only after any handshake is complete.
    pub(super) request_begun: bool,
    /// Number of bytes that were received when the request began.
    pub(super) handshake_bytes: u64,
    /// Number of decrypted bytes that were received when the request began; 0 without TLS.
    pub(super) handshake_plain: usize,
    pub(super) handshakes: u64,
    /// Status of the answer.
    pub(super) status: u16,
    /// Length of the answer's body, bytes; `None` if the answer has no body.
    pub(super) body_bytes: Option<u64>,
    /// True if the server ends the connection after this answer.
    pub(super) is_closing: bool,
    /// Advice about an unexpected answer, from [`Requester::explain`]; `None` if there is none.
    pub(super) said: Option<String>,
}

impl Exchange {
    /// Creates an exchange on a new connection. The exchange must end at most `patience` after `begin`.
    pub(super) fn new(stream: BlockingStream, begin: Instant, patience: Duration) -> Self {
        Self {
            stream,
            begin,
            deadline: begin + patience,
            took: Duration::ZERO,
            answer: Answer::default(),
            bytes: 0,
            bytes_sent: 0,
            answer_bytes: 0,
            request_begun: false,
            handshake_bytes: 0,
            handshake_plain: 0,
            handshakes: 0,
            status: 0,
            body_bytes: None,
            is_closing: false,
            said: None,
        }
    }

    /// Returns an exchange for the next request on the same connection.
    pub(super) fn next(self, session: &mut dyn Requester) -> Self {
        session.forget_first_answer();
        Self::new(self.stream, Instant::now(), self.deadline - self.begin)
    }

    /// Performs the handshake, sends the request with the index `item` of the plan's set, and waits for the answer. If
    /// `is_last` is true, also listens for messages that the server sends without a request. Returns true if the status
    /// was unexpected.
    pub(super) fn run(&mut self, session: &mut dyn Requester, item: u16, is_last: bool) -> Result<bool, ExchangeError> {
        self.handshakes = u64::from(!session.ready());
        let outcome = self.talk(session, item, is_last);
        if let Some(plain) = session.plain() {
            self.answer = Answer(plain.to_vec());
        }
        match (outcome, session.explain()) {
            (
                Err(ExchangeError::Fault(_) | ExchangeError::Silent | ExchangeError::Unread | ExchangeError::Endless),
                Some(why),
            ) => Err(ExchangeError::Explained(why)),
            (outcome, said) => {
                self.said = said;
                outcome
            }
        }
    }

    /// Returns true if a handshake was completed, and no byte of an answer came. Over TLS, the session tickets that a
    /// server may have sent are no answer.
    pub(super) fn is_silent_after_handshake(&self) -> bool {
        self.request_begun && (self.bytes == self.handshake_bytes || self.answer.0.len() == self.handshake_plain)
    }

    /// Returns the number of bytes that came after the handshake, or the smallest number that is known. Over TLS, only
    /// decrypted bytes count, and only the first of them are known.
    pub(super) fn bytes_after_handshake(&self, over_tls: bool) -> u64 {
        match over_tls {
            true => self.answer.0.len().saturating_sub(self.handshake_plain) as u64,
            false => self.bytes - self.handshake_bytes,
        }
    }

    fn talk(&mut self, session: &mut dyn Requester, item: u16, is_last: bool) -> Result<bool, ExchangeError> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if !self.request_begun && session.ready() {
                // The server may end the connection together with its handshake (GOAWAY).
                if !session.takes_more() {
                    return Err(ExchangeError::Fault(Fault::ConnectionRefused));
                }
                session.begin(Request { item, ..Request::default() });
                (self.request_begun, self.handshake_bytes) = (true, self.bytes);
                self.handshake_plain = session.plain().map_or(0, <[u8]>::len);
            }
            self.send(session, &mut buffer)?;
            let n = self.read(&mut buffer, session.due_ns())?;
            match self.receive(session, &mut buffer, n)? {
                Some(Outcome::Failed(fault)) => return Err(ExchangeError::Fault(fault)),
                Some(outcome) => {
                    self.finish(session, &mut buffer, is_last)?;
                    return Ok(outcome == Outcome::Unexpected);
                }
                // The server ends the connection before it has answered, for example by a close frame of WebSocket.
                None if self.is_closing => {
                    let _ = self.send(session, &mut buffer);
                    return Err(ExchangeError::Fault(Fault::Short));
                }
                None if n == 0 && !session.is_timed() => return Err(ExchangeError::Fault(Fault::Short)),
                None if self.bytes > MAX_BYTES => return Err(ExchangeError::Endless),
                None => {}
            }
        }
    }

    /// Passes the first `n` bytes of the buffer to the session. Returns the outcome of the request if its answer is
    /// complete.
    fn receive(
        &mut self,
        session: &mut dyn Requester,
        buffer: &mut [u8],
        n: usize,
    ) -> Result<Option<Outcome>, ExchangeError> {
        self.bytes += n as u64;
        self.answer.keep(&buffer[..n]);
        let (mut status, mut outcome) = (0, None);
        let mut done = |done: proto::Done| {
            (status, self.answer_bytes) = (done.status, self.answer_bytes + done.bytes);
            outcome = Some(done.outcome);
        };
        session.tick(monotonic_ns());
        let heard = match n {
            // A timer of the session has expired. On a datagram socket, 0 bytes do not mean that the connection has
            // ended.
            0 if session.is_timed() => session.receive(&[], &mut done),
            0 => session.peer_closed(&mut done),
            n => session.receive(&buffer[..n], &mut done),
        };
        match heard {
            Ok(progress) => {
                (self.status, self.is_closing) = (status, progress.close);
                Ok(outcome)
            }
            Err(fault) => {
                // The last bytes of the session tell the server why the connection ends. Errors are ignored, because
                // the user already gets another error.
                let _ = self.send(session, buffer);
                Err(ExchangeError::Fault(fault))
            }
        }
    }

    /// Handles the end of a complete answer. After the last answer, also leaves the connection of a datagram protocol,
    /// and listens for messages that the server sends without a request.
    fn finish(&mut self, session: &mut dyn Requester, buffer: &mut [u8], is_last: bool) -> Result<(), ExchangeError> {
        (self.took, self.body_bytes) = (self.begin.elapsed(), session.last_body_bytes());
        if session.is_timed() && is_last {
            session.leave();
            self.send(session, buffer)?;
        }
        if is_last && !self.is_closing && session.matches_answers_by_order() {
            self.listen_for_more(session, buffer)?;
        }
        Ok(())
    }

    /// Waits for a message that no request asked for. The load would mistake a message without a request for an answer.
    fn listen_for_more(&mut self, session: &mut dyn Requester, buffer: &mut [u8]) -> Result<(), ExchangeError> {
        self.set_timeout(LISTEN_TIME);
        match self.stream.read(buffer) {
            Ok(n @ 1..) => session.receive(&buffer[..n], &mut |_| ()).map(drop).map_err(ExchangeError::Fault),
            _ => Ok(()),
        }
    }

    fn send(&mut self, session: &mut dyn Requester, buffer: &mut [u8]) -> Result<(), ExchangeError> {
        session.tick(monotonic_ns());
        while session.wants_transmit() {
            let n = session.transmit(buffer);
            // If a server answers before it has read everything, its answer explains more than the error EPIPE.
            if n == 0 || !self.write(&buffer[..n])? {
                break;
            }
        }
        Ok(())
    }

    /// Writes all bytes before the deadline. Returns false if the server takes no more bytes.
    fn write(&mut self, mut bytes: &[u8]) -> Result<bool, ExchangeError> {
        while !bytes.is_empty() {
            // One write may use up the whole timeout and still send only a part of the bytes.
            self.set_timeout(self.left().map_err(|_| ExchangeError::Unread)?);
            match self.stream.write(bytes) {
                Ok(n) => {
                    self.bytes_sent += n as u64;
                    bytes = &bytes[n..];
                }
                Err(e) if is_temporary(&e) => {}
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads what has arrived. Returns 0 at the end of the data, or when the time `due_ns` of a timer has come.
    fn read(&mut self, buffer: &mut [u8], due_ns: Option<u64>) -> Result<usize, ExchangeError> {
        loop {
            let mut time = self.left()?;
            if let Some(due_ns) = due_ns {
                match due_ns.saturating_sub(monotonic_ns()) {
                    0 => return Ok(0),
                    left_ns => time = time.min(Duration::from_nanos(left_ns)),
                }
            }
            self.set_timeout(time);
            match self.stream.read(buffer) {
                Ok(n) => return Ok(n),
                Err(e) if is_temporary(&e) => {}
                Err(e) => return Err(ExchangeError::Io(e)),
            }
        }
    }

    fn set_timeout(&self, time: Duration) {
        // Setting the timeout fails only for a timeout of zero, which no caller uses.
        let _ = self.stream.set_timeout(time);
    }

    fn left(&self) -> Result<Duration, ExchangeError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            Ok(left)
        } else if self.bytes == 0 {
            Err(ExchangeError::Silent)
        } else {
            Err(ExchangeError::Endless)
        }
    }
}

/// Returns true if the system call that failed may succeed when it is tried again.
fn is_temporary(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proto::{Done, Progress};
    use run::Address;

    use super::super::stream::connect;
    use super::*;

    /// A session whose server ended the connection together with its handshake, as with GOAWAY in HTTP/3.
    struct EndedByServer;

    impl Requester for EndedByServer {
        fn takes_more(&self) -> bool {
            false
        }

        fn begin(&mut self, _: Request) {
            panic!("the connection takes no request");
        }

        fn transmit(&mut self, _: &mut [u8]) -> usize {
            0
        }

        fn wants_transmit(&self) -> bool {
            false
        }

        fn receive(&mut self, _: &[u8], _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
            Ok(Progress::default())
        }

        fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
            Ok(Progress::CLOSE)
        }

        fn reset(&mut self) {}
    }

    /// An earlier version of loadline waited until the timeout.
    #[test]
    fn a_connection_that_takes_no_request_ends_the_exchange_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = Address::from(listener.local_addr().unwrap());
        let stream = connect(&addr, false, Duration::from_secs(60)).unwrap();
        let mut exchange = Exchange::new(stream, Instant::now(), Duration::from_secs(3600));
        let ended = exchange.run(&mut EndedByServer, 0, true);
        assert!(matches!(ended, Err(ExchangeError::Fault(Fault::ConnectionRefused))));
    }
}
