//! Reads the threads that hold a lock while other threads wait for it. These threads are read right after a round,
//! before all other stacks, because the lock may soon have another holder.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run::{HolderFunction, HolderThread, ThreadState};

use super::holder_functions::{FutexId, HolderFunctions, MAX_LOCKS};
use super::holder_threads::HolderThreads;
use super::paced::{self, Paced};
use super::round::{Round, ThreadSample};

/// Maximum number of holders that are read after one round, and of futexes that are checked for an interpreter lock.
const MAX_HOLDERS: usize = 4;

/// A thread that holds a lock while other threads wait for it.
pub(super) struct Held<'a> {
    pub(super) futex: FutexId,
    pub(super) holder: &'a ThreadSample,
}

/// A thread that holds the interpreter lock of a language runtime.
pub(super) struct InterpreterHolder {
    /// ID of the thread in its own PID namespace.
    pub(super) own_id: u32,
    /// Innermost function of the program itself, if known.
    pub(super) function: Option<String>,
}

/// Reads what the holders of locks do.
pub(super) trait HolderReader {
    /// Returns the innermost function of the program itself in the stack of a waiting thread. Returns `None` if the
    /// stack shows no function of the program itself, or if the thread waits elsewhere by now.
    fn waiting_function(&mut self, pid: u32, thread: &ThreadSample) -> Option<String>;

    /// Returns the thread that holds the interpreter lock that the futex belongs to. Returns `None` if the futex
    /// belongs to no such lock, or if no thread holds the lock.
    fn interpreter_holder(&mut self, futex: FutexId) -> Option<InterpreterHolder>;

    /// Returns the CPU time that this thread has used, nanoseconds.
    fn cpu_ns(&self) -> u64;
}

/// Threads that held a lock, and their functions.
#[derive(Debug, Default)]
pub(super) struct LockHolders {
    functions: HolderFunctions,
    /// Threads that held an interpreter lock.
    threads: BTreeMap<FutexId, HolderThreads>,
    pace: Paced,
}

impl LockHolders {
    /// Reads the holders of locks in a round, unless earlier readings have used up the CPU time for this task. `held`
    /// are the holders that the round shows.
    pub(super) fn read(&mut self, now_ns: u64, held: &[Held<'_>], round: &Round, reader: &mut impl HolderReader) {
        if !self.pace.is_due(now_ns) {
            return;
        }
        let before_ns = reader.cpu_ns();
        // The stack of a computing thread cannot be read.
        let waiting = held.iter().filter(|held| held.holder.stack != (0, 0));
        for Held { futex, holder } in waiting.take(MAX_HOLDERS) {
            if let Some(function) = reader.waiting_function(futex.0, holder) {
                self.functions.add(*futex, holder.state, function);
            }
        }
        self.read_interpreters(round, reader);
        self.pace.done(now_ns, reader.cpu_ns().saturating_sub(before_ns), paced::HOLDERS, 1.0);
    }

    /// Reads the holder of each process's interpreter lock, if threads wait for this lock.
    fn read_interpreters(&mut self, round: &Round, reader: &mut impl HolderReader) {
        let mut crowded: Vec<(FutexId, usize)> =
            round.futex_waiters().into_iter().map(|(id, threads)| (id, threads.len())).collect();
        crowded.sort_by_key(|(_, waiting)| Reverse(*waiting));
        let mut read = Vec::new();
        for (futex, _) in crowded.into_iter().take(MAX_HOLDERS) {
            if !read.contains(&futex.0)
                && let Some(holder) = reader.interpreter_holder(futex)
            {
                // An interpreter lock may have several futexes.
                read.push(futex.0);
                self.add_computing(futex, round, holder);
            }
        }
    }

    fn add_computing(&mut self, futex: FutexId, round: &Round, holder: InterpreterHolder) {
        if let Some(function) = holder.function {
            self.functions.add(futex, ThreadState::OnCpu, function);
        }
        let pid_of = |thread: &ThreadSample| round.processes.get(thread.process).map(|process| process.pid);
        let thread = round.threads.iter().find(|thread| thread.tid == holder.own_id && pid_of(thread) == Some(futex.0));
        if let Some(thread) = thread
            && (self.threads.len() < MAX_LOCKS || self.threads.contains_key(&futex))
        {
            self.threads.entry(futex).or_default().add(thread);
        }
    }

    /// Returns the most frequent functions of the holders of a futex.
    pub(super) fn functions(&self, futex: FutexId) -> Vec<HolderFunction> {
        self.functions.rows(futex)
    }

    /// Returns the threads that held an interpreter lock most often.
    pub(super) fn threads(&self, futex: FutexId) -> Vec<HolderThread> {
        self.threads.get(&futex).map(HolderThreads::rows).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::futex_sums::FutexSums;
    use super::super::round::{ProcessSample, WaitKey};
    use super::*;

    const LOCK: FutexId = (7, 0x10);

    /// Reader for tests. Each stack that it reads uses `cost_ns` nanoseconds of CPU time.
    struct FakeReader {
        cpu_ns: u64,
        cost_ns: u64,
        read: Vec<u32>,
    }

    impl HolderReader for FakeReader {
        fn waiting_function(&mut self, _: u32, thread: &ThreadSample) -> Option<String> {
            self.cpu_ns += self.cost_ns;
            self.read.push(thread.tid);
            Some("book".into())
        }

        fn interpreter_holder(&mut self, futex: FutexId) -> Option<InterpreterHolder> {
            let holder = InterpreterHolder { own_id: 3, function: Some("report".into()) };
            (futex.1 == 0x20).then_some(holder)
        }

        fn cpu_ns(&self) -> u64 {
            self.cpu_ns
        }
    }

    /// Returns a round in which 15 of 16 threads wait for the lock. The remaining thread sleeps.
    fn round(holder: u32) -> Round {
        let thread = |tid| {
            let (state, key) = match tid == holder {
                true => (ThreadState::Sleep, WaitKey::None),
                false => (ThreadState::Futex, WaitKey::Futex(LOCK.1)),
            };
            ThreadSample { tid, state, key, stack: (1, 1), ..ThreadSample::default() }
        };
        let processes = vec![ProcessSample { pid: LOCK.0, ..ProcessSample::default() }];
        Round { processes, threads: (0..16).map(thread).collect(), weight: 1.0, ..Round::default() }
    }

    /// Reads the holders after each of 100 rounds, in which 16 threads take turns in holding the lock. Returns the
    /// number of rounds after which the right holder was read.
    fn rounds_with_holder(pause_ns: u64, cost_ns: u64) -> usize {
        let (mut holders, mut sums) = (LockHolders::default(), FutexSums::default());
        let mut reader = FakeReader { cpu_ns: 0, cost_ns, read: Vec::new() };
        // Each thread has waited for the lock before.
        (0..16).for_each(|holder| sums.add(&round(holder)));
        let mut right = 0;
        for n in 0..100 {
            let (round, before) = (round(n % 16), reader.read.len());
            sums.add(&round);
            holders.read(u64::from(n) * pause_ns, &sums.holders(&round), &round, &mut reader);
            right += usize::from(reader.read[before..] == [n % 16]);
        }
        assert_eq!(holders.functions(LOCK)[0].stacks, reader.read.len() as u64);
        right
    }

    /// Rounds that read 16 threads come about every 100 ms. Reading a stack of Python takes some 50 µs.
    #[test]
    fn the_holder_s_stack_is_read_after_nearly_each_round() {
        let right = rounds_with_holder(100_000_000, 50_000);
        assert!(right >= 95, "{right} of 100 rounds");
    }

    #[test]
    fn costly_stacks_are_read_less_often() {
        let right = rounds_with_holder(100_000_000, 1_000_000);
        assert!((2..20).contains(&right), "{right} of 100 rounds");
    }

    /// A process's interpreter lock has two futexes, but only one holder.
    #[test]
    fn the_thread_that_holds_an_interpreter_lock_is_counted_once_with_its_function() {
        let waiting = |tid, address| ThreadSample { tid, key: WaitKey::Futex(address), ..ThreadSample::default() };
        let computing = ThreadSample { tid: 3, full_name: "reporter".into(), ..ThreadSample::default() };
        let threads = vec![waiting(1, 0x20), waiting(2, 0x20), waiting(4, 0x30), computing];
        let round = Round { processes: round(0).processes, threads, ..Round::default() };
        let mut holders = LockHolders::default();
        let mut reader = FakeReader { cpu_ns: 0, cost_ns: 0, read: Vec::new() };
        holders.read(0, &[], &round, &mut reader);
        let function = &holders.functions((7, 0x20))[0];
        assert_eq!((function.function.as_str(), function.state, function.stacks), ("report", ThreadState::OnCpu, 1));
        let thread = &holders.threads((7, 0x20))[0];
        assert_eq!((thread.name.as_str(), thread.id, thread.readings), ("reporter", 3, 1));
        assert!(holders.functions((7, 0x30)).is_empty() && holders.threads((7, 0x30)).is_empty());
    }
}
