//! The client half: commands in turn, answers skipped in pieces of any size.
//!
//! Commands are written as `get key`, `set key value` (flags, time and length are added), `delete key`, `incr key 1`.
//! The answer ends with a line that no value can be: `END`, `STORED`, … Errors (`ERROR`, `CLIENT_ERROR`,
//! `SERVER_ERROR`) are unexpected answers; a missing key is not an error.

use run::Protocol;

use crate::commands::{CommandQueue, Commands, take_line};
use crate::{Client, Done, Fault, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Maximum length of an answer line.
const MAX_LINE: usize = 2048;
/// Maximum size of a value, which is beyond memcached's own limit.
const MAX_VALUE: u64 = 1 << 30;

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan(Commands);

impl ClientPlan {
    /// Reads and assembles the commands.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        let Protocol::Memcached { command, commands_file } = plan else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        let advice = "give a command a line, such as get key";
        Commands::read(command, commands_file.as_deref(), advice, encode).map(Self)
    }
}

/// Encodes a command: `set key some value` gets flags, time and length.
fn encode(line: &str) -> Result<Box<[u8]>, ProtoError> {
    let wrong = |advice| ProtoError::Invalid { what: "the command", value: line.into(), advice };
    let name = line.split(' ').next().unwrap_or_default();
    if matches!(name, "set" | "add" | "replace" | "append" | "prepend") {
        let mut parts = line.splitn(3, ' ').skip(1);
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
            return Err(wrong("write a key and a value, such as set key some value"));
        };
        return Ok(format!("{name} {key} 0 0 {}\r\n{value}\r\n", value.len()).into_bytes().into());
    }
    if line.contains("noreply") || matches!(name, "quit" | "shutdown" | "watch") {
        return Err(wrong("give a command that is answered, and with which the connection goes on"));
    }
    Ok(format!("{line}\r\n").into_bytes().into())
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let (commands, line) = (self.0.clone(), Vec::with_capacity(MAX_LINE));
        ClientSession { commands, queue: CommandQueue::default(), outstanding: 0, line, value: 0, bytes: 0 }
    }
}

/// Client half of one connection.
pub struct ClientSession {
    commands: Commands,
    queue: CommandQueue,
    outstanding: u32,
    line: Vec<u8>,
    /// Missing bytes of a value, including its line end.
    value: u64,
    /// Bytes of the answer so far.
    bytes: u64,
}

impl Requester for ClientSession {
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
                continue;
            }
            let (now, whole) = take_line(&mut rest);
            self.bytes += now.len() as u64;
            if self.line.len() + now.len() > MAX_LINE {
                return Err(Fault::Limit("a line of memcached of more than 2 KiB"));
            }
            self.line.extend_from_slice(now);
            let Some(outcome) = whole.then(|| self.whole_line()).transpose()?.flatten() else { continue };
            if self.outstanding == 0 {
                return Err(Fault::Malformed("an answer that no command asked for"));
            }
            self.outstanding -= 1;
            progress.completed += 1;
            let bytes = std::mem::take(&mut self.bytes);
            done(Done { which: Which::Oldest, status: 0, outcome, bytes });
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let inside = self.outstanding > 0 || self.value > 0 || !self.line.is_empty();
        if inside { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.queue, self.outstanding) = (CommandQueue::default(), 0);
        (self.value, self.bytes) = (0, 0);
        self.line.clear();
    }
}

impl ClientSession {
    /// Handles a complete line and returns the answer's outcome if the answer ends with it.
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
            b"STAT" => None,
            b"END" | b"STORED" | b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" | b"DELETED" | b"TOUCHED" | b"OK"
            | b"VERSION" | b"HD" | b"EN" | b"MN" | b"NS" | b"NF" | b"EX" => Some(Outcome::Expected),
            b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR" => Some(Outcome::Unexpected),
            // The answer to incr and decr.
            number if !number.is_empty() && number.iter().all(u8::is_ascii_digit) => Some(Outcome::Expected),
            _ => return Err(INVALID),
        };
        self.line.clear();
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(commands: &str) -> ClientSession {
        let plan = Protocol::Memcached { command: commands.into(), commands_file: None };
        ClientPlan::new(&plan).unwrap().session()
    }

    #[test]
    fn commands_go_out_in_turn_as_memcached_wants_them() {
        let mut session = session("get k\nset key some value");
        (0..3).for_each(|_| session.begin(Request::default()));
        let (mut all, mut piece) = (Vec::new(), [0; 5]);
        while let n @ 1.. = session.transmit(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
        let set = "set key 0 0 10\r\nsome value\r\n";
        assert_eq!(String::from_utf8(all).unwrap(), format!("{set}get k\r\n{set}"));
        for wrong in ["set key", "quit", "delete k noreply", ""] {
            let plan = Protocol::Memcached { command: wrong.into(), commands_file: None };
            assert!(ClientPlan::new(&plan).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn answers_of_every_kind_end_over_any_split(cut in 1_usize..50) {
            let mut session = session("version");
            (0..8).for_each(|_| session.begin(Request::default()));
            let said = b"VALUE k 0 10\r\nEND\r\nEND\r\n\r\nVALUE l 5 0\r\n\r\nEND\r\nEND\r\nSTORED\r\nNOT_FOUND\r\nCLIENT_ERROR bad\r\nERROR\r\n17\r\nVERSION 1.6\r\n";
            let mut ended = Vec::new();
            for piece in said.chunks(cut) {
                session.receive(piece, &mut |done: Done| ended.push((done.outcome == Outcome::Expected, done.bytes))).unwrap();
            }
            prop_assert_eq!(ended, [(true, 46), (true, 5), (true, 8), (true, 11), (false, 18), (false, 7), (true, 4), (true, 13)]);
            prop_assert_eq!(session.peer_closed(&mut drop), Ok(Progress::CLOSE));
            prop_assert!(session.receive(b"END\r\n", &mut drop).is_err());
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1_usize..40) {
            let mut session = session("version");
            session.begin(Request::default());
            let _ = bytes.chunks(cut).try_for_each(|piece| session.receive(piece, &mut drop).map(drop));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bytes, words) in [
            (vec![b'x'; 5000], "2 KiB"),
            (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "not memcached's"),
            (b"VALUE k 0 99999999999\r\n".to_vec(), "not memcached's"),
            (b"END\n".to_vec(), "not memcached's"),
        ] {
            let mut session = session("version");
            session.begin(Request::default());
            let fault = session.receive(&bytes, &mut drop).unwrap_err().to_string();
            assert!(fault.contains(words), "{words}: {fault}");
        }
    }
}
