//! The threads of one process: /proc/PID/task/TID/schedstat and status. Source: proc_pid_status(5),
//! Documentation/scheduler/sched-stats.rst.
//!
//! The last counts of ended threads stay in the sums, so a sum of counts only grows. At most [`MAX_OPEN_THREADS`]
//! threads per process keep their files open. All threads without open files are read only at phase starts and ends, so
//! their columns have values only at these samples. At most [`MAX_ROWS`] threads of a process, including ended threads,
//! have columns. New threads reuse the columns of the least busy ended threads. A process with more than
//! [`MAX_UNOPENED_THREADS`] threads has no sums, because reading them would take more than a tenth of a second.

use std::fs::File;
use std::path::Path;

use crate::column_writer::{ColumnWriter, Slots};
use crate::reread_file::reread;
use crate::text::{hex, number, value, words};

/// Counters of a thread.
pub(super) const THREAD: &[&str] = &["thread.cpu", "thread.run_delay", "thread.cpus_allowed", "thread.cpu_mask"];
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

/// Status of a thread. The status of the first thread is also the status of its process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Status {
    /// State letter: `R`, `S`, `D`, `T`, …
    pub(super) state: u8,
    /// Numbers of voluntary and of involuntary context switches.
    pub(super) switches: Option<(u64, u64)>,
    /// Number of allowed CPUs, and their bit mask if all CPU numbers are below 52.
    pub(super) cpus: Option<(u32, Option<u64>)>,
    /// True for a worker created by io_uring.
    pub(super) io_worker: bool,
    /// Values of the fields VmRSS, VmLck, VmPin and VmPTE in kB, and of the field Threads.
    pub(super) levels: [Option<f64>; 5],
}

/// Parses a status file in one pass.
pub(super) fn status(text: &[u8]) -> Status {
    let mut out = Status::default();
    let (mut voluntary, mut involuntary) = (None, None);
    for line in crate::text::lines(text) {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let (key, rest) = (&line[..colon], &line[colon + 1..]);
        let first = || words(rest).next().unwrap_or_default();
        match key {
            b"Name" => out.io_worker = first().starts_with(b"iou-wrk"),
            b"State" => out.state = first().first().copied().unwrap_or_default(),
            b"VmRSS" => out.levels[0] = value(first()),
            b"VmLck" => out.levels[1] = value(first()),
            b"VmPin" => out.levels[2] = value(first()),
            b"VmPTE" => out.levels[3] = value(first()),
            b"Threads" => out.levels[4] = value(first()),
            b"Cpus_allowed" => out.cpus = mask(first()),
            b"voluntary_ctxt_switches" => voluntary = number(first()),
            b"nonvoluntary_ctxt_switches" => involuntary = number(first()),
            _ => {}
        }
    }
    out.switches = voluntary.zip(involuntary);
    out
}

/// Parses a mask such as `ffffffff,00000003`. Returns the number of set bits, and the value of the mask if it is below
/// 2^52. Readings are `f64` values, which cannot represent all larger integers exactly.
fn mask(word: &[u8]) -> Option<(u32, Option<u64>)> {
    let (mut count, mut low) = (0, Some(0_u64));
    for group in word.split(|b| *b == b',') {
        let bits = hex(group)?;
        count += bits.count_ones();
        low = low.and_then(|low| low.checked_mul(1 << 32)?.checked_add(bits)).filter(|low| *low < 1 << 52);
    }
    Some((count, low))
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    run_ns: u64,
    delay_ns: u64,
    switches: (u64, u64),
}

impl Counts {
    fn add(&mut self, o: Self) {
        self.run_ns += o.run_ns;
        self.delay_ns += o.delay_ns;
        self.switches = (self.switches.0 + o.switches.0, self.switches.1 + o.switches.1);
    }
}

#[derive(Debug)]
struct Thread {
    tid: u32,
    /// The files `status` and `schedstat`, for threads whose files stay open.
    files: Option<(File, File)>,
    slots: Option<Slots>,
    last: Counts,
    status: Status,
    alive: bool,
}

/// Number of further threads that may be recorded, over all processes.
pub(super) struct ThreadRoom {
    /// Number of further threads whose files may stay open between samples.
    files: usize,
    /// Number of further threads without open files that may have columns.
    edge_rows: usize,
}

impl ThreadRoom {
    pub(super) const WHOLE: Self = Self { files: 256, edge_rows: 1024 };

    /// Reserves columns for one thread without open files. Returns false if no further thread may have columns.
    fn take_edge_row(&mut self) -> bool {
        let is_left = self.edge_rows > 0;
        self.edge_rows -= usize::from(is_left);
        is_left
    }
}

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

impl Thread {
    const fn new(tid: u32) -> Self {
        let status = Status { state: 0, switches: None, cpus: None, io_worker: false, levels: [None; 5] };
        let last = Counts { run_ns: 0, delay_ns: 0, switches: (0, 0) };
        Self { tid, files: None, slots: None, last, status, alive: true }
    }

    fn read_kept(&mut self, context: &mut ReadContext<'_>) -> Option<()> {
        let (of_status, of_sched) = self.files.as_ref()?;
        self.status = match self.tid == context.pid {
            true => context.leader,
            false => status(reread(of_status, context.buffer).ok()?),
        };
        let times = schedstat(reread(of_sched, context.buffer).ok()?)?;
        self.keep(times);
        Some(())
    }

    fn read_loose(&mut self, context: &mut ReadContext<'_>) -> Option<()> {
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

    fn write(&mut self, writer: &mut ColumnWriter, context: &mut ReadContext<'_>) {
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

fn open(task: &Path, tid: u32) -> Option<(File, File)> {
    let folder = task.join(tid.to_string());
    Some((File::open(folder.join("status")).ok()?, File::open(folder.join("schedstat")).ok()?))
}

/// Parses `66011 148785 2` (nanoseconds on a CPU, nanoseconds waiting for one, time slices). Returns the time on a CPU
/// and the time waiting for a CPU.
fn schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = words(text).map(number);
    numbers.next().flatten().zip(numbers.next().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_counted_and_kept_if_exact() {
        assert_eq!(mask(b"3"), Some((2, Some(3))));
        assert_eq!(mask(b"00000001,00000000"), Some((1, Some(1 << 32))));
        assert_eq!(mask(b"ffffffff,ffffffff"), Some((64, None)));
        assert_eq!(mask(b"ffffffff,ffffffff,ffffffff"), Some((96, None)));
        assert_eq!((mask(b""), mask(b"3,x")), (None, None));
    }

    #[test]
    fn a_status_is_read_in_one_pass() {
        let s = status(
            b"Name:\tiou-wrk-12\nState:\tD (disk sleep)\nVmRSS:\t 12 kB\nThreads:\t3\nCpus_allowed:\t2\n\
            voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\nodd\n",
        );
        assert_eq!((s.state, s.io_worker, s.switches), (b'D', true, Some((5, 6))));
        assert_eq!((s.cpus, s.levels), (Some((1, Some(2))), [Some(12.0), None, None, None, Some(3.0)]));
    }
}
