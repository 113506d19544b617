//! Receives the value that follows a command line, and stores it.

use super::super::words::Words;
use super::{FLAGS_BYTES, IncomingValue, KEPT_BYTES, MAX_VALUE, ServerSession, StoreMode};
use crate::ChangeResult;

impl ServerSession {
    /// Prepares for the value that follows a command line such as `set`. Returns true if no value follows, so that the
    /// command ends with the line.
    pub(super) fn value_comes(&mut self, mode: StoreMode, words: &mut Words<'_>) -> bool {
        let (key, flags, _time) = (words.key(), words.number::<u32>(), words.number::<i64>());
        let (length, quiet) = (words.number::<usize>(), words.next() == Some(b"noreply"));
        let Some(length) = length.filter(|length| *length <= u32::MAX as usize) else {
            self.say(b"CLIENT_ERROR bad command line format\r\n");
            return true;
        };
        self.value.clear();
        let mode = match (key, flags) {
            (Some(key), Some(flags)) if length <= MAX_VALUE => {
                key.clone_into(&mut self.key);
                self.value.extend_from_slice(&flags.to_be_bytes());
                mode
            }
            (Some(_), Some(_)) => {
                self.say(b"SERVER_ERROR object too large for cache\r\n");
                StoreMode::Drop
            }
            _ => {
                self.say(b"CLIENT_ERROR bad command line format\r\n");
                StoreMode::Drop
            }
        };
        self.incoming = Some(IncomingValue { mode, left: length + 2, quiet });
        false
    }

    /// Reads a piece of a value. Returns true if the piece was the last one.
    pub(super) fn piece(&mut self, incoming: IncomingValue, rest: &mut &[u8]) -> bool {
        let n = incoming.left.min(rest.len());
        let (now, after) = rest.split_at(n);
        *rest = after;
        if incoming.mode != StoreMode::Drop {
            self.value.extend_from_slice(now);
        }
        let left = incoming.left - n;
        self.incoming = Some(IncomingValue { left, ..incoming }).filter(|_| left > 0);
        if left > 0 {
            return false;
        }
        if incoming.mode != StoreMode::Drop {
            self.keep(incoming);
            self.value.clear();
            self.value.shrink_to(KEPT_BYTES);
        }
        true
    }

    /// Stores a value that has arrived completely, and answers the command.
    fn keep(&mut self, incoming: IncomingValue) {
        let Some(value) = self.value.strip_suffix(b"\r\n").filter(|value| value.len() >= FLAGS_BYTES) else {
            self.say(b"CLIENT_ERROR bad data chunk\r\n");
            self.over = true;
            return;
        };
        let changed = match incoming.mode {
            StoreMode::Set if self.store.set(&self.key, value) => ChangeResult::Done,
            StoreMode::Set => ChangeResult::Full,
            mode => self.store.change(&self.key, |old| joined(mode, old, value)),
        };
        let said: &[u8] = match changed {
            ChangeResult::Done => b"STORED\r\n",
            ChangeResult::Unchanged => b"NOT_STORED\r\n",
            ChangeResult::Full => b"SERVER_ERROR out of memory storing object\r\n",
        };
        if !incoming.quiet {
            self.outgoing.append(said);
        }
    }
}

/// Returns the new value with its flags, computed from the old and the received value; `None` to change nothing.
fn joined(mode: StoreMode, old: Option<&[u8]>, value: &[u8]) -> Option<Vec<u8>> {
    let (old_flags, old_value) = old.unwrap_or(&[0; FLAGS_BYTES]).split_at_checked(FLAGS_BYTES)?;
    let fits = |all: Vec<u8>| Some(all).filter(|all| all.len() <= FLAGS_BYTES + MAX_VALUE);
    match (mode, old) {
        (StoreMode::Add, None) | (StoreMode::Replace, Some(_)) => Some(value.to_vec()),
        (StoreMode::Append, Some(_)) => fits([old_flags, old_value, &value[FLAGS_BYTES..]].concat()),
        (StoreMode::Prepend, Some(_)) => fits([old_flags, &value[FLAGS_BYTES..], old_value].concat()),
        _ => None,
    }
}
