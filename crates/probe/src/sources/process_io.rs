//! Bytes that a followed process read from disks and wrote to disks, from /proc/PID/io. Source: proc_pid_io(5).
//!
//! When a process waits for an ended child, the kernel adds the child's bytes to the counters of the process (function
//! `wait_task_zombie` in Linux's kernel/exit.c). If the child was followed, the child's own columns contain these
//! bytes, too. The bytes of followed children are subtracted from the counters of the parent, so that each byte counts
//! once. Bytes of children that ended before any sample stay in the counters of the parent.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::column_writer::{ColumnWriter, Slots};
use crate::reread_file::{reread, why};
use crate::text::keyed;

/// Counters of a process's bytes.
pub(super) const IO: &[&str] = &["process.read_bytes", "process.write_bytes"];
/// Names of the counters in /proc/PID/io, in the order of [`IO`].
const KEYS: [&str; 2] = ["read_bytes:", "write_bytes:"];

/// Bytes read, and bytes written.
pub(super) type Bytes = [f64; 2];

/// The file /proc/PID/io of one process, and its counters.
pub(super) struct ProcessIo {
    path: PathBuf,
    file: io::Result<File>,
    counters: [IoCounter; 2],
    /// Reason why the last reading failed.
    failed: Option<String>,
    /// True once the parent subtracts the bytes of this ended process.
    is_claimed: bool,
}

impl ProcessIo {
    pub(super) fn open(process: &Path) -> Self {
        let path = process.join("io");
        let (file, counters) = (File::open(&path), <[IoCounter; 2]>::default());
        Self { path, file, counters, failed: None, is_claimed: false }
    }

    /// Returns true if the counters were read at least once.
    pub(super) fn is_read(&self) -> bool {
        self.counters.iter().any(|counter| counter.last.is_some())
    }

    /// Reads the counters. `is_new` is true if the parent of the process was followed before the process.
    pub(super) fn read(&mut self, is_new: bool, buffer: &mut Vec<u8>) {
        let read = match &self.file {
            Ok(file) => reread(file, buffer).map_err(|e| why(&self.path, &e)),
            Err(e) => Err(why(&self.path, e)),
        };
        match read {
            Ok(text) => {
                for (counter, key) in self.counters.iter_mut().zip(KEYS) {
                    counter.read(keyed(text, key), is_new);
                }
                self.failed = None;
            }
            Err(reason) => self.failed = Some(reason),
        }
    }

    /// Returns true if the process has ended: either `is_ended` is true, or a reading failed after an earlier reading
    /// succeeded.
    fn has_ended(&self, is_ended: bool) -> bool {
        is_ended || self.failed.is_some() && self.is_read()
    }

    /// Returns the bytes that the columns of an ended process contain. Returns `None` if the process still runs, or if
    /// its bytes were already returned.
    pub(super) fn take_of_ended(&mut self, is_ended: bool) -> Option<Bytes> {
        let takes = self.has_ended(is_ended) && !self.is_claimed;
        self.is_claimed |= takes;
        takes.then(|| self.counters.map(|counter| counter.in_columns()))
    }

    /// Takes over the bytes of a followed child that ended. Subtracts the child's bytes from the counters, or keeps
    /// them for the parent if this process has ended, too.
    pub(super) fn claim(&mut self, of_child: Bytes, is_ended: bool) {
        let has_ended = self.has_ended(is_ended);
        self.counters.iter_mut().zip(of_child).for_each(|(counter, bytes)| counter.claim(bytes, has_ended));
    }

    /// Writes the bytes of the process into its columns.
    pub(super) fn put(&self, writer: &mut ColumnWriter, slots: Slots, instance: &str) {
        match &self.failed {
            Some(reason) => writer.absent_all(IO, instance, format_args!("{reason}")),
            None => {
                for (at, counter) in self.counters.iter().enumerate() {
                    writer.put_some(slots, at, counter.last.map(|bytes| bytes - counter.of_children));
                }
            }
        }
    }
}

/// One counter of /proc/PID/io, in bytes.
#[derive(Clone, Copy, Default)]
struct IoCounter {
    /// Value at the last reading; `None` before the first reading.
    last: Option<f64>,
    /// Growth from the last but one to the last reading, without the bytes of followed children.
    grown: f64,
    /// Bytes of ended children that their own columns contain, too.
    of_children: f64,
    /// Bytes that no column contains, because the process moved them before its first sample.
    before: f64,
    /// Bytes that followed child processes moved, if these processes ended after the last reading.
    after: f64,
}

impl IoCounter {
    fn read(&mut self, now: Option<f64>, is_new: bool) {
        let Some(now) = now else { return };
        if self.last.is_none() && is_new {
            self.before = now;
        }
        self.grown = (now - self.last.unwrap_or(now)).max(0.0);
        self.last = Some(now);
    }

    /// Subtracts the bytes of an ended child, but no more than the growth since the last reading. The counter does not
    /// contain the child's bytes if the process ignores the ends of its children (SIGCHLD), so nobody waits for them.
    fn claim(&mut self, of_child: f64, has_ended: bool) {
        if has_ended {
            self.after += of_child;
            return;
        }
        let part = of_child.min(self.grown);
        self.grown -= part;
        self.of_children += part;
    }

    /// Returns the bytes that the columns of this process and of its ended children contain.
    fn in_columns(&self) -> f64 {
        self.last.map_or(0.0, |last| last - self.before) + self.after
    }
}
