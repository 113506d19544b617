//! The server half: the commands by which a memcached server is loaded, over a [`Store`] that all connections share. Times
//! of expiry are read and not kept: what is stored stays until it is deleted.
//!
//! A line and a value are each read into one buffer of their connection, bounded as memcached's own are; what is stored is
//! bounded by the store, what waits to be sent by [`MOST_OWED`].

use std::sync::Arc;

use super::words::{MOST_KEY, Words};
use crate::outbox::Owed;
use crate::{Changed, Fault, Progress, Session, Store};

/// Longest line, bytes.
const MOST_LINE: usize = 8 * 1024;
/// Longest value, bytes: memcached's own limit by default.
const MOST_VALUE: usize = 1 << 20;
/// Answers that a client makes us keep at most before it has read any, bytes.
const MOST_OWED: usize = 64 << 20;
/// Memory that a connection keeps while it waits.
const KEPT: usize = 16 * 1024;
/// Bytes before each value in the store: the client's flags.
const FLAGS: usize = 4;

/// What is done with a value that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// It is too long, or its line was wrong: it is read over.
    Drop,
}

/// A value that is on its way.
#[derive(Clone, Copy, Debug)]
struct Coming {
    how: How,
    /// Bytes of it and its line end that are still to come.
    left: usize,
    /// Whether nobody wants to know.
    quiet: bool,
}

/// Server half of one connection.
pub struct ServerSession {
    store: Arc<Store>,
    line: Vec<u8>,
    coming: Option<Coming>,
    key: Vec<u8>,
    /// Flags and bytes of the value that comes.
    value: Vec<u8>,
    over: bool,
    outgoing: Owed,
}

impl ServerSession {
    /// A connection to this store.
    pub fn new(store: Arc<Store>) -> Self {
        let (line, key, value, outgoing) = (Vec::new(), Vec::new(), Vec::new(), Owed::default());
        Self { store, line, coming: None, key, value, over: false, outgoing }
    }
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.outgoing.give(KEPT, out)
    }

    fn wants_transmit(&self) -> bool {
        self.outgoing.waiting() > 0
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        while !rest.is_empty() && !self.over {
            let ended = match self.coming {
                Some(coming) => self.piece(coming, &mut rest),
                None => self.begin(&mut rest),
            };
            progress.completed += u32::from(ended);
            if self.outgoing.waiting() > MOST_OWED {
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
            buffer.shrink_to(KEPT);
        }
        self.outgoing.forget(KEPT);
        (self.coming, self.over) = (None, false);
    }
}

impl ServerSession {
    fn say(&mut self, words: &[u8]) {
        self.outgoing.say(words);
    }

    /// Reads a line on; whether a command ended with it.
    fn begin(&mut self, rest: &mut &[u8]) -> bool {
        let end = memchr::memchr(b'\n', rest).map(|at| at + 1);
        let (now, after) = rest.split_at(end.unwrap_or(rest.len()));
        *rest = after;
        if self.line.len() + now.len() > MOST_LINE {
            self.say(b"CLIENT_ERROR line too long\r\n");
            self.over = true;
            return false;
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(now);
        let ended = end.is_some() && self.command(&mut Words::of(&line));
        if end.is_some() {
            line.clear();
        }
        self.line = line;
        ended
    }

    /// A line is whole; whether the command ends with it.
    fn command(&mut self, words: &mut Words<'_>) -> bool {
        let name = words.next().unwrap_or_default();
        match name {
            b"get" => self.get(words),
            b"set" => return self.value_comes(How::Set, words),
            b"add" => return self.value_comes(How::Add, words),
            b"replace" => return self.value_comes(How::Replace, words),
            b"append" => return self.value_comes(How::Append, words),
            b"prepend" => return self.value_comes(How::Prepend, words),
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

    /// Says what a command answers, unless the client wants no answer; `None`: it is not written as it should be.
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
            if key.len() > MOST_KEY {
                return self.say(b"CLIENT_ERROR bad command line format\r\n");
            }
            any = true;
            let to = self.outgoing.end();
            self.store.with(key, |found| found.into_iter().for_each(|value| write_value(to, key, value)));
            if self.outgoing.waiting() > MOST_OWED {
                return;
            }
        }
        self.say(if any { b"END\r\n" } else { b"ERROR\r\n" });
    }

    /// A value comes after this line; whether the command ends with the line already.
    fn value_comes(&mut self, how: How, words: &mut Words<'_>) -> bool {
        let (key, flags, _time) = (words.key(), words.number::<u32>(), words.number::<i64>());
        let (length, quiet) = (words.number::<usize>(), words.next() == Some(b"noreply"));
        let Some(length) = length.filter(|length| *length <= u32::MAX as usize) else {
            self.say(b"CLIENT_ERROR bad command line format\r\n");
            return true;
        };
        self.value.clear();
        let how = match (key, flags) {
            (Some(key), Some(flags)) if length <= MOST_VALUE => {
                key.clone_into(&mut self.key);
                self.value.extend_from_slice(&flags.to_be_bytes());
                how
            }
            (Some(_), Some(_)) => {
                self.say(b"SERVER_ERROR object too large for cache\r\n");
                How::Drop
            }
            _ => {
                self.say(b"CLIENT_ERROR bad command line format\r\n");
                How::Drop
            }
        };
        self.coming = Some(Coming { how, left: length + 2, quiet });
        false
    }

    /// A piece of a value; whether it was the last.
    fn piece(&mut self, coming: Coming, rest: &mut &[u8]) -> bool {
        let n = coming.left.min(rest.len());
        let (now, after) = rest.split_at(n);
        *rest = after;
        if coming.how != How::Drop {
            self.value.extend_from_slice(now);
        }
        let left = coming.left - n;
        self.coming = Some(Coming { left, ..coming }).filter(|_| left > 0);
        if left > 0 {
            return false;
        }
        if coming.how != How::Drop {
            self.keep(coming);
            self.value.clear();
            self.value.shrink_to(KEPT);
        }
        true
    }

    /// A value is whole.
    fn keep(&mut self, coming: Coming) {
        let Some(value) = self.value.strip_suffix(b"\r\n").filter(|value| value.len() >= FLAGS) else {
            self.say(b"CLIENT_ERROR bad data chunk\r\n");
            self.over = true;
            return;
        };
        let changed = match coming.how {
            How::Set if self.store.set(&self.key, value) => Changed::Done,
            How::Set => Changed::Full,
            how => self.store.change(&self.key, |old| joined(how, old, value)),
        };
        let said: &[u8] = match changed {
            Changed::Done => b"STORED\r\n",
            Changed::Left => b"NOT_STORED\r\n",
            Changed::Full => b"SERVER_ERROR out of memory storing object\r\n",
        };
        if !coming.quiet {
            self.outgoing.say(said);
        }
    }

    fn count(&mut self, up: bool, words: &mut Words<'_>) {
        let (Some(key), Some(by)) = (words.key(), words.number::<u64>()) else {
            return self.say(b"CLIENT_ERROR invalid numeric delta argument\r\n");
        };
        let (mut found, mut counted) = (false, None);
        let changed = self.store.change(key, |old| {
            found = old.is_some();
            let (flags, digits) = old?.split_at_checked(FLAGS)?;
            let number: u64 = std::str::from_utf8(digits).ok()?.trim_end().parse().ok()?;
            let next = if up { number.wrapping_add(by) } else { number.saturating_sub(by) };
            counted = Some(next);
            Some([flags, next.to_string().as_bytes()].concat())
        });
        let said = match (found, counted, changed) {
            (false, ..) => "NOT_FOUND\r\n".into(),
            (true, Some(number), Changed::Done) => format!("{number}\r\n"),
            (true, None, _) => "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n".into(),
            _ => "SERVER_ERROR out of memory in incr\r\n".into(),
        };
        self.answer(Some(said.as_bytes()), words);
    }
}

/// What is to be kept: `value` with its flags beside what is there; `None` for nothing.
fn joined(how: How, old: Option<&[u8]>, value: &[u8]) -> Option<Vec<u8>> {
    let (old_flags, old_value) = old.unwrap_or(&[0; FLAGS]).split_at_checked(FLAGS)?;
    let fits = |all: Vec<u8>| Some(all).filter(|all| all.len() <= FLAGS + MOST_VALUE);
    match (how, old) {
        (How::Add, None) | (How::Replace, Some(_)) => Some(value.to_vec()),
        (How::Append, Some(_)) => fits([old_flags, old_value, &value[FLAGS..]].concat()),
        (How::Prepend, Some(_)) => fits([old_flags, &value[FLAGS..], old_value].concat()),
        _ => None,
    }
}

/// One value of an answer.
fn write_value(to: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    use std::io::Write as _;
    let Some((flags, value)) = value.split_first_chunk::<FLAGS>() else { return };
    to.extend_from_slice(b"VALUE ");
    to.extend_from_slice(key);
    let _ = write!(to, " {} {}\r\n", u32::from_be_bytes(*flags), value.len());
    to.extend_from_slice(value);
    to.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
