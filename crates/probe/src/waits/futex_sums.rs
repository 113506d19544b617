//! Sums over sampling rounds for each futex: its waiters, its kind, its owner, and the threads that are active while
//! others wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use run::{FutexKind, FutexProfile, ThreadState};

use super::active_sum::ActiveSum;
use super::holder_threads::HolderThreads;
use super::lock_holders::Held;
use super::names::{FutexNames, Names};
use super::round::{FutexSample, Round, ThreadSample, WaitKey};
use super::rows::{address_text, holder_rows, largest};

/// Maximum number of remembered futexes.
const MAX_FUTEXES: usize = 4096;
/// Maximum number of remembered threads.
const MAX_THREADS: usize = 65_536;
/// Maximum number of users of one futex (threads that waited for it). A user is a thread that waited for the futex.
const MAX_USERS: usize = 4096;
/// Maximum number of users of all futexes together (threads that waited for a futex). Without the limit on users,
/// threads that come and go for hours would need hundreds of MB.
const MAX_ALL_USERS: usize = 1 << 17;
const MAX_NAMES: usize = 16;
/// Minimum number of rounds in which a long-lived thread is seen. [`FutexProfile::active`] counts a long-lived thread
/// only if it was seen waiting for the lock. A short-lived thread always counts, because it may serve only one request
/// and end soon after it held the lock.
const SHORT_LIFE_ROUNDS: u64 = 4;

/// Number of rounds in which each thread was seen.
#[derive(Debug, Default)]
pub(super) struct UserRounds(BTreeMap<u32, u64>);

impl UserRounds {
    pub(super) fn add(&mut self, tid: u32) {
        if self.0.len() < MAX_THREADS || self.0.contains_key(&tid) {
            *self.0.entry(tid).or_default() += 1;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if a thread was seen in few rounds.
    pub(super) fn is_short_lived(&self, tid: u32) -> bool {
        self.0.get(&tid).is_none_or(|rounds| *rounds < SHORT_LIFE_ROUNDS)
    }
}

#[derive(Debug, Default)]
struct FutexSum {
    process: Arc<str>,
    users: BTreeSet<u32>,
    /// Names of the threads that use the futex.
    names: BTreeSet<Arc<str>>,
    /// Sum over the rounds of the estimated number of waiting threads.
    waiting: f64,
    /// Sum over the rounds of the estimated square of the number of waiting threads.
    waiting_squares: f64,
    /// Number of rounds that show a waiting thread.
    contended: u64,
    /// True if a round that shows a waiting thread read only some of the threads.
    is_partial: bool,
    /// Active threads in the rounds that read all threads at one moment.
    at_once: ActiveSum,
    /// Active threads in torn rounds (during which the sampler was interrupted). The torn rounds are used only if all
    /// rounds were torn.
    torn: ActiveSum,
    /// Number of times that each activity of the active threads was seen. Activities of active threads are used only if
    /// the owner of the futex is never known.
    activity: BTreeMap<(ThreadState, WaitKey), u64>,
    kinds: BTreeMap<FutexKind, u64>,
    readings: u64,
    owned: u64,
    holders: BTreeMap<(ThreadState, WaitKey), u64>,
    /// Threads that owned the futex.
    owners: HolderThreads,
    /// Threads that were the only active user of the futex while other threads waited. Used only if the owner of the
    /// futex is never known.
    only_active: HolderThreads,
}

/// Sums for each futex, by process ID and address.
#[derive(Debug, Default)]
pub(super) struct FutexSums {
    futexes: BTreeMap<(u32, u64), FutexSum>,
    /// Number of entries for users of futexes (threads that waited for them) and for active threads, summed over all
    /// futexes.
    users: usize,
}

impl FutexSums {
    /// Adds the futexes of a round.
    pub(super) fn add(&mut self, round: &Round) {
        for (id, waiting) in round.futex_waiters() {
            let Some(process) = waiting.first().map(|thread| thread.process) else { continue };
            let Some(of) = round.processes.get(process) else { continue };
            if self.futexes.len() >= MAX_FUTEXES && !self.futexes.contains_key(&id) {
                continue;
            }
            let sum = self.futexes.entry(id).or_default();
            sum.process = of.name.clone();
            let mut room = MAX_ALL_USERS.saturating_sub(self.users);
            sum.add(process, &waiting, round, &mut room);
            self.users = MAX_ALL_USERS - room;
            let read = round.futexes.iter().find(|f| (f.process, f.address) == (process, id.1));
            read.into_iter().for_each(|futex| sum.read(futex));
        }
    }

    /// Returns the number of remembered futexes, threads, names and activities.
    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        let of = |sum: &FutexSum| {
            let holders = sum.owners.len() + sum.only_active.len();
            let active = sum.at_once.len() + sum.torn.len();
            1 + sum.users.len() + sum.names.len() + active + sum.activity.len() + holders
        };
        self.futexes.values().map(of).sum()
    }

    /// Returns the process and the address of each futex for which at least two threads waited.
    pub(super) fn shared(&self) -> impl Iterator<Item = (u32, u64)> {
        self.futexes.iter().filter(|(_, sum)| sum.is_shared()).map(|(id, _)| *id)
    }

    /// Returns true if at least two threads waited for a futex.
    pub(super) fn is_shared(&self, pid: u32, address: u64) -> bool {
        self.futexes.get(&(pid, address)).is_some_and(FutexSum::is_shared)
    }

    /// Returns the threads that hold a lock in a round while other threads wait for the lock. The holders of the lock
    /// with the most waiting threads come first.
    pub(super) fn holders<'a>(&self, round: &'a Round) -> Vec<Held<'a>> {
        let mut held = Vec::new();
        for (id, waiting) in round.futex_waiters() {
            let Some(first) = waiting.first() else { continue };
            let Some(sum) = self.futexes.get(&id).filter(|sum| sum.is_shared()) else { continue };
            let owner = round.futexes.iter().find(|f| (f.process, f.address) == (first.process, id.1));
            let holder = match sum.owned {
                0 => sum.only_user_at_work(&sum.users_at_work(first.process, round), round),
                _ => owner.and_then(|futex| futex.holder.as_ref()),
            };
            held.extend(holder.map(|holder| (waiting.len(), Held { futex: id, holder })));
        }
        held.sort_by_key(|(waiting, _)| std::cmp::Reverse(*waiting));
        held.into_iter().map(|(_, held)| held).collect()
    }

    /// Returns the profiles of the futexes for which at least two threads waited, the futex with most waiting threads
    /// first. `of` returns a process's name and the number of rounds that show the process.
    pub(super) fn rows(
        &self,
        lives: &UserRounds,
        names: &Names,
        of: impl Fn(&Arc<str>) -> (String, u64),
    ) -> Vec<FutexProfile> {
        let shared = self.futexes.iter().filter(|(_, sum)| sum.is_shared());
        let row = |((pid, address), sum): (&(u32, u64), &FutexSum)| {
            let FutexNames { global: name, function, kind, holder_functions, interpreter_threads } =
                names.of(*pid, *address);
            let (process, rounds) = of(&sum.process);
            let mut row = sum.row(rounds, lives);
            if !interpreter_threads.is_empty() {
                row.holder_threads = interpreter_threads;
            }
            if row.kind == FutexKind::Unknown {
                row.kind = kind;
            }
            FutexProfile { process, address: address_text(*address), name, function, holder_functions, ..row }
        };
        largest(shared.map(row).collect(), |row| row.waiting)
    }
}

impl FutexSum {
    /// Returns true if at least two threads waited for the futex.
    fn is_shared(&self) -> bool {
        self.users.len() >= 2
    }

    /// Adds a round with the threads that wait for this futex. At most `room` more threads may be remembered.
    fn add(&mut self, process: usize, waiting: &[&ThreadSample], round: &Round, room: &mut usize) {
        for thread in waiting {
            // The first two users of a futex are always remembered, because a futex with two users counts as shared.
            let has_room = self.users.len() < 2 || self.users.len() < MAX_USERS && *room > 0;
            if has_room && self.users.insert(thread.tid) {
                *room = room.saturating_sub(1);
            }
            if self.names.len() < MAX_NAMES {
                self.names.insert(thread.name.clone());
            }
        }
        let (seen, weight) = (waiting.len() as f64, round.weight);
        self.waiting += seen * weight;
        // If a round reads only a part of the threads, a pair of waiting threads is in this part with the square of the
        // probability of one thread.
        self.waiting_squares += seen * (seen - 1.0) * weight * weight + seen * weight;
        self.contended += 1;
        self.is_partial |= weight > 1.0;
        let users_at_work = self.users_at_work(process, round);
        for thread in &users_at_work {
            if self.activity.len() < MAX_USERS {
                *self.activity.entry(activity(thread)).or_default() += 1;
            }
        }
        if let Some(holder) = self.only_user_at_work(&users_at_work, round) {
            self.only_active.add(holder);
        }
        let sum = if round.is_torn { &mut self.torn } else { &mut self.at_once };
        sum.add(&users_at_work, round, room);
    }

    /// Returns the active threads whose names are also names of users of the futex.
    fn users_at_work<'a>(&self, process: usize, round: &'a Round) -> Vec<&'a ThreadSample> {
        let is_user = |t: &&ThreadSample| t.process == process && t.state.is_active() && self.names.contains(&t.name);
        round.threads.iter().filter(is_user).collect()
    }

    /// Returns the only active user, which probably holds the lock while others wait. Returns `None` for a torn
    /// (interrupted) round, or one that reads only some threads, because another thread may have been active.
    fn only_user_at_work<'a>(&self, at_work: &[&'a ThreadSample], round: &Round) -> Option<&'a ThreadSample> {
        let [only] = at_work else { return None };
        (!round.is_torn && round.weight <= 1.0 && self.users.contains(&only.tid)).then_some(*only)
    }

    fn read(&mut self, futex: &FutexSample) {
        self.readings += 1;
        *self.kinds.entry(futex.kind).or_default() += 1;
        self.owned += u64::from(futex.owner.is_some());
        if let Some(holder) = &futex.holder {
            *self.holders.entry(activity(holder)).or_default() += 1;
            self.owners.add(holder);
        }
    }

    fn row(&self, rounds: u64, lives: &UserRounds) -> FutexProfile {
        let part = |n: u64, of: u64| n as f64 / of.max(1) as f64;
        let is_owned = self.owned > 0;
        let holders = if is_owned { &self.holders } else { &self.activity };
        let active = if self.at_once.is_empty() { &self.torn } else { &self.at_once };
        FutexProfile {
            kind: self.kind(),
            users: self.users.len() as u64,
            waiting: self.waiting / rounds.max(1) as f64,
            contended: self.contended(rounds),
            unheld: active.unheld(),
            active: active.mean(|tid| self.users.contains(&tid) || lives.is_short_lived(tid)),
            owned: part(self.owned, self.readings),
            holders: holder_rows(holders),
            holder_readings: holders.values().sum(),
            holder_threads: if is_owned { self.owners.rows() } else { self.only_active.rows() },
            ..FutexProfile::default()
        }
    }

    /// Returns the share of the rounds in which threads wait. A round that reads only some threads often misses the few
    /// waiting threads. The share of such rounds with a waiting thread is therefore too small. For the number W of
    /// waiting threads, P(W > 0) is at least E(W)² / E(W²), and these rounds estimate both means without bias. Source:
    /// N. Alon, J. H. Spencer, *The Probabilistic Method*, chapter 4; D. G. Horvitz, D. J. Thompson, *A Generalization
    /// of Sampling Without Replacement from a Finite Universe*, 1952.
    fn contended(&self, rounds: u64) -> f64 {
        let (rounds, seen) = (rounds.max(1) as f64, self.contended as f64);
        let estimate = if self.is_partial { self.waiting * self.waiting / self.waiting_squares } else { seen };
        (estimate.max(seen) / rounds).min(1.0)
    }

    /// Returns the kind that more than half of the readings show, or [`FutexKind::Unknown`]. While a mutex passes from
    /// one owner to the next, its memory shows no owner. If at least half of the readings show an owner, the kind is
    /// therefore a mutex with an owner.
    fn kind(&self) -> FutexKind {
        let count = |kind| self.kinds.get(&kind).copied().unwrap_or(0);
        if 2 * self.owned >= self.readings && self.owned > 0 {
            return FutexKind::OwnedMutex;
        }
        let known = [FutexKind::Mutex, FutexKind::Condition, FutexKind::Semaphore];
        let most = known.into_iter().max_by_key(|kind| count(*kind));
        most.filter(|kind| 2 * count(*kind) > self.readings).unwrap_or_default()
    }
}

/// Returns the state of a thread and what it waits for. A thread that wants a CPU and got one for less than half of the
/// time is [`ThreadState::Runnable`].
fn activity(thread: &ThreadSample) -> (ThreadState, WaitKey) {
    let lacks_cpu = thread.state == ThreadState::OnCpu && thread.on_cpu.is_some_and(|part| part < 0.5);
    (if lacks_cpu { ThreadState::Runnable } else { thread.state }, thread.key.clone())
}
