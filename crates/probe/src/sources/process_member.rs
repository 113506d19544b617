//! One followed process: its open files, its columns, and its values in each sample.

mod values;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use super::ended_children::{EndedChildren, KnownChildren, ParentOfEnded};
use super::process_columns::{CPU, Columns};
use super::process_io::{Bytes, ProcessIo};
use super::thread::{ReadContext, ThreadRoom};
use super::threads::Threads;
use crate::column_writer::{ColumnWriter, Slots};
use crate::process_tree;
use crate::reread_file::{reread, why};
use crate::source::Round;
use crate::text::{number, stat_fields};
use crate::units;
use sys::perf::{InstructionCounter, counts_instructions};

/// Maximum number of threads of a process whose instructions are counted. Each counted thread takes a file descriptor.
const MAX_COUNTED_THREADS: usize = 64;
/// One followed process.
pub(super) struct Member {
    pub(super) pid: u32,
    pub(super) instance: String,
    folder: PathBuf,
    task: PathBuf,
    stat: File,
    status: Option<File>,
    io: ProcessIo,
    children: io::Result<File>,
    pub(super) slots: Columns,
    pub(super) threads: Threads,
    /// Counter of the process's instructions; `None` if they are not counted.
    instructions: Option<InstructionCounter>,
    /// True for a process of an upstream.
    pub(super) behind: bool,
    pub(super) ended: bool,
    /// CPU time of the process itself at its last reading, nanoseconds.
    cpu_ns: u64,
    pub(super) children_cpu: EndedChildren,
}

impl Member {
    /// Opens the files and the columns of a process. `spare` returns the columns of a closed process for reuse, if
    /// there are any.
    pub(super) fn open(
        round: &mut Round<'_>,
        pid: u32,
        spare: impl FnOnce() -> Option<Columns>,
        buffer: &mut Vec<u8>,
    ) -> Result<Self, String> {
        let folder = round.tree.process(pid, "");
        let path = folder.join("stat");
        let opened =
            File::open(&path).and_then(|file| reread(&file, buffer).map(<[u8]>::to_vec).map(|text| (file, text)));
        let (stat, text) = opened.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => format!("process {pid} does not exist"),
            _ => why(&path, &e),
        })?;
        let (comm, _) = stat_fields(&text).ok_or_else(|| format!("{} is not understood", path.display()))?;
        let instance = format!("{comm}:{pid}");
        let slots = match spare() {
            Some(slots) => {
                slots.all().iter().for_each(|(slots, ids)| round.writer.reopen(*slots, ids, &instance));
                slots
            }
            None => Columns::open(round.writer, &instance),
        };
        Ok(Self {
            pid,
            instance,
            task: folder.join("task"),
            stat,
            status: File::open(folder.join("status")).ok(),
            io: ProcessIo::open(&folder),
            children: File::open(folder.join(format!("task/{pid}/children"))),
            folder,
            slots,
            threads: Threads::default(),
            instructions: count_instructions(round, pid),
            behind: false,
            ended: false,
            cpu_ns: 0,
            children_cpu: EndedChildren::default(),
        })
    }

    pub(super) fn sample(
        &mut self,
        round: &mut Round<'_>,
        room: &mut ThreadRoom,
        spare: &mut Vec<Slots>,
        buffer: &mut Vec<u8>,
    ) {
        let count = match reread(&self.stat, buffer) {
            Ok(text) if !text.is_empty() => {
                self.children_cpu.read(text);
                put_stat(round.writer, self.slots.stat, text)
            }
            Ok(_) | Err(_) => {
                self.ended = true;
                self.threads.release(room);
                round.writer.absent_all(CPU, &self.instance, format_args!("process {} ended", self.pid));
                return;
            }
        };
        let leader = self.put_status(round, buffer);
        self.children_cpu.cpus = leader.cpus;
        self.put_fds(round);
        if round.full {
            self.put_limit(round);
            self.put_pss(round, leader.levels[0]);
        }
        let (task, pid, instance) = (self.task.as_path(), self.pid, self.instance.as_str());
        let mut look = ReadContext { task, pid, instance, count, leader, full: round.full, room, spare, buffer };
        let summed = self.threads.sample(round.writer, self.slots.sums, &mut look);
        let exact = match round.tree.is_live() {
            true => sys::cpuclock::process_cpu_ns(self.pid).ok(),
            false => summed,
        };
        self.cpu_ns = exact.unwrap_or(self.cpu_ns);
        match exact {
            Some(ns) => round.writer.put(self.slots.cpu, 0, units::ns_us(ns as f64)),
            None => round.writer.absent_all(CPU, &self.instance, format_args!("this kernel has no CPU clocks")),
        }
    }

    /// Returns the parent of this process, and the CPU time that the parent's counter of ended children contains after
    /// the end of this process, nanoseconds.
    pub(super) fn left_to_parent(&self) -> (u32, u64) {
        (self.children_cpu.parent(), self.cpu_ns.saturating_add(self.children_cpu.total_ns()))
    }

    /// Returns true if the process's bytes were read at least once.
    pub(super) fn has_read_io(&self) -> bool {
        self.io.is_read()
    }

    /// Reads the bytes of a process that still runs. `followed` are the processes whose bytes were read before.
    pub(super) fn read_io(&mut self, followed: &[u32], buffer: &mut Vec<u8>) {
        if !self.ended {
            let is_new = followed.contains(&self.children_cpu.parent());
            self.io.read(is_new, buffer);
        }
    }

    /// Returns the parent and the bytes of an ended process. Returns `None` if the process still runs, or if its bytes
    /// were already returned.
    pub(super) fn take_io_of_ended(&mut self) -> Option<(u32, Bytes)> {
        Some((self.children_cpu.parent(), self.io.take_of_ended(self.ended)?))
    }

    /// Takes over the bytes of a followed child that ended, so that they count only once.
    pub(super) fn claim_io(&mut self, of_child: Bytes) {
        self.io.claim(of_child, self.ended);
    }

    pub(super) fn put_io(&self, writer: &mut ColumnWriter) {
        if !self.ended {
            self.io.put(writer, self.slots.io, &self.instance);
        }
    }

    /// Writes the CPU time of unseen children (children that ended before a sample could find them).
    pub(super) fn put_ended_children(
        &mut self,
        known: &mut KnownChildren,
        round: &mut Round<'_>,
        buffer: &mut Vec<u8>,
    ) {
        let parent = ParentOfEnded { pid: self.pid, instance: &self.instance, task: &self.task };
        self.children_cpu.put(&parent, self.threads.tids(), known, round, buffer);
    }

    /// Returns true if the instructions of the process are counted.
    pub(super) fn counts_instructions(&self) -> bool {
        self.instructions.is_some()
    }

    pub(super) fn put_instructions(&self, round: &mut Round<'_>) {
        let total = self.instructions.as_ref().and_then(InstructionCounter::total);
        round.writer.put_some(self.slots.instructions, 0, total);
    }

    /// Appends the IDs of child processes that the first thread created, and at phase starts and ends also those of
    /// other threads. On kernels without `children` files, searches for all descendants at phase starts and ends.
    pub(super) fn children(&self, round: &mut Round<'_>, buffer: &mut Vec<u8>, into: &mut Vec<u32>) {
        match &self.children {
            Ok(file) => {
                if let Ok(text) = reread(file, buffer) {
                    into.extend(process_tree::pids_in(text));
                }
                if round.full && self.threads.len() > 1 {
                    for tid in self.threads.tids().filter(|tid| *tid != self.pid) {
                        if let Ok(text) = std::fs::read(self.task.join(format!("{tid}/children"))) {
                            into.extend(process_tree::pids_in(&text));
                        }
                    }
                }
            }
            Err(_) if round.full => {
                into.extend(process_tree::server_descendants(&round.tree.path("proc"), &[self.pid]))
            }
            Err(_) => {}
        }
    }
}

/// Starts to count the instructions of a process of this machine. Returns `None` if the machine has no counter of
/// instructions, if the user may not use it, or if the process has too many threads.
fn count_instructions(round: &Round<'_>, pid: u32) -> Option<InstructionCounter> {
    if !round.tree.is_live() || !counts_instructions() {
        return None;
    }
    let threads = stacks::threads_of(pid);
    let few = (1..=MAX_COUNTED_THREADS).contains(&threads.len());
    Some(threads).filter(|_| few).and_then(|threads| InstructionCounter::start(threads).ok())
}

/// Writes page faults, CPU time and parent from `/proc/PID/stat`, and returns the number of threads. `fields` begins
/// with field 3 of proc_pid_stat(5), the state. Field 4 is ppid, 10 minflt, 12 majflt, 14 utime, 15 stime, and 20
/// num_threads.
fn put_stat(writer: &mut ColumnWriter, slots: Slots, text: &[u8]) -> Option<u64> {
    let (_, fields) = stat_fields(text)?;
    let mut field = [None; 18];
    for (number_of, word) in field.iter_mut().zip(fields) {
        *number_of = number(word);
    }
    let [minor, major, user, system] = [field[7], field[9], field[11], field[12]];
    writer.put_some(slots, 0, minor.map(|n| n as f64));
    writer.put_some(slots, 1, major.map(|n| n as f64));
    writer.put_some(slots, 2, user.map(units::ticks_us));
    writer.put_some(slots, 3, system.map(units::ticks_us));
    writer.put_some(slots, 4, field[1].map(|n| n as f64));
    field[17]
}
