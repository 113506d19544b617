//! memcached client: sends the user's commands in order, again and again. Skips the content of answers, which arrive in
//! pieces of any size.
//!
//! Commands are written as `get key`, `set key value` (flags, expiration time and length are added), `delete key`, or
//! `incr key 1`. Most answers end with a line that begins with `END`, `STORED` or a similar word. Errors (`ERROR`,
//! `CLIENT_ERROR`, `SERVER_ERROR`) count as unexpected answers; a missing key is not an error.

use run::Protocol;

use crate::commands::{CommandQueue, Commands, take_line};
use crate::{Client, Done, Fault, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Maximum length of an answer line, bytes.
const MAX_LINE: usize = 2048;
/// Maximum length of an error that is shown to the user, bytes.
const MAX_SHOWN: usize = 200;
/// Maximum size of a value, bytes: the highest limit that memcached's option `-I` can set.
const MAX_VALUE: u64 = 1 << 30;

/// The encoded memcached commands that all clients of a load send.
#[derive(Clone)]
pub struct ClientPlan(Commands);

impl ClientPlan {
    /// Reads the user's commands and encodes them.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        let Protocol::Memcached { command, commands_file } = plan else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        let advice = "give a command a line, such as get key";
        Commands::read(command, commands_file.as_deref(), advice, READS, encode).map(Self)
    }
}

/// Encodes a command. For `set key some value`, this function adds flags, expiration time and length. The command `set
/// key 0 60 5 value` already has flags, expiration time and length, so nothing is added.
fn encode(line: &str) -> Result<Box<[u8]>, ProtoError> {
    let wrong = |advice| ProtoError::Invalid { what: "the command", value: line.into(), advice };
    let name = line.split(' ').next().unwrap_or_default();
    if matches!(name, "set" | "add" | "replace" | "append" | "prepend") {
        let mut parts = line.splitn(3, ' ').skip(1);
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
            return Err(wrong("write a key and a value, such as set key some value"));
        };
        let Some((flags, time, length, data)) = written_out(value) else {
            return Ok(format!("{name} {key} 0 0 {}\r\n{value}\r\n", value.len()).into_bytes().into());
        };
        if length != data.len() as u64 {
            return Err(wrong(
                "three numbers behind the key are flags, time and length: write as many bytes of data behind them on the \
                 line, or only a key and a value",
            ));
        }
        return Ok(format!("{name} {key} {flags} {time} {length}\r\n{data}\r\n").into_bytes().into());
    }
    if matches!(name, "cas" | "ms" | "mn" | "me") {
        return Err(wrong("write what changes a value as set key some value"));
    }
    if line.contains("noreply") || matches!(name, "quit" | "shutdown" | "watch") {
        return Err(wrong("give a command that is answered, and with which the connection goes on"));
    }
    Ok(format!("{line}\r\n").into_bytes().into())
}

/// Splits a value that begins with flags, expiration time and length, as in memcached's `protocol.txt` ("Storage
/// commands"). Returns `None` if the value has another form.
fn written_out(value: &str) -> Option<(u32, i64, u64, &str)> {
    let mut parts = value.splitn(4, ' ');
    let (flags, time, length) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((flags, time, length, parts.next().unwrap_or_default()))
}

/// Commands that do not change data.
const READS: &[&str] = &["get", "gets", "mg", "mn", "version", "stats"];

impl Client for ClientPlan {
    type Session = ClientSession;

    /// Each connection sends the commands one after another. If a request is sent again on another connection, that
    /// connection may send a different command. The requests of this client are idempotent only if none of its commands
    /// changes data.
    fn is_idempotent(&self, _: u16) -> bool {
        self.0.only_read
    }

    fn session(&self) -> ClientSession {
        let (commands, line) = (self.0.clone(), Vec::with_capacity(MAX_LINE));
        ClientSession {
            commands,
            queue: CommandQueue::default(),
            outstanding: 0,
            line,
            value: 0,
            ends_with_value: false,
            bytes: 0,
            refusal: None,
        }
    }
}

/// Advice for errors that the server's state causes: a text that the error contains, and the advice.
const ADVICE: &[(&str, &str)] = &[
    (
        "Too many open connections",
        "it has no free connection: give fewer --connections, end other clients, or raise its limit (-c)",
    ),
    ("out of memory", "its memory is full: raise its limit (-m), or let it drop old values (without -M)"),
    ("object too large", "the value is larger than its limit (-I): give a smaller one"),
];

/// Returns the advice for an error.
fn advice(words: &str) -> &'static str {
    let row = ADVICE.iter().find(|(part, _)| words.contains(part));
    row.map_or("correct --command, or the line of --commands", |row| row.1)
}

/// Client side of one connection.
pub struct ClientSession {
    commands: Commands,
    queue: CommandQueue,
    outstanding: u32,
    line: Vec<u8>,
    /// Number of bytes of the current value and its line end that are still to come.
    value: u64,
    /// True if the answer ends with the value, like the answer to `mg`.
    ends_with_value: bool,
    /// Number of bytes of the answer so far.
    bytes: u64,
    /// The first error on this connection, in quotation marks.
    refusal: Option<String>,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        true
    }

    fn explain(&self) -> Option<String> {
        let words = self.refusal.as_ref()?;
        Some(format!("it answered {words}; {}", advice(words)))
    }

    fn refusal_words(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.bytes > 0 || self.value > 0)
    }

    fn begin(&mut self, _: Request) {
        self.queue.add();
        self.outstanding += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.queue.transmit(&self.commands, out)
    }

    fn wants_transmit(&self) -> bool {
        !self.queue.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        while !rest.is_empty() {
            if self.value > 0 {
                let n = self.value.min(rest.len() as u64);
                rest = &rest[n as usize..];
                (self.value, self.bytes) = (self.value - n, self.bytes + n);
                if self.value == 0 && std::mem::take(&mut self.ends_with_value) {
                    self.complete(Outcome::Expected, &mut progress, done)?;
                }
                continue;
            }
            let (now, whole) = take_line(&mut rest);
            self.bytes += now.len() as u64;
            if self.line.len() + now.len() > MAX_LINE {
                return Err(Fault::Limit("a line of memcached of more than 2 KiB"));
            }
            self.line.extend_from_slice(now);
            let Some(outcome) = whole.then(|| self.whole_line()).transpose()?.flatten() else { continue };
            self.complete(outcome, &mut progress, done)?;
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let inside = self.outstanding > 0 || self.value > 0 || !self.line.is_empty();
        if inside { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.queue, self.outstanding) = (CommandQueue::default(), 0);
        (self.value, self.ends_with_value, self.bytes, self.refusal) = (0, false, 0, None);
        self.line.clear();
    }
}

impl ClientSession {
    /// Completes the answer to the oldest unanswered command.
    fn complete(&mut self, outcome: Outcome, progress: &mut Progress, done: &mut dyn FnMut(Done)) -> Result<(), Fault> {
        if self.outstanding == 0 {
            return Err(Fault::Unasked("an answer that no command asked for"));
        }
        self.outstanding -= 1;
        progress.completed += 1;
        let bytes = std::mem::take(&mut self.bytes);
        done(Done { which: Which::Oldest, status: 0, outcome, bytes, events: 0 });
        Ok(())
    }

    /// Handles a complete line of the server's answer. Returns the outcome if the answer ends with this line.
    fn whole_line(&mut self) -> Result<Option<Outcome>, Fault> {
        const INVALID: Fault = Fault::Malformed("an answer that is not memcached's");
        let line = self.line.strip_suffix(b"\r\n").ok_or(INVALID)?;
        let mut words = line.split(|b| *b == b' ');
        let name = words.next().unwrap_or_default();
        let outcome = match name {
            b"VALUE" => {
                let length = words.nth(2).and_then(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
                self.value = length.filter(|length| *length <= MAX_VALUE).ok_or(INVALID)? + 2;
                None
            }
            b"VA" => {
                let length = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
                self.value = length.filter(|length| *length <= MAX_VALUE).ok_or(INVALID)? + 2;
                self.ends_with_value = true;
                None
            }
            b"STAT" => None,
            b"END" | b"STORED" | b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" | b"DELETED" | b"TOUCHED" | b"OK"
            | b"VERSION" | b"HD" | b"EN" | b"MN" | b"NS" | b"NF" | b"EX" => Some(Outcome::Expected),
            b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" => {
                let words = String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN)]);
                self.refusal.get_or_insert_with(|| format!("{:?}", run::visible(&words)));
                Some(Outcome::Unexpected)
            }
            // The server answers the commands `incr` and `decr` with a number.
            number if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => Some(Outcome::Expected),
            _ => return Err(INVALID),
        };
        self.line.clear();
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests;
