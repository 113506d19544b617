//! One sampled thread with its open files.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use run::visible;

use crate::reread_file::reread;
use crate::text::{number, words};

use super::calls::{self, Blocked};
use super::round::pattern;

/// Maximum length of a thread's name. The kernel keeps 15 bytes of a name.
const MAX_NAME_CHARS: usize = 32;
/// Number of rounds after which the reader reads the name again, because a thread sets its name after its start.
const NAME_ROUNDS: u32 = 64;

/// A sampled thread.
#[derive(Debug)]
pub(super) struct Thread {
    syscall: File,
    /// File `schedstat`, opened when the thread is first seen running, because most threads of a server only wait. The
    /// outer `None` means that the file was not opened yet, and the inner `None` that opening it failed.
    schedstat: Option<Option<File>>,
    /// Name with `#` in place of each number. A thread without its own name has the name of its process, in which
    /// numbers are not replaced.
    pub(super) name: Arc<str>,
    /// Complete name of the thread, including the numbers in the name.
    pub(super) full_name: Arc<str>,
    /// Name of the thread's process.
    process: Arc<str>,
    /// ID of the thread in the process's own PID namespace, which may differ from the host's.
    pub(super) own_id: u32,
    /// Number of rounds that read the thread.
    age: u32,
    /// Time on a CPU and time ready to run, nanoseconds, at the last reading.
    times_ns: Option<(u64, u64)>,
    on_cpu: Option<f64>,
}

impl Thread {
    /// Opens a thread's files. `is_new` means that the thread started during the sampling, so its times began at zero.
    pub(super) fn open(
        folder: &Path,
        tid: u32,
        process: &Arc<str>,
        other_pid_namespace: bool,
        is_new: bool,
    ) -> io::Result<Self> {
        let own_id = if other_pid_namespace { stacks::inner_id(folder).unwrap_or(tid) } else { tid };
        let syscall = File::open(folder.join("syscall"))?;
        let (name, full_name) = names(folder, process);
        Ok(Self {
            syscall,
            schedstat: None,
            name,
            full_name,
            process: process.clone(),
            own_id,
            age: 0,
            times_ns: is_new.then_some((0, 0)),
            on_cpu: None,
        })
    }

    /// Reads whether the thread runs, or in which system call it waits.
    pub(super) fn read(
        &mut self,
        folder: impl Fn() -> std::path::PathBuf,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Option<Blocked>> {
        self.age += 1;
        if self.age == 2 || self.age.is_multiple_of(NAME_ROUNDS) {
            (self.name, self.full_name) = names(&folder(), &self.process);
        }
        Ok(calls::parse(reread(&self.syscall, buffer)?))
    }

    /// Returns the thread's time on a CPU since the last call, as a share of its time running or ready to run, if
    /// known.
    pub(super) fn on_cpu(&mut self, folder: impl Fn() -> std::path::PathBuf, buffer: &mut Vec<u8>) -> Option<f64> {
        let file = self.schedstat.get_or_insert_with(|| File::open(folder().join("schedstat")).ok());
        let text = reread(file.as_ref()?, buffer).ok()?;
        let mut fields = words(text).map(number);
        let (run, delay) = (fields.next()??, fields.next()??);
        if let Some((run_before, delay_before)) = self.times_ns.replace((run, delay)) {
            let (ran, waited) = (run.saturating_sub(run_before) as f64, delay.saturating_sub(delay_before) as f64);
            // If the thread ran without a break, the kernel may not have accounted any time yet. If no time was
            // accounted, the last known share is used. Without a known share, the thread is assumed to have run all the
            // time.
            self.on_cpu = if ran + waited > 0.0 { Some(ran / (ran + waited)) } else { self.on_cpu.or(Some(1.0)) };
        }
        self.on_cpu
    }
}

/// Returns a thread's name, first with `#` in place of each number, and then with its numbers.
fn names(folder: &Path, process: &Arc<str>) -> (Arc<str>, Arc<str>) {
    let text = std::fs::read(folder.join("comm")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    if text.trim_end() == &**process {
        return (process.clone(), process.clone());
    }
    let full: String = visible(text.trim()).chars().take(MAX_NAME_CHARS).collect();
    (pattern(&text, MAX_NAME_CHARS), full.into())
}
