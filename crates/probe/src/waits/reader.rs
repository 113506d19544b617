//! Reads one round: the threads of the server's processes and of its upstream services.

mod connections;
mod processes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use run::ThreadState;

use crate::process_tree::own_line;

use super::futex::Waits;
use super::futex_reader;
use super::pipe_ends::PipeEnds;
use super::process::Process;
use super::refusal::refusal;
use super::round::{Round, WaitKey};
use super::sockets::Sockets;
use super::sqlite::SqliteLocks;
use super::thread_reader::ThreadReader;
use super::turn::Turn;

/// Maximum number of processes whose threads the reader examines.
const MAX_PROCESSES: usize = 1024;

/// Maximum time for which the sampler may be off the CPU while it reads the threads of a round, nanoseconds. A program
/// that takes the CPU from the sampler usually keeps the CPU for a millisecond or more.
const MAX_OFF_CPU_NS: u64 = 200_000;

/// Reads the threads of the server's processes and of its upstreams' processes.
#[derive(Debug)]
pub(super) struct Reader {
    roots: Vec<u32>,
    netns_pid: Option<u32>,
    processes: BTreeMap<u32, Process>,
    sockets: Sockets,
    pipes: PipeEnds,
    databases: SqliteLocks,
    /// Name of a process in which each socket is open, by the socket's inode.
    held: HashMap<u32, Arc<str>>,
    /// Upstream addresses whose processes must still be searched.
    new_upstreams: Vec<Arc<str>>,
    /// All upstream addresses so far.
    upstreams: HashSet<Arc<str>>,
    /// For each upstream address, the first process that was found to listen there.
    answers: HashMap<Arc<str>, u32>,
    behind: Vec<u32>,
    /// IDs of this process and of its ancestors, which are not sampled as children of the server.
    own_line: Vec<u32>,
    /// Number of rounds so far, counted from a random number.
    rounds: u64,
    buffer: Vec<u8>,
    missing: Vec<String>,
    /// Processes whose threads may not be read, keyed by the error number.
    refused: BTreeMap<i32, Vec<u32>>,
}

impl Reader {
    /// Creates a reader of the given processes and their children, but reads no thread yet.
    pub(super) fn new(roots: Vec<u32>, netns_pid: Option<u32>) -> Self {
        Self {
            roots,
            netns_pid,
            processes: BTreeMap::new(),
            sockets: Sockets::new(netns_pid),
            pipes: PipeEnds::default(),
            databases: SqliteLocks::default(),
            held: HashMap::new(),
            new_upstreams: Vec::new(),
            upstreams: HashSet::new(),
            answers: HashMap::new(),
            behind: Vec::new(),
            own_line: own_line(Path::new("/proc")),
            rounds: sys::clock::monotonic_ns(),
            buffer: Vec::new(),
            missing: Vec::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Reads the threads of all processes, or only the threads of one turn (group of threads) if there are too many
    /// threads.
    pub(super) fn round(&mut self) -> Round {
        self.processes.retain(|_, process| process.list_threads());
        let all: usize = self.processes.values().map(|p| p.tids.len()).sum();
        self.rounds = self.rounds.wrapping_add(1);
        let turn = Turn::of(all, self.rounds);
        let mut round = Round::default();
        let mut waits = Waits::new();
        let mut in_turn = 0;
        let begin_ns = off_cpu_ns();
        for (index, process) in self.processes.values_mut().enumerate() {
            round.processes.push(process.sample(&mut self.buffer));
            let (sockets, pipes, buffer) = (&self.sockets, &mut self.pipes, &mut self.buffer);
            let mut reader = ThreadReader { index, sockets, pipes, buffer, waits: &mut waits, looked_up: 0 };
            let (all_of_turn, tids) = process.open_threads(turn);
            in_turn += all_of_turn;
            round.threads.extend(tids.into_iter().filter_map(|tid| reader.read(process, tid)));
        }
        round.is_torn = off_cpu_ns().saturating_sub(begin_ns) > MAX_OFF_CPU_NS;
        // The processes of upstreams are searched only now and then. The server may have connected to a new upstream
        // since the last search. The thread that waits for the upstream then shows the upstream's address at once.
        for thread in &round.threads {
            if let (ThreadState::Peer, WaitKey::Text(address)) = (thread.state, &thread.key) {
                self.note_upstream(address);
            }
        }
        round.weight = turn.weight(all, in_turn);
        let mut none = Waits::new();
        let (sockets, pipes, buffer) = (&self.sockets, &mut self.pipes, &mut self.buffer);
        let reader = ThreadReader { index: 0, sockets, pipes, buffer, waits: &mut none, looked_up: 0 };
        round.futexes = futex_reader::read(&mut self.processes, reader, &waits);
        // Listing the locks takes milliseconds, so all threads are read before.
        self.databases.name_sleeps(&mut round);
        self.take_refusals();
        round
    }

    /// Records the reasons why threads could not be read.
    fn take_refusals(&mut self) {
        for process in self.processes.values_mut() {
            let Some(error) = process.refused.take() else { continue };
            let pids = self.refused.entry(error.raw_os_error().unwrap_or_default()).or_default();
            if pids.len() < MAX_PROCESSES && !pids.contains(&process.pid) {
                pids.push(process.pid);
            }
        }
    }

    fn miss(&mut self, why: String) {
        if self.missing.len() < run::MAX_WAIT_ROWS && !self.missing.contains(&why) {
            self.missing.push(why);
        }
    }

    /// Returns the reasons why something could not be read.
    pub(super) fn missing(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|(number, pids)| refusal(pids, &io::Error::from_raw_os_error(*number)));
        self.missing.iter().cloned().chain(refused).collect()
    }

    /// Returns true if no sampled process is left.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }
}

/// Returns the time for which this thread was not on a CPU, counted from an arbitrary moment, nanoseconds.
fn off_cpu_ns() -> u64 {
    sys::clock::monotonic_ns().saturating_sub(sys::clock::thread_cpu_ns())
}

#[cfg(test)]
mod tests;
