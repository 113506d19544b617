//! Redis server: the commands that load generators usually send, with a [`Store`] that all connections share.
//!
//! Each connection has one buffer for a command, of at most [`MAX_COMMAND`] bytes. The store limits the amount of data,
//! and [`MAX_OWED`] limits unsent answers.

use std::sync::Arc;

use crate::commands::take_line;
use crate::outbox::SendBuffer;
use crate::{Fault, Progress, Session, Store};

/// Maximum total size of the words of a command, bytes.
const MAX_COMMAND: usize = 64 << 20;
/// Maximum number of words of a command.
const MAX_WORDS: usize = 1024;
/// Maximum length of a line, bytes. A line contains a length in RESP or an inline command.
const MAX_LINE: usize = 64 * 1024;
/// Maximum size of unsent answers to a client that does not read, bytes. The last answer may exceed this maximum.
const MAX_OWED: usize = 64 << 20;
/// Maximum size of a buffer that an idle connection keeps, bytes.
const KEPT_BYTES: usize = 16 * 1024;

const INVALID: Fault = Fault::Malformed("a command that is not RESP");

/// Server side of one connection.
pub struct ServerSession {
    store: Arc<Store>,
    line: Vec<u8>,
    /// Bytes of the current command's words.
    bytes: Vec<u8>,
    /// Position in `bytes` at which each word ends.
    ends: Vec<usize>,
    /// Number of words of the command that are still to come.
    words: usize,
    /// Number of bytes of the current word and its line end that are still to come.
    string: usize,
    resp3: bool,
    over: bool,
    outgoing: SendBuffer,
}

impl ServerSession {
    /// Creates a session that reads and changes the values in `store`.
    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            line: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            words: 0,
            string: 0,
            resp3: false,
            over: false,
            outgoing: SendBuffer::default(),
        }
    }
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.outgoing.take_into(KEPT_BYTES, out)
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        while !rest.is_empty() && !self.over {
            match self.read(&mut rest) {
                Ok(true) => {
                    progress.completed += 1;
                    if self.outgoing.waiting() > MAX_OWED {
                        self.outgoing.append(b"-ERR answers wait that nobody reads\r\n");
                        self.over = true;
                        break;
                    }
                    self.answer();
                    self.bytes.clear();
                    self.bytes.shrink_to(KEPT_BYTES);
                    self.ends.clear();
                }
                Ok(false) => {}
                Err(_) => {
                    self.outgoing.append(b"-ERR Protocol error\r\n");
                    self.over = true;
                }
            }
        }
        Ok(if self.over { Progress { close: true, linger: true, ..progress } } else { progress })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {
        self.line.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.ends.clear();
        self.outgoing.forget(KEPT_BYTES);
        (self.words, self.string, self.resp3, self.over) = (0, 0, false, false);
    }
}

impl ServerSession {
    /// Reads input up to the end of a command. Returns true if the command is complete.
    fn read(&mut self, rest: &mut &[u8]) -> Result<bool, Fault> {
        if self.string > 0 {
            let n = self.string.min(rest.len());
            let (now, after) = rest.split_at(n);
            *rest = after;
            self.bytes.extend_from_slice(now);
            self.string -= n;
            if self.string > 0 {
                return Ok(false);
            }
            if !self.bytes.ends_with(b"\r\n") {
                return Err(INVALID);
            }
            self.bytes.truncate(self.bytes.len() - 2);
            self.ends.push(self.bytes.len());
            self.words -= 1;
            return Ok(self.words == 0);
        }
        let (now, whole) = take_line(rest);
        if self.line.len() + now.len() > MAX_LINE {
            return Err(INVALID);
        }
        if self.line.is_empty() && whole {
            return self.whole_line(now);
        }
        self.line.extend_from_slice(now);
        if !whole {
            return Ok(false);
        }
        let line = std::mem::take(&mut self.line);
        let whole = self.whole_line(&line);
        self.line = line;
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        whole
    }

    fn whole_line(&mut self, line: &[u8]) -> Result<bool, Fault> {
        let text = std::str::from_utf8(line).map_err(|_| INVALID)?.trim_end();
        match text.as_bytes().first() {
            Some(b'$') if self.words > 0 => {
                let length: usize = text[1..].parse().map_err(|_| INVALID)?;
                if self.bytes.len() + length > MAX_COMMAND {
                    return Err(INVALID);
                }
                self.string = length + 2;
                Ok(false)
            }
            _ if self.words > 0 => Err(INVALID),
            Some(b'*') => {
                self.words = text[1..].parse().ok().filter(|words| *words <= MAX_WORDS).ok_or(INVALID)?;
                Ok(false)
            }
            None => Ok(false),
            // The line is an inline command, which a person may type, for example with telnet.
            Some(_) => {
                for word in text.split_ascii_whitespace() {
                    self.bytes.extend_from_slice(word.as_bytes());
                    self.ends.push(self.bytes.len());
                }
                Ok(true)
            }
        }
    }

    /// Returns a word of the command; empty if the command has no word with this index.
    fn word(&self, at: usize) -> &[u8] {
        let begin = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or_default() };
        self.ends.get(at).and_then(|end| self.bytes.get(begin..*end)).unwrap_or_default()
    }

    fn answer(&mut self) {
        let mut name = [0; 16];
        let length = self.word(0).len().min(name.len());
        name[..length].copy_from_slice(&self.word(0)[..length]);
        name.make_ascii_uppercase();
        let mut owed = std::mem::take(&mut self.outgoing);
        let to = owed.end();
        match (&name[..length], self.ends.len()) {
            (b"PING", 1) => to.extend_from_slice(b"+PONG\r\n"),
            (b"PING" | b"ECHO", 2) => bulk(to, self.word(1)),
            (b"GET", 2) => self.store.with(self.word(1), |found| match found {
                Some(value) => bulk(to, value),
                None => to.extend_from_slice(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" }),
            }),
            (b"SET", 3) => to.extend_from_slice(match self.store.set(self.word(1), self.word(2)) {
                true => b"+OK\r\n",
                false => b"-OOM the store of this reference server is full\r\n",
            }),
            (b"INCR", 2) => match self.store.increment(self.word(1)) {
                Some(number) => to.extend_from_slice(format!(":{number}\r\n").as_bytes()),
                None => to.extend_from_slice(b"-ERR value is not an integer or out of range\r\n"),
            },
            (b"DEL", 2..) => {
                let gone = (1..self.ends.len()).filter(|at| self.store.remove(self.word(*at))).count();
                to.extend_from_slice(format!(":{gone}\r\n").as_bytes());
            }
            (b"HELLO", _) => {
                self.resp3 = self.word(1) == b"3";
                to.extend_from_slice(if self.resp3 {
                    b"%1\r\n+server\r\n+loadline\r\n"
                } else {
                    b"*2\r\n+server\r\n+loadline\r\n"
                });
            }
            (b"SELECT" | b"AUTH" | b"CLIENT", 2..) => to.extend_from_slice(b"+OK\r\n"),
            (b"CONFIG" | b"COMMAND", _) => to.extend_from_slice(b"*0\r\n"),
            (b"QUIT", _) => {
                to.extend_from_slice(b"+OK\r\n");
                self.over = true;
            }
            (b"PING" | b"ECHO" | b"GET" | b"SET" | b"INCR" | b"DEL" | b"SELECT" | b"AUTH" | b"CLIENT", _) => {
                to.extend_from_slice(b"-ERR wrong number of arguments\r\n");
            }
            _ => to.extend_from_slice(b"-ERR unknown command\r\n"),
        }
        self.outgoing = owed;
    }
}

fn bulk(to: &mut Vec<u8>, bytes: &[u8]) {
    use std::io::Write as _;
    let _ = write!(to, "${}\r\n", bytes.len());
    to.extend_from_slice(bytes);
    to.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(bytes: &[u8], cut: usize) -> (String, Progress) {
        crate::testing::answer_to(ServerSession::new(Arc::default()), bytes, cut)
    }

    proptest! {
        #[test]
        fn commands_are_answered_over_any_split(cut in 1_usize..60) {
            let asked = b"PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n*2\r\n$3\r\nget\r\n$1\r\nk\r\nGET none\r\nINCR n\r\nINCR n\r\n\
                INCR k\r\nDEL k n k\r\nHELLO 3\r\nGET k\r\nNO\r\nGET\r\n*0\r\nQUIT\r\nPING\r\n";
            let expected = "+PONG\r\n+OK\r\n$4\r\na\r\nb\r\n$-1\r\n:1\r\n:2\r\n-ERR value is not an integer or out of range\r\n:2\r\n\
                %1\r\n+server\r\n+loadline\r\n_\r\n-ERR unknown command\r\n-ERR wrong number of arguments\r\n+OK\r\n";
            let (text, progress) = said(asked, cut);
            prop_assert_eq!(text, expected);
            prop_assert_eq!((progress.completed, progress.close), (13, true));
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1_usize..40) {
            said(&bytes, cut);
        }
    }

    /// The client requests many values of 1 MiB at once without reading. The size of unsent answers must stay limited.
    #[test]
    fn a_client_that_never_reads_is_refused() {
        let mut session = ServerSession::new(Arc::default());
        let value = vec![b'x'; 1 << 20];
        session
            .receive(
                &[format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat(),
            )
            .unwrap();
        let progress = session.receive(&b"GET k\r\n".repeat(10_000)).unwrap();
        assert!(progress.close && progress.linger, "{progress:?}");
        assert!(session.outgoing.waiting() <= MAX_OWED + (1 << 20) + 100, "{}", session.outgoing.waiting());
        let mut out = vec![0; 1 << 16];
        let mut last = Vec::new();
        while session.wants_transmit() {
            let n = session.transmit(&mut out);
            last = out[..n].to_vec();
        }
        assert!(last.ends_with(b"-ERR answers wait that nobody reads\r\n"));
        session.reset();
        assert!(session.receive(b"PING\r\n").unwrap() == Progress { completed: 1, ..Progress::default() });
    }

    #[test]
    fn too_large_or_malformed_requests_are_refused() {
        for asked in
            ["*2000\r\n", "*1\r\n$99999999999\r\n", "*1\r\n$1\r\nabc", "*1\r\n*1\r\n", "*-5\r\n", &"x".repeat(70_000)]
        {
            let (text, progress) = said(asked.as_bytes(), 1000);
            assert!(text == "-ERR Protocol error\r\n" && progress.close, "{asked:.10}: {text}");
        }
    }
}
