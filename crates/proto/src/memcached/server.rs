//! memcached server: the commands that load generators usually send, with a [`Store`] that all connections share.
//! Expiry times are parsed but ignored: values remain until they are deleted.
//!
//! Each connection has one buffer for a line and one for a value, both with a maximum size. The store limits the amount
//! of data, and [`MAX_OWED`] limits unsent answers.

mod values;

use std::sync::Arc;

use super::words::{MAX_KEY, Words};
use crate::commands::take_line;
use crate::outbox::SendBuffer;
use crate::{ChangeResult, Fault, Progress, Session, Store};

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 8 * 1024;
/// Maximum size of a value, bytes: the default of memcached.
const MAX_VALUE: usize = 1 << 20;
/// Maximum size of unsent answers to a client that does not read, bytes.
const MAX_OWED: usize = 64 << 20;
/// Maximum size of a buffer that an idle connection keeps, bytes.
const KEPT_BYTES: usize = 16 * 1024;
/// Number of bytes of the client's flags. In the store, the client's flags precede each value.
const FLAGS_BYTES: usize = 4;

/// Operation that uses the value after a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreMode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// The value is skipped, because it is too long or its line was invalid.
    Drop,
}

/// A value that has not arrived completely.
#[derive(Clone, Copy, Debug)]
struct IncomingValue {
    mode: StoreMode,
    /// Number of bytes of the value and its line end that are still to come.
    left: usize,
    /// True if the client wants no answer (`noreply`).
    quiet: bool,
}

/// Server side of one connection.
pub struct ServerSession {
    store: Arc<Store>,
    line: Vec<u8>,
    incoming: Option<IncomingValue>,
    key: Vec<u8>,
    /// Flags of the current value, followed by the bytes of the value that have arrived.
    value: Vec<u8>,
    over: bool,
    outgoing: SendBuffer,
}

impl ServerSession {
    /// Creates a session that reads and changes the values in `store`.
    pub fn new(store: Arc<Store>) -> Self {
        let (line, key, value, outgoing) = (Vec::new(), Vec::new(), Vec::new(), SendBuffer::default());
        Self { store, line, incoming: None, key, value, over: false, outgoing }
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
            let ended = match self.incoming {
                Some(incoming) => self.piece(incoming, &mut rest),
                None => self.begin(&mut rest),
            };
            progress.completed += u32::from(ended);
            if self.outgoing.waiting() > MAX_OWED {
                self.say(b"SERVER_ERROR out of memory writing get response\r\n");
                self.over = true;
            }
        }
        Ok(if self.over { Progress { close: true, linger: true, ..progress } } else { progress })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {
        for buffer in [&mut self.line, &mut self.key, &mut self.value] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        self.outgoing.forget(KEPT_BYTES);
        (self.incoming, self.over) = (None, false);
    }
}

impl ServerSession {
    fn say(&mut self, words: &[u8]) {
        self.outgoing.append(words);
    }

    /// Reads the next part of a command line. Returns true if this part completes a command.
    fn begin(&mut self, rest: &mut &[u8]) -> bool {
        let (now, whole) = take_line(rest);
        if self.line.len() + now.len() > MAX_LINE {
            self.say(b"CLIENT_ERROR line too long\r\n");
            self.over = true;
            return false;
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(now);
        let ended = whole && self.command(&mut Words::new(&line));
        if whole {
            line.clear();
        }
        self.line = line;
        ended
    }

    /// Handles a complete line. Returns true if the command ends with the line, and false if a value follows.
    fn command(&mut self, words: &mut Words<'_>) -> bool {
        let name = words.next().unwrap_or_default();
        match name {
            b"get" => self.get(words),
            b"set" => return self.value_comes(StoreMode::Set, words),
            b"add" => return self.value_comes(StoreMode::Add, words),
            b"replace" => return self.value_comes(StoreMode::Replace, words),
            b"append" => return self.value_comes(StoreMode::Append, words),
            b"prepend" => return self.value_comes(StoreMode::Prepend, words),
            b"incr" | b"decr" => self.count(name == b"incr", words),
            b"delete" => {
                let said = words.key().map(|key| match self.store.remove(key) {
                    true => &b"DELETED\r\n"[..],
                    false => b"NOT_FOUND\r\n",
                });
                self.answer(said, words);
            }
            b"touch" => {
                let said = words.key().zip(words.number::<i64>()).map(|(key, _)| {
                    match self.store.with(key, |v| v.is_some()) {
                        true => &b"TOUCHED\r\n"[..],
                        false => b"NOT_FOUND\r\n",
                    }
                });
                self.answer(said, words);
            }
            b"version" => self.say(b"VERSION loadline\r\n"),
            b"verbosity" => self.answer(words.number::<u64>().map(|_| &b"OK\r\n"[..]), words),
            b"flush_all" => {
                self.store.clear();
                if words.all(|word| word != b"noreply") {
                    self.say(b"OK\r\n");
                }
            }
            b"quit" => self.over = true,
            _ => self.say(b"ERROR\r\n"),
        }
        true
    }

    /// Writes the answer to a command, unless the client wants none. `None` means a malformed command, to which an
    /// error is always the answer.
    fn answer(&mut self, said: Option<&[u8]>, words: &mut Words<'_>) {
        let quiet = words.next() == Some(b"noreply");
        match said {
            None => self.say(b"CLIENT_ERROR bad command line format\r\n"),
            Some(said) if !quiet => self.say(said),
            Some(_) => {}
        }
    }

    fn get(&mut self, words: &mut Words<'_>) {
        let mut any = false;
        for key in words.by_ref() {
            if key.len() > MAX_KEY {
                return self.say(b"CLIENT_ERROR bad command line format\r\n");
            }
            any = true;
            let to = self.outgoing.end();
            self.store.with(key, |found| found.into_iter().for_each(|value| write_value(to, key, value)));
            if self.outgoing.waiting() > MAX_OWED {
                return;
            }
        }
        self.say(if any { b"END\r\n" } else { b"ERROR\r\n" });
    }

    fn count(&mut self, up: bool, words: &mut Words<'_>) {
        let (Some(key), Some(by)) = (words.key(), words.number::<u64>()) else {
            return self.say(b"CLIENT_ERROR invalid numeric delta argument\r\n");
        };
        let (mut found, mut counted) = (false, None);
        let changed = self.store.change(key, |old| {
            found = old.is_some();
            let (flags, digits) = old?.split_at_checked(FLAGS_BYTES)?;
            let number: u64 = std::str::from_utf8(digits).ok()?.trim_end().parse().ok()?;
            let next = if up { number.wrapping_add(by) } else { number.saturating_sub(by) };
            counted = Some(next);
            Some([flags, next.to_string().as_bytes()].concat())
        });
        let said = match (found, counted, changed) {
            (false, ..) => "NOT_FOUND\r\n".into(),
            (true, Some(number), ChangeResult::Done) => format!("{number}\r\n"),
            (true, None, _) => "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n".into(),
            _ => "SERVER_ERROR out of memory in incr\r\n".into(),
        };
        self.answer(Some(said.as_bytes()), words);
    }
}

/// Writes one value as part of an answer.
fn write_value(to: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    use std::io::Write as _;
    let Some((flags, value)) = value.split_first_chunk::<FLAGS_BYTES>() else { return };
    to.extend_from_slice(b"VALUE ");
    to.extend_from_slice(key);
    let _ = write!(to, " {} {}\r\n", u32::from_be_bytes(*flags), value.len());
    to.extend_from_slice(value);
    to.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
