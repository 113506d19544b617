//! Sums over rounds, and the profile made from them. Pure functions: equal rounds give equal profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run::{ClientConnections, PeerConnections, ThreadState, TitleGroup, WaitGroup, WaitProcess, WaitProfile};

use super::futex_sums::{FutexSums, UserRounds};
use super::names::Names;
use super::round::{ConnectionSample, PeerId, PeerSample, ProcessSample, Round, ThreadSample, WaitKey};
use super::rows::{address_text, largest};

/// Maximum number of distinct groups during the sampling. Further ones are dropped, since a server may open any number
/// of files.
const MAX_GROUPS: usize = 4096;
/// Maximum number of distinct titles.
const MAX_TITLES: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupId {
    process: Arc<str>,
    thread: Arc<str>,
    state: ThreadState,
    key: WaitKey,
    /// Process that a futex's address belongs to; 0 for other keys.
    pid: u32,
}

#[derive(Debug, Default)]
struct ProcessSums {
    pids: BTreeSet<u32>,
    processes: f64,
    threads: f64,
    /// Rounds in which each thread ran or was ready to run.
    running: BTreeMap<u32, f64>,
    behind: bool,
    /// Number of rounds before the first one with this process.
    rounds_before: u64,
    epoll: bool,
    titles: BTreeMap<Arc<str>, f64>,
}

/// Sums over the readings of the connections to a peer.
#[derive(Debug, Default)]
struct PeerSums {
    readings: u64,
    open: f64,
    busy: f64,
    max_open: f64,
    to: Option<Arc<str>>,
}

impl PeerSums {
    fn add(&mut self, peer: &PeerSample) {
        self.open += peer.open;
        self.busy += peer.busy;
        self.max_open = self.max_open.max(peer.open);
        self.to = peer.to.clone().or(self.to.take());
    }
}

/// Readings of the connections to all peers.
#[derive(Debug, Default)]
struct PeerReadings {
    sums: BTreeMap<PeerId, PeerSums>,
}

impl PeerReadings {
    /// Adds a reading of all peers, or of some. A peer that is missing among all has no open connection any more. Before the first
    /// reading, its process may not have been found.
    fn add(&mut self, peers: &[PeerSample], is_full: bool) {
        for peer in peers {
            let id = (peer.process.clone(), peer.address.clone());
            if self.sums.len() < MAX_GROUPS || self.sums.contains_key(&id) {
                let sums = self.sums.entry(id).or_default();
                sums.add(peer);
                sums.readings += u64::from(!is_full);
            }
        }
        if is_full {
            self.sums.values_mut().for_each(|sums| sums.readings += 1);
        }
    }

    fn rows(&self, instance: impl Fn(&Arc<str>) -> String) -> impl Iterator<Item = PeerConnections> {
        self.sums.iter().map(move |((process, address), sums)| {
            let mean = |sum: f64| sum / sums.readings.max(1) as f64;
            PeerConnections {
                process: instance(process),
                address: address.to_string(),
                to: sums.to.as_ref().map(&instance).unwrap_or_default(),
                open: mean(sums.open),
                busy: mean(sums.busy),
                max_open: sums.max_open,
            }
        })
    }
}

/// Sums over the rounds so far.
#[derive(Debug, Default)]
pub(super) struct ProfileSums {
    rounds: u64,
    samples: u64,
    processes: BTreeMap<Arc<str>, ProcessSums>,
    groups: BTreeMap<GroupId, f64>,
    futexes: FutexSums,
    users: UserRounds,
    clients: (u64, [f64; 5]),
    peers: PeerReadings,
}

impl ProfileSums {
    /// Adds a round.
    pub(super) fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.samples += round.threads.len() as u64;
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
        let first = || ProcessSums { rounds_before, ..ProcessSums::default() };
        let sums = self.processes.entry(process.name.clone()).or_insert_with(first);
        sums.pids.insert(process.pid);
        sums.processes += 1.0;
        sums.behind |= process.behind;
        sums.epoll |= process.epoll;
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
            if thread.state == ThreadState::OnCpu && room {
                *sums.running.entry(thread.tid).or_default() += weight;
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
            self.clients.0 += 1;
            self.clients.1.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.peers.add(&now.peers, now.is_full);
    }

    /// Returns the process and the address of each futex for which at least two threads waited.
    pub(super) fn shared_futexes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.futexes.shared()
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
            clients: self.client_row(),
            peers: self.peer_rows(),
            ..WaitProfile::default()
        }
    }

    /// Returns the name of a process, with its id if it is the only one with this name.
    pub(super) fn instance(&self, process: &Arc<str>) -> String {
        match self.processes.get(process).map(|sums| &sums.pids) {
            Some(pids) if pids.len() == 1 => format!("{process}:{}", pids.first().copied().unwrap_or_default()),
            _ => process.to_string(),
        }
    }

    /// Returns the number of rounds that show a process. A process behind the server may be found late: before that,
    /// nothing is known of it.
    fn rounds_of(&self, process: &Arc<str>) -> u64 {
        let late = self.processes.get(process).filter(|sums| sums.behind).map_or(0, |sums| sums.rounds_before);
        self.rounds.saturating_sub(late).max(1)
    }

    /// Returns the mean of a sum over the rounds that show the process.
    fn mean_of(&self, process: &Arc<str>, sum: f64) -> f64 {
        sum / self.rounds_of(process) as f64
    }

    fn process_rows(&self) -> Vec<WaitProcess> {
        let row = |(name, sums): (&Arc<str>, &ProcessSums)| WaitProcess {
            process: self.instance(name),
            processes: self.mean_of(name, sums.processes),
            threads: self.mean_of(name, sums.threads),
            busiest: self.mean_of(name, sums.running.values().copied().fold(0.0, f64::max)),
            behind: sums.behind,
            epoll: sums.epoll,
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

    /// Returns the titles of processes that change them, or that have several at once.
    fn title_rows(&self) -> Vec<TitleGroup> {
        let changing = self.processes.iter().filter(|(_, sums)| sums.titles.len() > 1);
        let rows = changing.flat_map(|(process, sums)| {
            let row = |(title, sum): (&Arc<str>, &f64)| TitleGroup {
                process: process.to_string(),
                title: title.to_string(),
                processes: self.mean_of(process, *sum),
            };
            sums.titles.iter().map(row).collect::<Vec<_>>()
        });
        largest(rows.collect(), |row| row.processes)
    }

    fn client_row(&self) -> Option<ClientConnections> {
        let (readings, sums) = self.clients;
        let [open, in_progress, uncertain, unread, queued] = sums.map(|sum| sum / readings.max(1) as f64);
        (readings > 0).then_some(ClientConnections { readings, open, in_progress, uncertain, unread, queued })
    }

    fn peer_rows(&self) -> Vec<PeerConnections> {
        let instance = |process: &Arc<str>| self.instance(process);
        largest(self.peers.rows(instance).collect(), |row| row.open)
    }
}

#[cfg(test)]
mod tests {
    use run::{FutexKind, HolderState, MAX_WAIT_ROWS};

    use super::super::round::FutexSample;
    use super::*;

    const LOCK: u64 = 0x5000;

    fn thread(tid: u32, state: ThreadState, key: WaitKey) -> ThreadSample {
        ThreadSample { tid, name: "worker-#".into(), state, key, ..ThreadSample::default() }
    }

    /// Returns a round of four threads: one holds a lock and sleeps, three wait for it.
    fn locked(holder: u32) -> Round {
        let threads = (1..=4).map(|tid| match tid == holder {
            true => thread(tid, ThreadState::Sleep, WaitKey::None),
            false => thread(tid, ThreadState::Futex, WaitKey::Futex(LOCK)),
        });
        let futex = FutexSample { process: 0, address: LOCK, kind: FutexKind::OwnedMutex, owner: Some(holder) };
        Round {
            processes: vec![ProcessSample { pid: 7, name: "app".into(), ..ProcessSample::default() }],
            threads: threads.collect(),
            weight: 1.0,
            futexes: vec![futex],
            connections: None,
        }
    }

    fn profile(rounds: &[Round]) -> WaitProfile {
        let mut sums = ProfileSums::default();
        rounds.iter().for_each(|round| sums.add(round));
        sums.profile(&Names::default())
    }

    #[test]
    fn the_holder_of_a_planted_lock_and_its_waiters_are_counted() {
        let rounds: Vec<Round> = (0..8).map(|n| locked(n % 4 + 1)).collect();
        let found = profile(&rounds);
        assert_eq!((found.rounds, found.samples), (8, 32));
        let futex = &found.futexes[0];
        assert_eq!(
            (futex.process.as_str(), futex.address.as_str(), futex.kind),
            ("app:7", "0x5000", FutexKind::OwnedMutex)
        );
        assert_eq!((futex.users, futex.waiting, futex.contended, futex.unheld), (4, 3.0, 1.0, 0.0));
        assert_eq!((futex.active, futex.owned), (1.0, 1.0));
        assert_eq!(futex.holders, [HolderState { state: ThreadState::Sleep, key: String::new(), share: 1.0 }]);
        let rows: Vec<(ThreadState, &str, f64)> =
            found.groups.iter().map(|g| (g.state, g.key.as_str(), g.threads)).collect();
        assert_eq!(rows, [(ThreadState::Futex, "0x5000", 3.0), (ThreadState::Sleep, "", 1.0)]);
        assert_eq!(found, profile(&rounds));
    }

    #[test]
    fn a_process_behind_the_server_counts_from_the_round_that_found_it() {
        let behind = |round: Round, behind| {
            let processes = round.processes.iter().cloned().map(|p| ProcessSample { behind, ..p }).collect();
            Round { processes, ..round }
        };
        let found_late = |is_behind| {
            let empty = Round { weight: 1.0, ..Round::default() };
            let rounds = [vec![empty; 6], vec![behind(locked(1), is_behind); 2]].concat();
            let found = profile(&rounds);
            (found.processes[0].threads, found.groups[0].threads, found.futexes[0].contended)
        };
        assert_eq!(found_late(true), (4.0, 3.0, 1.0));
        assert_eq!(found_late(false), (1.0, 0.75, 0.25), "a child of the server that began late");
    }

    #[test]
    fn an_idle_pool_beside_a_busy_stranger_has_no_active_user() {
        let mut round = locked(4);
        round.futexes[0] = FutexSample { kind: FutexKind::Semaphore, owner: None, ..round.futexes[0].clone() };
        let found = profile(&vec![round; 10]);
        assert_eq!((found.futexes[0].users, found.futexes[0].active), (3, 0.0));
        assert_eq!(found.futexes[0].unheld, 0.0, "a thread with a user's name is active");
    }

    #[test]
    fn threads_that_each_wait_for_their_own_futex_are_one_group_without_a_futex() {
        let mut round = locked(0);
        round.futexes.clear();
        for (at, thread) in round.threads.iter_mut().enumerate() {
            thread.key = WaitKey::Futex(LOCK + at as u64 * 64);
        }
        let found = profile(&[round]);
        assert!(found.futexes.is_empty());
        assert_eq!((found.groups.len(), found.groups[0].threads, found.groups[0].key.as_str()), (1, 4.0, ""));
    }

    #[test]
    fn running_threads_are_divided_into_running_and_ready_ones() {
        let mut round = locked(0);
        round.threads.truncate(1);
        round.threads[0] = ThreadSample { on_cpu: Some(0.25), ..thread(1, ThreadState::OnCpu, WaitKey::None) };
        round.weight = 2.0;
        let states: Vec<(ThreadState, f64)> = profile(&[round]).groups.iter().map(|g| (g.state, g.threads)).collect();
        assert_eq!(states, [(ThreadState::Runnable, 1.5), (ThreadState::OnCpu, 0.5)]);
    }

    #[test]
    fn strangers_cannot_make_a_profile_of_any_length() {
        let rounds: Vec<Round> = (0..200)
            .map(|n| {
                let mut round = locked(1);
                round.threads.push(thread(9, ThreadState::Disk, WaitKey::Text(format!("/file/{n}").into())));
                round.processes[0].title = Some(format!("title {n}").into());
                round
            })
            .collect();
        let found = profile(&rounds);
        assert_eq!((found.groups.len(), found.titles.len()), (MAX_WAIT_ROWS, MAX_WAIT_ROWS));
    }

    #[test]
    fn connections_to_a_peer_have_means_a_maximum_and_the_process_there() {
        let reading = |open, busy, to: Option<&str>| {
            let (process, address) = ("app".into(), "db:5432".into());
            let peers = vec![PeerSample { process, address, open, busy, to: to.map(Into::into) }];
            Round {
                connections: Some(ConnectionSample { peers, is_full: true, ..ConnectionSample::default() }),
                ..locked(1)
            }
        };
        let part = |reading: Round| {
            let connections = reading.connections.map(|seen| ConnectionSample { is_full: false, ..seen });
            Round { connections, ..reading }
        };
        let mut rounds = vec![reading(2.0, 2.0, None), reading(4.0, 2.0, Some("db")), part(reading(3.0, 2.0, None))];
        // Readings of other peers do not count.
        rounds.push(Round { connections: Some(ConnectionSample::default()), ..locked(1) });
        let peers = profile(&rounds).peers;
        let row = PeerConnections {
            process: "app:7".into(),
            address: "db:5432".into(),
            to: "db".into(),
            open: 3.0,
            busy: 2.0,
            max_open: 4.0,
        };
        assert_eq!(peers, [row]);
        let none = ConnectionSample { is_full: true, ..ConnectionSample::default() };
        rounds.extend(vec![Round { connections: Some(none), ..locked(1) }; 3]);
        assert_eq!(profile(&rounds).peers[0].open, 1.5);
    }

    #[test]
    fn only_titles_that_change_are_told() {
        let titled = |title: &str| {
            let mut round = locked(1);
            round.processes[0].title = Some(title.into());
            round
        };
        assert!(profile(&[titled("app"), titled("app")]).titles.is_empty());
        let titles = profile(&[titled("UPDATE waiting"), titled("UPDATE waiting"), titled("idle")]).titles;
        assert_eq!((titles[0].title.as_str(), titles.len()), ("UPDATE waiting", 2));
    }
}
