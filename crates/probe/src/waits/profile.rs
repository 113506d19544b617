//! Sums over sampling rounds, and the profile made from these sums. The profile depends only on the rounds, so equal
//! rounds give equal profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run::{PeerConnections, ThreadState, TitleGroup, WaitGroup, WaitProcess, WaitProfile};

use super::client_sums::ClientSums;
use super::futex_sums::{FutexSums, UserRounds};
use super::lock_holders::Held;
use super::names::Names;
use super::peer_readings::PeerReadings;
use super::round::{Accepted, ConnectionSample, ProcessSample, Round, ThreadSample, WaitKey};
use super::rows::{address_text, largest};

/// Maximum number of distinct groups of threads (process, thread name, state and object) during the sampling. Further
/// groups are dropped, because a server may open any number of files.
const MAX_GROUPS: usize = 4096;
/// Maximum number of distinct process titles per process name. A title is text that a program writes over its command
/// line, as PostgreSQL does.
const MAX_TITLES: usize = 1024;
/// Maximum number of distinct names of processes. A server may name each process after its job.
const MAX_PROCESS_NAMES: usize = 1024;
/// Maximum number of remembered process IDs per name. Two IDs are enough to show that a name is not unique.
const MAX_PIDS: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupId {
    process: Arc<str>,
    thread: Arc<str>,
    state: ThreadState,
    key: WaitKey,
    /// ID of the process to which a futex's address belongs; 0 if `key` is not a futex.
    pid: u32,
}

#[derive(Debug, Default)]
struct ProcessSums {
    /// See [`ProcessSample::kernel_name`].
    kernel_name: Option<Arc<str>>,
    /// The first process IDs with this process name, at most [`MAX_PIDS`].
    pids: BTreeSet<u32>,
    processes: f64,
    threads: f64,
    /// For each thread, two weighted numbers of rounds. The first number counts the rounds in which the thread ran or
    /// was ready. The second number counts the rounds in which the thread waited in the middle of its work.
    running: BTreeMap<u32, (f64, f64)>,
    behind: bool,
    /// Number of rounds before the first round that shows a process with this name.
    rounds_before: u64,
    epoll: bool,
    /// Accepted connections of each process whose connections were counted.
    accepted: BTreeMap<u32, Accepted>,
    are_children: bool,
    titles: BTreeMap<Arc<str>, f64>,
}

impl ProcessSums {
    /// Returns the number of processes with several accepted connections, divided by the number of those with at least
    /// one. Returns 0 if no process has an accepted connection, and `None` if connections were not counted.
    fn multiplexing(&self) -> Option<f64> {
        let number = |least: Accepted| self.accepted.values().filter(|accepted| **accepted >= least).count() as f64;
        (!self.accepted.is_empty()).then(|| number(Accepted::Several) / number(Accepted::OneEach).max(1.0))
    }
}

/// Sums over the rounds so far.
#[derive(Debug, Default)]
pub(super) struct ProfileSums {
    rounds: u64,
    samples: u64,
    /// True if a round read only some of the threads.
    is_partial: bool,
    processes: BTreeMap<Arc<str>, ProcessSums>,
    groups: BTreeMap<GroupId, f64>,
    futexes: FutexSums,
    users: UserRounds,
    clients: ClientSums,
    peers: PeerReadings,
}

impl ProfileSums {
    /// Adds the thread states of one round (a reading of all threads at one time) to the sums.
    pub(super) fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.samples += round.threads.len() as u64;
        self.is_partial |= round.weight > 1.0;
        round.processes.iter().for_each(|process| self.add_process(process));
        for thread in &round.threads {
            let Some(process) = round.processes.get(thread.process) else { continue };
            self.users.add(thread.tid);
            self.add_thread(process, thread, round.weight);
        }
        self.futexes.add(round);
        if let Some(connections) = &round.connections {
            self.add_connections(connections);
        }
    }

    fn add_process(&mut self, process: &ProcessSample) {
        let rounds_before = self.rounds.saturating_sub(1);
        if self.processes.len() >= MAX_PROCESS_NAMES && !self.processes.contains_key(&process.name) {
            return;
        }
        let first = || ProcessSums { rounds_before, ..ProcessSums::default() };
        let sums = self.processes.entry(process.name.clone()).or_insert_with(first);
        if sums.pids.len() < MAX_PIDS {
            sums.pids.insert(process.pid);
        }
        sums.kernel_name = process.kernel_name.clone();
        sums.processes += 1.0;
        sums.behind |= process.behind;
        sums.epoll |= process.epoll;
        sums.are_children |= process.is_child;
        let has_room = sums.accepted.len() < MAX_GROUPS || sums.accepted.contains_key(&process.pid);
        if let Some(accepted) = process.accepted.filter(|_| has_room) {
            sums.accepted.insert(process.pid, accepted);
        }
        if let Some(title) = &process.title
            && (sums.titles.len() < MAX_TITLES || sums.titles.contains_key(title))
        {
            *sums.titles.entry(title.clone()).or_default() += 1.0;
        }
    }

    fn add_thread(&mut self, process: &ProcessSample, thread: &ThreadSample, weight: f64) {
        if let Some(sums) = self.processes.get_mut(&process.name) {
            sums.threads += weight;
            let room = sums.running.len() < MAX_GROUPS || sums.running.contains_key(&thread.tid);
            if thread.state.is_active() && room {
                let (ran, blocked) = sums.running.entry(thread.tid).or_default();
                *(if thread.state.wants_cpu() { ran } else { blocked }) += weight;
            }
        }
        let parts = match (thread.state, thread.on_cpu) {
            (ThreadState::OnCpu, Some(part)) => {
                [(ThreadState::OnCpu, weight * part), (ThreadState::Runnable, weight * (1.0 - part))]
            }
            (state, _) => [(state, weight), (state, 0.0)],
        };
        for (state, weight) in parts.into_iter().filter(|(_, weight)| *weight > 0.0) {
            let pid = if matches!(thread.key, WaitKey::Futex(_)) { process.pid } else { 0 };
            let (process, thread, key) = (process.name.clone(), thread.name.clone(), thread.key.clone());
            let id = GroupId { process, thread, state, key, pid };
            if self.groups.len() < MAX_GROUPS || self.groups.contains_key(&id) {
                *self.groups.entry(id).or_default() += weight;
            }
        }
    }

    fn add_connections(&mut self, now: &ConnectionSample) {
        if let Some(counts) = now.clients {
            self.clients.add(self.rounds, counts);
        }
        self.peers.add(&now.peers, now.is_full);
    }

    /// Returns the number of entries in all maps and sets, which bounds the memory.
    #[cfg(test)]
    fn entries(&self) -> usize {
        let of_process =
            |sums: &ProcessSums| 1 + sums.pids.len() + sums.running.len() + sums.titles.len() + sums.accepted.len();
        let processes: usize = self.processes.values().map(of_process).sum();
        processes + self.groups.len() + self.futexes.entries() + self.users.len() + self.peers.len()
    }

    /// Returns the process and the address of each futex for which at least two threads waited.
    pub(super) fn shared_futexes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.futexes.shared()
    }

    /// Returns the threads that hold a lock in a round. The holders of the lock with the most waiting threads come
    /// first.
    pub(super) fn holders<'a>(&self, round: &'a Round) -> Vec<Held<'a>> {
        self.futexes.holders(round)
    }

    /// Returns the profile of all rounds.
    pub(super) fn profile(&self, names: &Names) -> WaitProfile {
        WaitProfile {
            rounds: self.rounds,
            samples: self.samples,
            processes: self.process_rows(),
            groups: self.group_rows(),
            futexes: self.futexes.rows(&self.users, names, |process| (self.instance(process), self.rounds_of(process))),
            titles: self.title_rows(),
            clients: self.clients.row(self.rounds),
            peers: self.peer_rows(),
            ..WaitProfile::default()
        }
    }

    /// Returns the name of a process, with its ID if only one process has this name.
    pub(super) fn instance(&self, process: &Arc<str>) -> String {
        match self.processes.get(process).map(|sums| (&sums.pids, sums.kernel_name.as_ref())) {
            Some((pids, kernel_name)) if pids.len() == 1 => {
                format!("{}:{}", kernel_name.unwrap_or(process), pids.first().copied().unwrap_or_default())
            }
            _ => process.to_string(),
        }
    }

    /// Returns [`ProfileSums::instance`] for a process whose name in the kernel differs and also belongs to other
    /// processes. Returns `None` for all other processes.
    pub(super) fn instance_apart(&self, process: &str) -> Option<String> {
        let (name, sums) = self.processes.get_key_value(process)?;
        sums.kernel_name.is_some().then(|| self.instance(name))
    }

    /// Returns the number of rounds that count for a process. The sampler may find a process of an upstream only during
    /// the load. Rounds before the sampler found the process do not count for the process.
    fn rounds_of(&self, process: &Arc<str>) -> u64 {
        let late = self.processes.get(process).filter(|sums| sums.behind).map_or(0, |sums| sums.rounds_before);
        self.rounds.saturating_sub(late).max(1)
    }

    /// Returns `sum` divided by the number of rounds that count for the process.
    fn mean_of(&self, process: &Arc<str>, sum: f64) -> f64 {
        sum / self.rounds_of(process) as f64
    }

    /// Returns two shares of the rounds for the busiest thread: those in which it ran or was ready, and those in which
    /// it waited in the middle of its work. If rounds read only some threads, a thread that was seen in few rounds is
    /// left out, because it may have run by chance.
    fn busiest(&self, name: &Arc<str>, sums: &ProcessSums) -> [f64; 2] {
        let counts = |tid: u32| !self.is_partial || !self.users.is_short_lived(tid);
        let threads = sums.running.iter().filter(|(tid, _)| counts(**tid)).map(|(_, rounds)| *rounds);
        let (ran, blocked) = threads.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        [ran, blocked].map(|rounds| self.mean_of(name, rounds).min(1.0))
    }

    fn process_rows(&self) -> Vec<WaitProcess> {
        let row = |(name, sums): (&Arc<str>, &ProcessSums)| {
            let [busiest, busiest_blocked] = self.busiest(name, sums);
            WaitProcess {
                process: self.instance(name),
                processes: self.mean_of(name, sums.processes),
                threads: self.mean_of(name, sums.threads),
                busiest,
                busiest_blocked,
                behind: sums.behind,
                epoll: sums.epoll,
                multiplexing: sums.multiplexing(),
                children: sums.are_children,
            }
        };
        largest(self.processes.iter().map(row).collect(), |row| row.threads)
    }

    fn group_rows(&self) -> Vec<WaitGroup> {
        let mut rows: BTreeMap<(Arc<str>, Arc<str>, ThreadState, String), f64> = BTreeMap::new();
        for (id, sum) in &self.groups {
            let key = match &id.key {
                WaitKey::Futex(address) if self.futexes.is_shared(id.pid, *address) => address_text(*address),
                WaitKey::Text(text) => text.to_string(),
                WaitKey::Futex(_) | WaitKey::None => String::new(),
            };
            *rows.entry((id.process.clone(), id.thread.clone(), id.state, key)).or_default() += sum;
        }
        let row = |((process, thread, state, key), sum): ((Arc<str>, Arc<str>, ThreadState, String), f64)| {
            let all = self.processes.get(&process).map_or(0.0, |sums| sums.threads);
            WaitGroup {
                process: self.instance(&process),
                thread: thread.to_string(),
                state,
                key,
                threads: self.mean_of(&process, sum),
                share: if all > 0.0 { sum / all } else { 0.0 },
            }
        };
        largest(rows.into_iter().map(row).collect(), |row: &WaitGroup| row.threads)
    }

    /// Returns the titles of processes: for worker processes (a title may name their pool), and for each name with
    /// several titles.
    fn title_rows(&self) -> Vec<TitleGroup> {
        let telling = self.processes.iter().filter(|(_, sums)| sums.titles.len() > 1 || sums.are_children);
        let rows = telling.flat_map(|(process, sums)| {
            let row = |(title, sum): (&Arc<str>, &f64)| TitleGroup {
                process: process.to_string(),
                title: title.to_string(),
                processes: self.mean_of(process, *sum),
            };
            sums.titles.iter().map(row).collect::<Vec<_>>()
        });
        largest(rows.collect(), |row| row.processes)
    }

    fn peer_rows(&self) -> Vec<PeerConnections> {
        let instance = |process: &Arc<str>| self.instance(process);
        largest(self.peers.rows(instance).collect(), |row| row.open)
    }
}

#[cfg(test)]
mod tests;
