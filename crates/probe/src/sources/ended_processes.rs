//! Ended processes of one side (server or load generator). The busiest ended processes keep their columns of the
//! recording. The counters of the less busy ended processes are added up in one instance. Loadline can therefore follow
//! a server that starts a process per job for days.

use run::ENDED_PROCESSES;

use super::process_columns::{CPU, Columns, INSTRUCTIONS, STAT};
use super::process_io::IO;
use super::process_member::Member;
use super::thread::ThreadRoom;
use super::threads::SUMS;
use crate::column_writer::Slots;
use crate::source::Round;

/// Maximum number of ended processes that keep their columns.
const MAX_ENDED: usize = 32;
/// Growing counters that are added up: page faults, CPU time, input and output, instructions, waits for a CPU, and
/// context switches. Each entry is one counter: its group of columns ([`Group`]), and its index in this group.
const SUMMED: [(Group, usize); 11] = [
    (Group::Stat, 0),
    (Group::Stat, 1),
    (Group::Stat, 2),
    (Group::Stat, 3),
    (Group::Cpu, 0),
    (Group::Io, 0),
    (Group::Io, 1),
    (Group::Instructions, 0),
    (Group::Sums, 0),
    (Group::Sums, 1),
    (Group::Sums, 2),
];

/// Group of columns that are opened together for a process.
#[derive(Clone, Copy)]
enum Group {
    Stat,
    Cpu,
    Io,
    Instructions,
    Sums,
}

impl Group {
    const fn slots(self, columns: &Columns) -> Slots {
        match self {
            Self::Stat => columns.stat,
            Self::Cpu => columns.cpu,
            Self::Io => columns.io,
            Self::Instructions => columns.instructions,
            Self::Sums => columns.sums,
        }
    }
}

/// Sums over the ended processes, and columns that new processes can reuse.
#[derive(Default)]
pub(super) struct EndedProcesses {
    /// Columns of the sums over ended processes. The columns of the sums are opened when the first process ends.
    columns: Option<[Slots; SUMMED.len()]>,
    sums: [f64; SUMMED.len()],
    is_counted: bool,
    spare: Vec<Columns>,
    spare_threads: Vec<Slots>,
}

impl EndedProcesses {
    /// Resets the sums for a new set of followed processes. The columns of the processes in `earlier` become free for
    /// reuse.
    pub(super) fn begin(&mut self, earlier: Vec<Member>, round: &mut Round<'_>) {
        earlier.into_iter().for_each(|member| self.free(member, round));
        (self.sums, self.is_counted) = ([0.0; SUMMED.len()], false);
    }

    /// Takes the columns of a closed process for reuse. Returns `None` if no columns are free.
    pub(super) fn spare_columns(&mut self) -> Option<Columns> {
        self.spare.pop()
    }

    /// Returns the columns of closed threads, for reuse.
    pub(super) fn spare_threads(&mut self) -> &mut Vec<Slots> {
        &mut self.spare_threads
    }

    /// Adds up the least busy ended processes if there are more ended processes than [`MAX_ENDED`].
    pub(super) fn merge(&mut self, members: &mut Vec<Member>, round: &mut Round<'_>) {
        let is_ended = |member: &Member| member.ended && !member.behind;
        let ended = members.iter().filter(|member| is_ended(member)).count();
        if ended == 0 && !self.is_counted {
            return;
        }
        // The sums over ended processes start with a row of zeros, before any process is added. Because of the row of
        // zeros, the growth of a sum equals everything that was added.
        let merged = if self.is_counted { ended.saturating_sub(MAX_ENDED) } else { 0 };
        for _ in 0..merged {
            let cpu_us = |member: &Member| round.writer.growth(member.slots.cpu, 0);
            let candidates = members.iter().enumerate().filter(|(_, member)| is_ended(member));
            let least = candidates.min_by(|(_, a), (_, b)| cpu_us(a).total_cmp(&cpu_us(b)));
            if let Some(at) = least.map(|(at, _)| at) {
                self.add(members.remove(at), round);
            }
        }
        self.write(round);
    }

    fn write(&mut self, round: &mut Round<'_>) {
        let open = |(group, at): (Group, usize)| {
            let ids = match group {
                Group::Stat => STAT,
                Group::Cpu => CPU,
                Group::Io => IO,
                Group::Instructions => INSTRUCTIONS,
                Group::Sums => SUMS,
            };
            round.writer.open(&ids[at..=at], ENDED_PROCESSES)
        };
        let columns = *self.columns.get_or_insert_with(|| SUMMED.map(open));
        if !self.is_counted {
            self.is_counted = true;
            round.process_set.add(0, ENDED_PROCESSES);
        }
        for ((slots, sum), (group, _)) in columns.iter().zip(self.sums).zip(SUMMED) {
            // If instructions cannot be counted, the recording has no sum of instructions, not even a zero.
            if !matches!(group, Group::Instructions) || sys::perf::counts_instructions() {
                round.writer.put(*slots, 0, sum);
            }
        }
    }

    fn add(&mut self, member: Member, round: &mut Round<'_>) {
        for (sum, (group, at)) in self.sums.iter_mut().zip(SUMMED) {
            *sum += round.writer.growth(group.slots(&member.slots), at);
        }
        round.process_set.forget(member.pid);
        self.free(member, round);
    }

    /// Closes the columns of a process and keeps them for reuse.
    fn free(&mut self, mut member: Member, round: &mut Round<'_>) {
        // The files and columns are released into an unused [`ThreadRoom`]. The shared [`ThreadRoom`] has counted them
        // as free since the process ended, or since a new set of processes began.
        let mut unused = ThreadRoom::WHOLE;
        member.threads.release(&mut unused);
        member.threads.close_least_busy(round.writer, &mut self.spare_threads, 0);
        member.slots.all().iter().for_each(|(slots, ids)| round.writer.close(*slots, ids));
        self.spare.push(member.slots);
    }
}
