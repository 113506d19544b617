//! Data types of a workload. A workload is read from a TOML file or from scripts.

use serde::{Deserialize, Serialize};

use super::{Result, WorkloadError};

/// Maximum number of processes in a workload, and maximum number of identical threads that one `repeat` starts in a
/// process.
pub(super) const MAX_REPEAT: u32 = 256;

/// Description of a whole workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Length of the trial in seconds.
    pub seconds: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Processes of the workload.
    pub process: Vec<ProcessSpec>,
}

/// One process, or several equal processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProcessSpec {
    /// Number of equal processes.
    pub repeat: u32,
    /// Name of the process, as other programs see it.
    pub name: String,
    /// Priority of the process: `idle`, `normal`, `high` or `realtime`.
    pub priority: String,
    /// Number of memory pages that each thread of the process writes. Each thread has its own pages.
    pub data_pages: u32,
    /// File whose pages the CPU work reads as if they were code; empty for none.
    pub code_file: String,
    /// Threads of the process.
    pub thread: Vec<ThreadSpec>,
}

/// One thread, or several equal threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ThreadSpec {
    /// Number of equal threads.
    pub repeat: u32,
    /// Priority of the thread: `time-critical`, `highest`, `above`, `normal`, `below`, `lowest` or `idle`.
    pub priority: String,
    /// Pause before each cycle, in milliseconds.
    pub think_ms: Spread,
    /// Number of accesses to the file in a cycle. One access may read or write several records.
    pub cycle_reads: Spread,
    /// Index of the record that a random access uses, counted from the beginning of the file.
    pub seek_records: Spread,
    /// CPU time after each access, in milliseconds.
    pub cpu_ms: Spread,
    /// Index of the data page that a loop iteration of CPU work writes.
    pub data_page: Spread,
    /// Index of the code page that a loop iteration of CPU work reads.
    pub code_page: Spread,
    /// Path of the accessed file, or `record://ADDRESS:PORT` for a record server.
    pub file: String,
    /// Order of the accesses.
    pub access: Access,
    /// Way in which the file is accessed: mapped, buffered or unbuffered.
    pub mode: Mode,
    /// Size of a record in bytes.
    pub record_bytes: u32,
    /// Actions of one access: R reads a record, W writes a record. If a W follows directly after an R, it writes the
    /// record that was just read. Each other R or W after the first uses the next record.
    pub actions: String,
}

/// A normal distribution in which negative values count as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spread {
    /// Mean of the distribution.
    pub mean: f64,
    /// Standard deviation of the distribution.
    pub deviation: f64,
}

/// Order of the accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Each access goes to a record drawn from `seek_records`.
    #[default]
    Random,
    /// Accesses go to one record after another. After the last record, sequential accesses continue with the first.
    Sequential,
}

/// Way in which a file is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The file is mapped into memory.
    Mapped,
    /// Accesses use the page cache.
    #[default]
    Buffered,
    /// Accesses bypass the page cache.
    Unbuffered,
}

impl Default for ProcessSpec {
    fn default() -> Self {
        Self {
            repeat: 1,
            name: "probeprc".into(),
            priority: "normal".into(),
            data_pages: 1,
            code_file: String::new(),
            thread: Vec::new(),
        }
    }
}

impl Default for ThreadSpec {
    fn default() -> Self {
        Self {
            repeat: 1,
            priority: "normal".into(),
            think_ms: Spread::default(),
            cycle_reads: Spread { mean: 1.0, deviation: 0.0 },
            seek_records: Spread::default(),
            cpu_ms: Spread::default(),
            data_page: Spread::default(),
            code_page: Spread::default(),
            file: String::new(),
            access: Access::default(),
            mode: Mode::default(),
            record_bytes: 4096,
            actions: "R".into(),
        }
    }
}

/// Priorities of processes, each with its nice value.
pub(super) const PROCESS_PRIORITIES: [(&str, i32); 4] = [("idle", 15), ("normal", 0), ("high", -8), ("realtime", -15)];
/// Priorities of threads, each with its nice value. A thread's nice value is the sum of the nice value of its own
/// priority and the nice value of its process's priority.
pub(super) const THREAD_PRIORITIES: [(&str, i32); 7] =
    [("time-critical", -5), ("highest", -2), ("above", -1), ("normal", 0), ("below", 1), ("lowest", 2), ("idle", 5)];

impl Workload {
    /// Parses the text of a TOML file.
    pub fn from_toml(file: &str, text: &str) -> Result<Self> {
        let wrong = |message: String| WorkloadError::Script { file: file.into(), line: None, message };
        let workload: Self = toml::from_str(text).map_err(|e| WorkloadError::Script {
            file: file.into(),
            line: e.span().map(|span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1),
            message: e.message().replace('\n', " "),
        })?;
        workload.check().map_err(wrong)?;
        Ok(workload)
    }

    /// Checks that every value of the workload is valid. The returned error names the first invalid value.
    pub fn check(&self) -> Result<(), String> {
        if !(self.seconds > 0.0 && self.seconds <= 86_400.0) {
            return Err(format!("seconds is {}: give a length above 0 and up to a day", self.seconds));
        }
        if self.process.is_empty() {
            return Err("there is no process: add [[process]]".into());
        }
        let total: u64 = self.process.iter().map(|p| u64::from(p.repeat)).sum();
        if total > u64::from(MAX_REPEAT) {
            return Err(format!("{total} processes: give at most {MAX_REPEAT}"));
        }
        self.process.iter().try_for_each(ProcessSpec::check)
    }
}

impl ProcessSpec {
    fn check(&self) -> Result<(), String> {
        known("priority", &self.priority, &PROCESS_PRIORITIES)?;
        if self.thread.is_empty() {
            return Err(format!("process {} has no thread: add [[process.thread]]", self.name));
        }
        if self.data_pages > 1 << 20 {
            return Err(format!("data_pages is {}: give at most {}", self.data_pages, 1 << 20));
        }
        self.thread.iter().try_for_each(ThreadSpec::check)
    }
}

impl ThreadSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        known("priority", &self.priority, &THREAD_PRIORITIES)?;
        if self.repeat > MAX_REPEAT {
            return Err(format!("repeat is {}: give at most {MAX_REPEAT} equal threads", self.repeat));
        }
        let spreads = [
            ("think_ms", self.think_ms),
            ("cycle_reads", self.cycle_reads),
            ("seek_records", self.seek_records),
            ("cpu_ms", self.cpu_ms),
            ("data_page", self.data_page),
            ("code_page", self.code_page),
        ];
        for (name, spread) in spreads {
            let fits = |v: f64| (0.0..=1e12).contains(&v);
            if !fits(spread.mean) || !fits(spread.deviation) {
                return Err(format!("{name} is {spread:?}: mean and deviation must not be negative"));
            }
        }
        if self.file.is_empty() {
            return Err("a thread has no file: name one, or record://ADDRESS:PORT".into());
        }
        if !(1..=1 << 20).contains(&self.record_bytes) {
            return Err(format!("record_bytes is {}: give 1 byte to 1 MiB", self.record_bytes));
        }
        if self.mode == Mode::Unbuffered && !self.record_bytes.is_multiple_of(512) {
            return Err(format!("record_bytes is {}: unbuffered access takes multiples of 512", self.record_bytes));
        }
        let actions = self.actions.as_bytes();
        match !actions.is_empty() && actions.iter().all(|a| matches!(a, b'R' | b'W')) {
            true => Ok(()),
            false => Err(format!("actions is {:?}: give letters R and W, such as RW", self.actions)),
        }
    }
}

fn known(what: &str, name: &str, table: &[(&str, i32)]) -> Result<(), String> {
    match table.iter().any(|(n, _)| *n == name) {
        true => Ok(()),
        false => {
            let names = table.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
            Err(format!("{what} is {name:?}: give one of {names}"))
        }
    }
}

/// Returns the nice value of a thread.
pub(super) fn nice(process: &ProcessSpec, thread: &ThreadSpec) -> i32 {
    let of = |table: &[(&str, i32)], name: &str| table.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
    of(&PROCESS_PRIORITIES, &process.priority) + of(&THREAD_PRIORITIES, &thread.priority)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "seconds = 1\n[[process]]\nname = 'ideagen'\n[[process.thread]]\nfile = 'record://127.0.0.1:9'\n\
                        mode = 'unbuffered'\nrecord_bytes = 2048\ncycle_reads = { mean = 100 }\n";

    #[test]
    fn missing_values_get_their_defaults() {
        let workload = Workload::from_toml("x.toml", TEXT).unwrap();
        let thread = &workload.process[0].thread[0];
        assert_eq!((thread.cycle_reads.mean, thread.actions.as_str(), thread.access), (100.0, "R", Access::Random));
        assert_eq!(Workload::from_toml("y", &toml::to_string(&workload).unwrap()).unwrap(), workload);
    }

    #[test]
    fn the_error_names_the_wrong_value() {
        for (from, to, word) in [
            ("2048", "1000", "multiples of 512"),
            ("record_bytes", "record_byte", "record_byte"),
            ("seconds = 1", "seconds = 0", "seconds"),
            ("mean = 100", "mean = -1", "cycle_reads"),
            ("name =", "priority = 'top'\nname =", "realtime"),
            ("mode =", "repeat = 4000000000\nmode =", "at most 256 equal threads"),
        ] {
            let error = Workload::from_toml("x.toml", &TEXT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("x.toml"), "{error}");
        }
    }
}
