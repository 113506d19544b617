//! One thread of a process: /proc/PID/task/TID/schedstat and status. Source: proc_pid_status(5),
//! Documentation/scheduler/sched-stats.rst.

use std::fs::File;
use std::path::Path;

use super::thread_status::{Status, status};
use crate::column_writer::{ColumnWriter, Slots};
use crate::reread_file::reread;
use crate::text::{number, words};

/// Counters of a thread.
pub(super) const THREAD: &[&str] = &["thread.cpu", "thread.run_delay", "thread.cpus_allowed", "thread.cpu_mask"];

/// Counts of a thread, or their sums over several threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) run_ns: u64,
    pub(super) delay_ns: u64,
    pub(super) switches: (u64, u64),
}

impl Counts {
    pub(super) fn add(&mut self, o: Self) {
        self.run_ns += o.run_ns;
        self.delay_ns += o.delay_ns;
        self.switches = (self.switches.0 + o.switches.0, self.switches.1 + o.switches.1);
    }
}

/// One thread: its files, its columns and its latest values.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: u32,
    /// The files `status` and `schedstat`, for threads whose files stay open.
    pub(super) files: Option<(File, File)>,
    pub(super) slots: Option<Slots>,
    pub(super) last: Counts,
    pub(super) status: Status,
    pub(super) alive: bool,
}

/// Number of further threads that may be recorded, over all processes.
pub(super) struct ThreadRoom {
    /// Number of further threads whose files may stay open between samples.
    pub(super) files: usize,
    /// Number of further threads without open files that may have columns.
    pub(super) edge_rows: usize,
}

impl ThreadRoom {
    pub(super) const WHOLE: Self = Self { files: 256, edge_rows: 1024 };

    /// Reserves columns for one thread without open files. Returns false if no further thread may have columns.
    pub(super) fn take_edge_row(&mut self) -> bool {
        let is_left = self.edge_rows > 0;
        self.edge_rows -= usize::from(is_left);
        is_left
    }
}

/// Arguments for reading the threads of a process.
pub(super) struct ReadContext<'a> {
    pub(super) task: &'a Path,
    pub(super) pid: u32,
    pub(super) instance: &'a str,
    /// Number of threads that the process reports.
    pub(super) count: Option<u64>,
    /// Status of the first thread, which was read already.
    pub(super) leader: Status,
    pub(super) full: bool,
    pub(super) room: &'a mut ThreadRoom,
    /// Columns that new threads can reuse.
    pub(super) spare: &'a mut Vec<Slots>,
    pub(super) buffer: &'a mut Vec<u8>,
}

impl Thread {
    pub(super) const fn new(tid: u32) -> Self {
        let status = Status { state: 0, switches: None, cpus: None, io_worker: false, levels: [None; 5] };
        let last = Counts { run_ns: 0, delay_ns: 0, switches: (0, 0) };
        Self { tid, files: None, slots: None, last, status, alive: true }
    }

    pub(super) fn read_kept(&mut self, context: &mut ReadContext<'_>) -> Option<()> {
        let (of_status, of_sched) = self.files.as_ref()?;
        self.status = match self.tid == context.pid {
            true => context.leader,
            false => status(reread(of_status, context.buffer).ok()?),
        };
        let times = schedstat(reread(of_sched, context.buffer).ok()?)?;
        self.keep(times);
        Some(())
    }

    pub(super) fn read_loose(&mut self, context: &mut ReadContext<'_>) -> Option<()> {
        let (of_status, of_sched) = open(context.task, self.tid)?;
        self.status = status(reread(&of_status, context.buffer).ok()?);
        let times = schedstat(reread(&of_sched, context.buffer).ok()?)?;
        self.keep(times);
        Some(())
    }

    fn keep(&mut self, (run_ns, delay_ns): (u64, u64)) {
        let switches = self.status.switches.unwrap_or(self.last.switches);
        self.last = Counts { run_ns, delay_ns, switches };
    }

    pub(super) fn write(&mut self, writer: &mut ColumnWriter, context: &mut ReadContext<'_>) {
        let slots = *self.slots.get_or_insert_with(|| {
            let instance = format!("{}/{}", context.instance, self.tid);
            let Some(slots) = context.spare.pop() else { return writer.open(THREAD, &instance) };
            writer.reopen(slots, THREAD, &instance);
            slots
        });
        // Times are rounded down to whole microseconds, because digits of threads' times could be most of a run file.
        writer.put(slots, 0, (self.last.run_ns / 1000) as f64);
        writer.put(slots, 1, (self.last.delay_ns / 1000) as f64);
        writer.put_some(slots, 2, self.status.cpus.map(|(count, _)| f64::from(count)));
        writer.put_some(slots, 3, self.status.cpus.and_then(|(_, mask)| mask).map(|mask| mask as f64));
    }
}

pub(super) fn open(task: &Path, tid: u32) -> Option<(File, File)> {
    let folder = task.join(tid.to_string());
    Some((File::open(folder.join("status")).ok()?, File::open(folder.join("schedstat")).ok()?))
}

/// Parses `66011 148785 2` (nanoseconds on a CPU, nanoseconds waiting for one, time slices). Returns the time on a CPU
/// and the time waiting for a CPU.
fn schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = words(text).map(number);
    numbers.next().flatten().zip(numbers.next().flatten())
}
