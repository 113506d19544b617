//! Counters of the processes of this side (server or load generator) and of their children, from
//! /proc/PID/{stat,status,io,fd,limits,smaps_rollup}. Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_io(5).
//!
//! Files stay open, so an ended process is not confused with a new process that has the same ID. Limits and Pss are
//! read only at phase starts and ends. Pss is expensive, because the kernel walks the page tables to compute it.

use super::ended_children::KnownChildren;
use super::ended_processes::EndedProcesses;
use super::process_columns::{CPU, FDS, INSTRUCTIONS, LIMIT, PSS, STAT, STATUS};
use super::process_io::IO;
use super::process_member::Member;
use super::thread::ThreadRoom;
use super::threads::SUMS;
use crate::socket_holders::is_manager;
use crate::source::{Round, Source};
use crate::tree::Tree;
use crate::{Scope, process_tree};

/// Maximum number of followed processes. Of each further process, the recording contains only the reason why its
/// counters are absent.
const MAX_PROCESSES: usize = 256;
/// Maximum number of followed upstream processes. An upstream may start a process per request, so its processes must
/// not use up [`MAX_PROCESSES`].
const MAX_BEHIND: usize = 128;

struct Processes {
    edition: u64,
    members: Vec<Member>,
    room: ThreadRoom,
    ended: EndedProcesses,
    known_children: KnownChildren,
    buffer: Vec<u8>,
    /// IDs of this process and its ancestors. These processes never count as children of a followed process, even if
    /// the server or an upstream started loadline.
    own_line: Vec<u32>,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let ended = EndedProcesses::default();
    Box::new(Processes {
        edition: 0,
        members: Vec::new(),
        room: ThreadRoom::WHOLE,
        ended,
        known_children: KnownChildren::new(),
        buffer: Vec::new(),
        own_line: process_tree::own_line(&tree.path("proc")),
    })
}

impl Source for Processes {
    fn sample(&mut self, round: &mut Round<'_>) {
        if self.edition != round.process_set.edition() {
            self.edition = round.process_set.edition();
            self.room = ThreadRoom::WHOLE;
            self.ended.begin(std::mem::take(&mut self.members), round);
        }
        let mut wanted = round.process_set.take_wanted();
        self.admit(&mut wanted, round, false);
        let mut behind = round.process_set.take_wanted_behind();
        self.admit(&mut behind, round, true);
        let mut at = 0;
        let mut newly_ended = Vec::new();
        while at < self.members.len() {
            let member = &mut self.members[at];
            let (parent, is_behind) = (member.pid, member.behind);
            if !member.ended {
                let spare = self.ended.spare_threads();
                member.sample(round, &mut self.room, spare, &mut self.buffer);
                newly_ended.extend(member.ended.then(|| member.left_to_parent()));
                let children = if is_behind { &mut behind } else { &mut wanted };
                member.children(round, &mut self.buffer, children);
                children.retain(|pid| !self.own_line.contains(pid));
            }
            at += 1;
            match is_behind {
                true => self.admit_children_behind(parent, &mut behind, round),
                false => self.admit(&mut wanted, round, false),
            }
        }
        self.put_io(round);
        self.put_ended_children(&newly_ended, round);
        self.ended.merge(&mut self.members, round);
        self.put_instructions(round);
        if self.members.is_empty() {
            for ids in [STAT, CPU, STATUS, IO, FDS, LIMIT, PSS, SUMS] {
                round.writer.absent_all(
                    ids,
                    "",
                    format_args!("no process of this side is known: name it with --server-pid"),
                );
            }
        }
    }
}

impl Processes {
    /// Writes the number of instructions of each running process. If the instructions of one running process cannot be
    /// counted, writes only the reason, because the sum would be wrong.
    fn put_instructions(&self, round: &mut Round<'_>) {
        let running = || self.members.iter().filter(|member| !member.ended);
        let reason = match sys::perf::counts_instructions() {
            true if running().all(Member::counts_instructions) => {
                return running().for_each(|member| member.put_instructions(round));
            }
            true => "a process belongs to another user, or has too many threads to count instructions",
            false => "this machine has no hardware counter of instructions, or this user may not use it",
        };
        round.writer.absent_all(INSTRUCTIONS, "", format_args!("{reason}"));
    }

    /// Reads and writes the bytes that each process moved. The caller must have found all ended processes, because a
    /// parent's counters contain the bytes of its ended children. A parent is read before its children. If a child ends
    /// during the readings, the parent's value does not contain the child's bytes yet. Bytes of ended processes are
    /// passed from children to parents, repeatedly if several generations ended since the last sample.
    fn put_io(&mut self, round: &mut Round<'_>) {
        let followed: Vec<u32> = self.members.iter().filter(|m| m.has_read_io()).map(|m| m.pid).collect();
        self.members.iter_mut().for_each(|member| member.read_io(&followed, &mut self.buffer));
        for at in (0..self.members.len()).rev() {
            let Some((parent, bytes)) = self.members[at].take_io_of_ended() else { continue };
            if let Some(parent) = self.members.iter_mut().rfind(|member| member.pid == parent) {
                parent.claim_io(bytes);
            }
        }
        self.members.iter().for_each(|member| member.put_io(round.writer));
    }

    /// Writes the CPU time of unseen children. `newly_ended` has one entry for each followed process that ended since
    /// the last sample: the ID of its parent, and its CPU time in nanoseconds.
    fn put_ended_children(&mut self, newly_ended: &[(u32, u64)], round: &mut Round<'_>) {
        for member in &mut self.members {
            let followed = newly_ended.iter().filter(|(parent, _)| *parent == member.pid);
            followed.for_each(|(_, ns)| member.children_cpu.take_followed(*ns));
            if !member.ended {
                member.put_ended_children(&mut self.known_children, round, &mut self.buffer);
            }
        }
    }

    /// Starts to follow new children of the upstream process `parent`. A pool of connections to a database grows with
    /// the load, and the database starts a process for each connection. Children of a service manager are left out. A
    /// service manager may hold the listening socket of a service, but most of its children belong to other services. A
    /// child that has already ended is left out silently, because an upstream may start a process for each request.
    fn admit_children_behind(&mut self, parent: u32, children: &mut Vec<u32>, round: &mut Round<'_>) {
        children.retain(|pid| !round.process_set.holds(*pid));
        if !children.is_empty() && is_manager(&round.tree.path("proc"), parent) {
            children.clear();
        }
        let room = MAX_BEHIND.saturating_sub(round.process_set.count_behind());
        children.truncate(room.min(MAX_PROCESSES.saturating_sub(self.members.len())));
        for child in children.drain(..) {
            if self.follow(child, round, true).is_ok() {
                round.process_set.add_child_behind(parent, child);
            }
        }
    }

    /// Starts to follow the processes `wanted`. The argument `behind` is true for processes of an upstream, and false
    /// for processes of the observed side itself.
    fn admit(&mut self, wanted: &mut Vec<u32>, round: &mut Round<'_>, behind: bool) {
        for pid in wanted.drain(..) {
            if round.process_set.holds(pid) {
                continue;
            }
            let followed = match self.members.len() < MAX_PROCESSES {
                true => self.follow(pid, round, behind),
                false => Err(format!("only {MAX_PROCESSES} processes are followed")),
            };
            if let Err(reason) = followed {
                round.writer.absent("process.cpu", &pid.to_string(), format_args!("{reason}"));
            }
        }
    }

    /// Starts to follow one process. The error says why the counters of the process cannot be read.
    fn follow(&mut self, pid: u32, round: &mut Round<'_>, behind: bool) -> Result<(), String> {
        let spare = || self.ended.spare_columns();
        let mut member = Member::open(round, pid, spare, &mut self.buffer)?;
        member.behind = behind;
        match behind {
            true => round.process_set.add_behind(pid, &member.instance, process_tree::started_ticks(pid)),
            false => round.process_set.add(pid, &member.instance),
        }
        self.members.push(member);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
