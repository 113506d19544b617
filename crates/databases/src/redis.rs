//! Samples Redis. The time spent in each command is the growth of the counters in `INFO commandstats` during a load
//! test. Slow commands come from Redis's slow log. loadline keeps only the name and the duration of each slow command.
//! Source: Redis's manual, "INFO" and "SLOWLOG".

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::time::Instant;

use proto::redis::{Value, ValueReader, encode_command};
use run::{Behind, CommandSum};
use sys::blocking_stream::BlockingStream;

use crate::DatabaseError;
use crate::connection;
use crate::credentials::password;
use crate::statement::bounded;

/// Number of entries of the slow log that are read.
const SLOWLOG_ENTRIES: &str = "128";
/// Maximum number of different commands whose calls loadline counts.
const MAX_COMMANDS: usize = 1024;

/// Number of calls and total time in seconds of each command.
type Counts = BTreeMap<String, (u64, f64)>;

/// A connection to Redis for taking samples.
#[derive(Debug)]
pub(crate) struct RedisSession {
    connection: BlockingStream,
    /// Counts of the first reading in a load test, and the time of this reading; `None` before the first reading.
    first: Option<(Counts, Instant)>,
    /// ID of the newest entry of the slow log at the first reading. The newest entry at the first reading, and all
    /// older entries, do not belong to the load test.
    newest_slow: i64,
}

impl RedisSession {
    /// Connects and logs in.
    pub(crate) fn connect(behind: &Behind) -> Result<Self, DatabaseError> {
        let mut session = Self { connection: connection::open(behind)?, first: None, newest_slow: -1 };
        let login = password(behind).map(|password| match behind.user.as_str() {
            "" => vec!["AUTH".to_string(), password],
            user => vec!["AUTH".into(), user.into(), password],
        });
        let number = Some(behind.database.clone()).filter(|number| !number.is_empty());
        for command in login.into_iter().chain(number.map(|number| vec!["SELECT".into(), number])) {
            session.ask(&command)?;
        }
        session.counts()?;
        Ok(session)
    }

    /// Begins a load test: the next reading is the load test's first reading.
    pub(crate) fn begin(&mut self) {
        self.first = None;
    }

    /// Reads Redis's counts of commands. Returns the commands that were executed since the first reading of the load
    /// test; empty for the first reading.
    pub(crate) fn sample(&mut self) -> Result<Vec<CommandSum>, DatabaseError> {
        let now = Instant::now();
        let counts = self.counts()?;
        let slow = self.slow_log()?;
        let Some((first, begin)) = &self.first else {
            self.newest_slow = slow.iter().map(|entry| entry.id).max().unwrap_or(self.newest_slow);
            self.first = Some((counts, now));
            return Ok(Vec::new());
        };
        let seconds = now.duration_since(*begin).as_secs_f64();
        let fresh = slow.into_iter().filter(|entry| entry.id > self.newest_slow);
        let mut longest: BTreeMap<String, f64> = BTreeMap::new();
        for entry in fresh {
            let known = longest.entry(entry.command).or_default();
            *known = known.max(entry.seconds);
        }
        let sum = |(command, (calls, time_s)): (&String, &(u64, f64))| {
            let (calls_before, time_before) = first.get(command).copied().unwrap_or_default();
            // Leaves the command out if another client has reset the counts since the first reading.
            let (calls, time_s) = (calls.checked_sub(calls_before)?, time_s - time_before);
            (calls > 0 && time_s >= 0.0 && seconds > 0.0).then(|| CommandSum {
                command: command.clone(),
                calls_per_s: calls as f64 / seconds,
                share: (time_s / seconds).min(1.0),
                longest_s: longest.get(command).copied().unwrap_or(0.0),
            })
        };
        Ok(counts.iter().filter_map(sum).collect())
    }

    fn counts(&mut self) -> Result<Counts, DatabaseError> {
        Ok(parse_counts(&self.ask(&["INFO", "commandstats"])?.text()))
    }

    fn slow_log(&mut self) -> Result<Vec<SlowCommand>, DatabaseError> {
        let log = match self.ask(&["SLOWLOG", "GET", SLOWLOG_ENTRIES]) {
            // Managed services may forbid SLOWLOG. If SLOWLOG is forbidden, loadline uses only the counts of commands.
            Err(DatabaseError::Refused(_)) => return Ok(Vec::new()),
            log => log?,
        };
        Ok(log.list().iter().filter_map(SlowCommand::of_entry).collect())
    }

    fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> Result<Value, DatabaseError> {
        self.connection.write_all(&encode_command(words))?;
        let (mut reader, mut piece) = (ValueReader::default(), [0; 16 << 10]);
        loop {
            let n = self.connection.read(&mut piece)?;
            if n == 0 {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            let reply = reader.read(&piece[..n]).map_err(|_| DatabaseError::Protocol("Redis"))?;
            match reply {
                Some(Value::Error(why)) => return Err(DatabaseError::Refused(bounded(&why))),
                Some(value) => return Ok(value),
                None => {}
            }
        }
    }
}

/// Returns the name of a command, or `None` if the text does not look like a name. A faulty client may have sent a
/// value in place of a command.
fn command_name(text: &str) -> Option<String> {
    const MAX_CHARS: usize = 40;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '|');
    let fits = !text.is_empty() && text.len() <= MAX_CHARS && text.chars().all(is_name);
    fits.then(|| text.to_ascii_uppercase().replace('|', " "))
}

/// Parses lines such as `cmdstat_get:calls=21,usec=175,usec_per_call=8.33`.
fn parse_counts(text: &str) -> Counts {
    let line = |line: &str| {
        let (name, fields) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
        let field = |wanted: &str| {
            let mut fields = fields.split(',').filter_map(|field| field.split_once('='));
            fields.find(|(name, _)| *name == wanted)?.1.parse::<f64>().ok()
        };
        Some((command_name(name)?, (field("calls")? as u64, field("usec")? / 1e6)))
    };
    text.lines().filter_map(line).take(MAX_COMMANDS).collect()
}

/// Entry of the slow log.
#[derive(Debug, PartialEq)]
struct SlowCommand {
    id: i64,
    seconds: f64,
    command: String,
}

impl SlowCommand {
    fn of_entry(entry: &Value) -> Option<Self> {
        let [id, _, micros, words, ..] = entry.list() else { return None };
        let command = command_name(&words.list().first()?.text())?;
        Some(Self { id: id.number()?, seconds: micros.number()? as f64 / 1e6, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_slow_commands_keep_names_alone() {
        let text = "# Commandstats\r\ncmdstat_keys:calls=4,usec=20800,usec_per_call=5200.00\r\ncmdstat_config|get:calls=1,usec=7\r\nbroken\r\ncmdstat_a b:calls=1,usec=1\r\n";
        let expected = [("CONFIG GET".to_string(), (1, 7e-6)), ("KEYS".into(), (4, 0.0208))];
        assert_eq!(parse_counts(text), expected.into());
        let text = |text: &str| Value::Text(text.into());
        let entry = |command: &str| {
            let words = Value::List(vec![text(command), text("hunter2")]);
            SlowCommand::of_entry(&Value::List(vec![Value::Number(3), Value::Number(0), Value::Number(5200), words]))
        };
        assert_eq!(entry("keys"), Some(SlowCommand { id: 3, seconds: 0.0052, command: "KEYS".into() }));
        assert_eq!(entry("a value"), None);
        assert_eq!(SlowCommand::of_entry(&Value::Nil), None);
    }
}
