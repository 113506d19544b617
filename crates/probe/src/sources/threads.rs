//! The threads of one process, and sums over them.
//!
//! The last counts of ended threads stay in the sums, so a sum of counts only grows. At most [`MAX_OPEN_THREADS`]
//! threads per process keep their files open. All threads without open files are read only at phase starts and ends, so
//! their columns have values only at these samples. At most [`MAX_ROWS`] threads of a process, including ended threads,
//! have columns. New threads reuse the columns of the least busy ended threads. A process with more than
//! [`MAX_UNOPENED_THREADS`] threads has no sums, because reading them would take more than a tenth of a second.

use super::thread::{Counts, ReadContext, THREAD, Thread, ThreadRoom, open};
use crate::column_writer::{ColumnWriter, Slots};

/// Sums over the threads of a process.
pub(super) const SUMS: &[&str] = &[
    "process.run_delay",
    "process.voluntary_switches",
    "process.involuntary_switches",
    "process.running",
    "process.sleeping",
    "process.disk_wait",
    "process.stopped",
    "process.io_workers",
];
/// Maximum number of threads per process that keep their files open between samples.
const MAX_OPEN_THREADS: usize = 64;
/// Maximum number of threads of a process that get their own columns. A server may create one thread per connection.
const MAX_ROWS: usize = 256;
/// Maximum number of ended threads per process that keep their columns: enough for the threads of a pool.
const MAX_ENDED_ROWS: usize = 32;
/// Maximum number of threads per process that are read. Threads without open files are read only at phase starts and
/// ends.
const MAX_UNOPENED_THREADS: usize = 2048;

/// The threads of one process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    list: Vec<Thread>,
    retired: Counts,
    /// Columns of threads that have ended.
    ended: Vec<Slots>,
    /// Number of living and ended threads with columns of their own.
    rows: usize,
    /// True if the process has more threads than `list` contains.
    cut: bool,
}

impl Threads {
    /// Reads the threads and writes their columns. Returns the exact CPU time of the process in nanoseconds, including
    /// ended threads. Returns `None` if some thread was not read.
    pub(super) fn sample(
        &mut self,
        writer: &mut ColumnWriter,
        sums: Slots,
        context: &mut ReadContext<'_>,
    ) -> Option<u64> {
        self.list_threads(context);
        self.close_least_busy(writer, context.spare, MAX_ENDED_ROWS);
        let mut whole = !self.cut;
        for thread in &mut self.list {
            let told = match thread.files {
                Some(_) => thread.read_kept(context),
                None if context.full && !self.cut => thread.read_loose(context),
                None => None,
            };
            whole &= told.is_some();
            let mut has_room = |rows| rows < MAX_ROWS && (thread.files.is_some() || context.room.take_edge_row());
            if told.is_some() && (thread.slots.is_some() || has_room(self.rows)) {
                self.rows += usize::from(thread.slots.is_none());
                thread.write(writer, context);
            }
        }
        self.note_limits(writer, context);
        whole.then(|| self.write_sums(writer, sums))
    }

    /// Closes the files of all threads of an ended process. The columns of the threads stay open for now.
    pub(super) fn release(&mut self, room: &mut ThreadRoom) {
        room.files += self.list.iter().filter(|t| t.files.is_some()).count();
        self.ended.extend(self.list.drain(..).filter_map(|t| t.slots));
    }

    /// Closes the columns of ended threads, least busy first, until only `kept` ended threads have columns.
    pub(super) fn close_least_busy(&mut self, writer: &mut ColumnWriter, spare: &mut Vec<Slots>, kept: usize) {
        if self.ended.len() <= kept {
            return;
        }
        let busy = |slots: &Slots| writer.growth(*slots, 0);
        self.ended.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        for slots in self.ended.drain(kept..) {
            writer.close(slots, THREAD);
            spare.push(slots);
            self.rows -= 1;
        }
    }

    /// Returns the number of known threads.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the thread IDs of the known threads.
    pub(super) fn tids(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().map(|t| t.tid)
    }

    /// Updates the list from the folder of threads. No update is needed if the list of threads has only the first
    /// thread and the process reports one thread.
    fn list_threads(&mut self, context: &mut ReadContext<'_>) {
        let alone = |t: &Thread| t.tid == context.pid;
        if context.count == Some(1) && self.list.len() == 1 && self.list.first().is_some_and(alone) {
            return;
        }
        let Ok(folder) = std::fs::read_dir(context.task) else { return };
        self.list.iter_mut().for_each(|t| t.alive = false);
        let tids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        self.cut = false;
        for tid in tids {
            if self.list.len() >= MAX_UNOPENED_THREADS && self.list.binary_search_by_key(&tid, |t| t.tid).is_err() {
                self.cut = true;
                continue;
            }
            match self.list.binary_search_by_key(&tid, |t| t.tid) {
                Ok(at) => self.list[at].alive = true,
                Err(at) => self.list.insert(at, Thread::new(tid)),
            }
        }
        for thread in self.list.iter().filter(|t| !t.alive) {
            self.retired.add(thread.last);
            context.room.files += usize::from(thread.files.is_some());
            self.ended.extend(thread.slots);
        }
        self.list.retain(|t| t.alive);
        self.keep_files(context);
    }

    fn keep_files(&mut self, context: &mut ReadContext<'_>) {
        let mut kept = self.list.iter().filter(|t| t.files.is_some()).count();
        for thread in self.list.iter_mut().filter(|t| t.files.is_none()) {
            if kept >= MAX_OPEN_THREADS || context.room.files == 0 {
                return;
            }
            thread.files = open(context.task, thread.tid);
            if thread.files.is_some() {
                kept += 1;
                context.room.files -= 1;
            }
        }
    }

    fn note_limits(&self, writer: &mut ColumnWriter, context: &ReadContext<'_>) {
        let shown = self.list.iter().filter(|t| t.slots.is_some()).count();
        if shown < self.list.len() {
            let reason = format_args!("{shown} of its {} threads have rows of their own", self.list.len());
            writer.absent_all(THREAD, context.instance, reason);
        }
        if self.cut {
            let reason = format_args!(
                "it has more than {MAX_UNOPENED_THREADS} threads, too many to read each: see system.context_switches for all of the host"
            );
            writer.absent_all(SUMS, context.instance, reason);
        }
    }

    fn write_sums(&self, writer: &mut ColumnWriter, sums: Slots) -> u64 {
        let mut all = self.retired;
        let mut states = [0_u32; 5];
        for thread in &self.list {
            all.add(thread.last);
            match thread.status.state {
                b'R' => states[0] += 1,
                b'S' => states[1] += 1,
                b'D' => states[2] += 1,
                b'T' | b't' => states[3] += 1,
                _ => {}
            }
            states[4] += u32::from(thread.status.io_worker);
        }
        let counts = [all.delay_ns as f64 / 1e3, all.switches.0 as f64, all.switches.1 as f64];
        for (at, v) in counts.into_iter().chain(states.map(f64::from)).enumerate() {
            writer.put(sums, at, v);
        }
        all.run_ns
    }
}
