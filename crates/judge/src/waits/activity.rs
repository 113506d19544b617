//! Groups the threads of processes with one name by what the threads do (such as running, or waiting for a lock). The
//! groups come from repeated readings (samples) of the threads.

use std::collections::BTreeMap;

use run::{PeerConnections, ThreadState, WaitCause, WaitGroup, WaitProcess, WaitProfile};

use super::peers;
use crate::thresholds::{WAIT_FEW, WAIT_MOSTLY};

/// Text between the system call and the file in [`WaitGroup::key`].
const OF: &str = " of ";

/// Sampled threads of all processes that have one name.
pub(super) struct Activity<'a> {
    pub(super) process: &'a WaitProcess,
    /// Threads by activity, without the threads of a parent process.
    pub(super) groups: Vec<&'a WaitGroup>,
    /// True if one of the processes is a parent that only waits for signals, as the master process of nginx does.
    pub(super) has_parent: bool,
    /// Mean number of processes without the idle parent, at least 1.
    pub(super) workers: f64,
    /// Addresses of peers from which no thread awaits a reply and no data comes. A thread that reads from a silent peer
    /// waits for news, as after Redis' SUBSCRIBE.
    silent: Vec<&'a str>,
}

impl<'a> Activity<'a> {
    /// Selects from a profile the threads of the processes with the name of `process`.
    pub(super) fn of(profile: &'a WaitProfile, process: &'a WaitProcess) -> Self {
        let mut groups: Vec<&WaitGroup> = profile.groups.iter().filter(|g| g.process == process.process).collect();
        let is_parent = |group: &&WaitGroup| group.state == ThreadState::Signal;
        let parents: f64 = groups.iter().copied().filter(is_parent).map(|group| group.threads).sum();
        let has_parent = process.processes >= 2.0 - WAIT_FEW && (parents - 1.0).abs() <= WAIT_FEW;
        groups.retain(|group| !has_parent || !is_parent(group));
        let workers = (process.processes - f64::from(u8::from(has_parent))).max(1.0);
        let silent = silent(profile, &process.process, &groups);
        Self { process, groups, has_parent, workers, silent }
    }

    /// Returns the mean number of threads of all workers in the states for which `is_counted` returns true.
    pub(super) fn all_threads(&self, is_counted: impl Fn(ThreadState) -> bool) -> f64 {
        self.groups.iter().filter(|g| is_counted(g.state)).map(|g| g.threads).sum()
    }

    /// Returns the mean number of threads per worker in the states for which `is_counted` returns true.
    pub(super) fn threads(&self, is_counted: impl Fn(ThreadState) -> bool) -> f64 {
        self.all_threads(is_counted) / self.workers
    }

    pub(super) fn on_cpu(&self) -> f64 {
        self.threads(ThreadState::wants_cpu)
    }

    /// Returns the kind of wait that one thread is mostly in, and the [`object`] that it waits for. `blocked` is the
    /// share of time in which this thread is blocked. Groups with more threads are left out, because they show the
    /// waits of other threads.
    pub(super) fn wait_of(&self, blocked: f64) -> Option<(ThreadState, String)> {
        let mut sums: BTreeMap<ThreadState, (f64, Vec<&WaitGroup>)> = BTreeMap::new();
        let may_be_its = |g: &&WaitGroup| is_blocked(g.state) && g.threads <= blocked + WAIT_FEW;
        for group in self.groups.iter().copied().filter(may_be_its) {
            let (sum, groups) = sums.entry(group.state).or_default();
            *sum += group.threads;
            groups.push(group);
        }
        let (state, (_, groups)) = sums.into_iter().max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))?;
        Some((state, object(&groups)))
    }

    /// Returns the kind of wait with the most threads, the number of these threads, and the [`object`] that they wait
    /// for.
    pub(super) fn blocked(&self) -> Option<(ThreadState, f64, String)> {
        let mut sums: BTreeMap<ThreadState, f64> = BTreeMap::new();
        let listens = |g: &WaitGroup| g.state == ThreadState::Peer && self.silent.contains(&g.key.as_str());
        let is_wait = |g: &&&WaitGroup| cause_of(g.state).is_some() && !listens(g);
        for group in self.groups.iter().filter(is_wait) {
            *sums.entry(group.state).or_default() += group.threads;
        }
        // Idle threads of a runtime also wait for pipes and event descriptors, so other waits are better evidence of a
        // cause.
        let says_more = sums.iter().any(|(state, threads)| *state != ThreadState::Pipe && *threads >= WAIT_FEW);
        sums.retain(|state, _| !says_more || *state != ThreadState::Pipe);
        let (state, threads) = sums.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let of_state = |g: &&WaitGroup| g.state == state && !listens(g);
        let groups: Vec<&WaitGroup> = self.groups.iter().copied().filter(of_state).collect();
        Some((state, threads, object(&groups)))
    }
}

/// Returns the addresses of peers that sent hardly any data, and owe a reply to fewer than half of the threads that
/// wait for them. A peer that sends data may be in the middle of a long reply.
fn silent<'a>(profile: &'a WaitProfile, process: &str, groups: &[&WaitGroup]) -> Vec<&'a str> {
    let waiting = |peer: &PeerConnections| -> f64 {
        let own = groups.iter().filter(|g| g.state == ThreadState::Peer && g.key == peer.address);
        own.map(|g| g.threads).sum()
    };
    let owes_none = |peer: &&PeerConnections| peer.busy < WAIT_MOSTLY * waiting(peer).min(peer.open);
    let own = profile.peers.iter().filter(|peer| peer.process == process && !peers::gets_answers(peer));
    own.filter(owes_none).map(|peer| peer.address.as_str()).collect()
}

/// Returns the object, such as a lock, for which at least half of the threads of `groups` wait. The key of a sleeping
/// thread may name a database that was locked during the sleep. Such a key does not count as an object, because the
/// thread need not wait for the database. If no object has half of the threads, returns the system call in which at
/// least half of the threads wait. Returns an empty text if the threads share neither: threads that wait for many
/// objects do not wait for one of them.
fn object(groups: &[&WaitGroup]) -> String {
    let all: f64 = groups.iter().map(|group| group.threads).sum();
    let call = |group: &WaitGroup| match group.key.split_once(OF) {
        _ if !names_call(group.state) => String::new(),
        Some((call, _)) => call.into(),
        None => group.key.clone(),
    };
    let most = |name: &dyn Fn(&WaitGroup) -> String| {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        groups.iter().for_each(|group| *sums.entry(name(group)).or_default() += group.threads);
        let (name, threads) = sums.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some(name).filter(|name| !name.is_empty() && threads >= WAIT_MOSTLY * all)
    };
    let key = |group: &WaitGroup| if group.state == ThreadState::Sleep { String::new() } else { group.key.clone() };
    most(&key).or_else(|| most(&call)).unwrap_or_default()
}

/// Returns true if a thread in this state waits in the middle of its work.
pub(super) const fn is_blocked(state: ThreadState) -> bool {
    state.is_active() && !state.wants_cpu()
}

/// Returns the cause for which threads in this state wait. Returns `None` for states that show no cause.
pub(super) const fn cause_of(state: ThreadState) -> Option<WaitCause> {
    match state {
        ThreadState::Sleep => Some(WaitCause::Sleep),
        ThreadState::Disk => Some(WaitCause::Disk),
        // A pipe connects a process to another program, as a socket does.
        ThreadState::Peer | ThreadState::Pipe | ThreadState::FullPipe => Some(WaitCause::Peer),
        _ => None,
    }
}

/// Returns true for a thread state whose key names a system call or a pipe. For other thread states, the key names a
/// peer.
pub(super) const fn names_call(state: ThreadState) -> bool {
    matches!(state, ThreadState::Disk | ThreadState::Pipe | ThreadState::FullPipe)
}

/// Returns the number of threads of a process, and `waiting` as a share of these threads, 0 to 1.
pub(super) fn part_of(profile: &WaitProfile, process: &str, waiting: f64) -> (f64, f64) {
    let of = profile.processes.iter().find(|p| p.process == process).map_or(waiting, |p| p.threads);
    (of, if of > 0.0 { (waiting / of).min(1.0) } else { 0.0 })
}
