//! Names of futexes: the global variable at the futex's address, and the function that waits for the futex.
//!
//! Opening a process to find names costs milliseconds. Because opening a process takes so long, stacks are read only
//! for futexes for which threads waited in several rounds. The futex with most waiting threads comes first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use run::{FutexKind, HolderFunction, HolderThread};
use stacks::{Frame, Images, Processes};
use sys::remote_memory;

use super::lock_holders::{Held, LockHolders};
use super::own_function::own_function;
use super::round::{Round, ThreadSample};

/// Minimum number of rounds in which at least two threads waited for a futex before stacks are read for the futex.
const MIN_ROUNDS: u32 = 4;
/// Maximum number of stacks that are read per futex. The function that is most frequent in the stacks of a futex
/// becomes the futex's name.
const STACKS: u32 = 8;
/// Maximum number of futexes for which stacks are read.
const MAX_NAMED: usize = 8;
/// Maximum number of futexes whose global variables are read at the end of the sampling.
const MAX_GLOBALS: usize = 256;
/// Maximum number of futexes whose rounds are counted.
const MAX_COUNTED: usize = 1024;
/// Number of bytes of a stack that are copied in one system call. The rest of a stack is copied when needed.
const STACK_BYTES: usize = 4096;

/// Maximum number of innermost frames that are searched for a function of [`WAITING_FUNCTIONS`].
const MAX_LIBRARY_FRAMES: usize = 6;

/// Functions that wait for one kind of object: the beginning of the function's name, a part of the name, and the kind
/// of object. Rust's condition variable is a bare counter, so its memory does not show its kind.
const WAITING_FUNCTIONS: [(&str, &str, FutexKind); 5] = [
    ("std::sys::", "condvar", FutexKind::Condition),
    ("std::sys::", "mutex", FutexKind::Mutex),
    ("pthread_cond_", "wait", FutexKind::Condition),
    ("sem_", "wait", FutexKind::Semaphore),
    ("PyThread_acquire_lock", "", FutexKind::Semaphore),
];

#[derive(Debug, Default)]
struct Named {
    rounds: u32,
    stacks: u32,
    global: Option<String>,
    functions: BTreeMap<String, u32>,
    kinds: BTreeMap<FutexKind, u32>,
}

/// Facts about a futex: its global variable, and what the stacks of its waiting threads show. Without a finding, texts
/// are empty, and the kind is unknown.
#[derive(Debug, Default)]
pub(super) struct FutexNames {
    /// Global variable at the futex's address.
    pub(super) global: String,
    /// Function that waits for the futex, with file and line.
    pub(super) function: String,
    /// Kind of object that the library's function waits for.
    pub(super) kind: FutexKind,
    /// Functions in which holders were, the most frequent first.
    pub(super) holder_functions: Vec<HolderFunction>,
    /// Threads that held the interpreter lock of a language runtime, the most frequent first.
    pub(super) interpreter_threads: Vec<HolderThread>,
}

/// Names of futexes that were found so far.
#[derive(Default)]
pub(super) struct Names {
    pub(super) processes: Processes,
    pub(super) holders: LockHolders,
    futexes: BTreeMap<(u32, u64), Named>,
}

impl Names {
    /// Creates an empty collection that uses the program files in `images`, which were read before.
    pub(super) fn new(images: Images) -> Self {
        Self { processes: Processes::with_images(images), ..Self::default() }
    }

    /// Increases the number of rounds of each futex for which at least two threads wait in this round.
    pub(super) fn count(&mut self, round: &Round) {
        for (id, _) in round.futex_waiters().iter().filter(|(_, threads)| threads.len() >= 2) {
            if self.futexes.len() < MAX_COUNTED || self.futexes.contains_key(id) {
                self.futexes.entry(*id).or_default().rounds += 1;
            }
        }
    }

    /// Reads the stack of one waiting thread, for a futex of which fewer than [`STACKS`] stacks were read. Returns true
    /// if the stack of a waiting thread was read.
    pub(super) fn look(&mut self, round: &Round) -> bool {
        let waiting = round.futex_waiters();
        let open = self.futexes.values().filter(|named| named.stacks > 0).count();
        let stacks_of = |id: &(u32, u64)| {
            let named = self.futexes.get(id).filter(|named| named.rounds >= MIN_ROUNDS && named.stacks < STACKS)?;
            (named.stacks > 0 || open < MAX_NAMED).then_some(named.stacks)
        };
        let wanting = waiting.iter().filter_map(|(id, threads)| Some((stacks_of(id)?, id, threads)));
        // Futexes without any stack come before futexes with stacks. Among futexes without stacks, and among futexes
        // with stacks, the futex with most waiting threads comes first.
        let next = wanting.min_by_key(|(stacks, _, threads)| (*stacks > 0, Reverse(threads.len())));
        // Successive stacks come from different threads, so that a single unusual thread does not decide the name.
        let found = next.and_then(|(stacks, id, threads)| Some((*id, *threads.get(stacks as usize % threads.len())?)));
        let Some((id, thread)) = found else { return false };
        self.read(id, thread);
        true
    }

    fn read(&mut self, (pid, address): (u32, u64), thread: &ThreadSample) {
        let Some(named) = self.futexes.get_mut(&(pid, address)) else { return };
        named.stacks += 1;
        let Some(process) = self.processes.get(pid) else { return };
        if named.stacks == 1 {
            named.global = process.global(address).map(|global| global.name.to_string());
        }
        let mut stack = vec![0; STACK_BYTES];
        let (sp, pc) = thread.stack;
        let read = remote_memory::read(pid, sp, &mut stack).unwrap_or(0);
        stack.truncate(read);
        let native = process.unwind_waiting(pc, sp, &stack);
        let native = process.frames(&native);
        if let Some(kind) = awaited_kind(&native) {
            *named.kinds.entry(kind).or_default() += 1;
        }
        // For a program in Python, the interpreter's own functions are not informative.
        let frames = match process.is_python() {
            true => process.python_stack(thread.tid).unwrap_or_default(),
            false => native,
        };
        if let Some(function) = own_function(&frames) {
            *named.functions.entry(function).or_default() += 1;
        }
    }

    /// Reads the threads that hold a lock in a round.
    pub(super) fn read_holders(&mut self, now_ns: u64, held: &[Held<'_>], round: &Round) {
        self.holders.read(now_ns, held, round, &mut self.processes);
    }

    /// Finds the global variables at the addresses in `futexes`. Threads that wait for one lock may be spread over
    /// several futexes, and then [`Self::look`] finds no name for any of them. This function also finds names for the
    /// futexes of such a lock.
    pub(super) fn name_globals(&mut self, futexes: impl Iterator<Item = (u32, u64)>) {
        for (pid, address) in futexes.take(MAX_GLOBALS) {
            let named = self.futexes.entry((pid, address)).or_default();
            if named.global.is_none() {
                let global = self.processes.get(pid).and_then(|process| process.global(address));
                named.global = global.map(|global| global.name.to_string());
            }
        }
    }

    /// Returns the known facts about a futex.
    pub(super) fn of(&self, pid: u32, address: u64) -> FutexNames {
        let (holder_functions, interpreter_threads) =
            (self.holders.functions((pid, address)), self.holders.threads((pid, address)));
        let Some(named) = self.futexes.get(&(pid, address)) else {
            return FutexNames { holder_functions, interpreter_threads, ..FutexNames::default() };
        };
        FutexNames {
            holder_functions,
            interpreter_threads,
            global: named.global.clone().unwrap_or_default(),
            function: most(&named.functions).unwrap_or_default(),
            kind: most(&named.kinds).unwrap_or_default(),
        }
    }
}

/// Returns the most frequent key.
fn most<K: Clone>(counts: &BTreeMap<K, u32>) -> Option<K> {
    counts.iter().max_by_key(|(_, n)| **n).map(|(key, _)| key.clone())
}

/// Returns the kind of object that the innermost known waiting function waits for.
fn awaited_kind(frames: &[Frame]) -> Option<FutexKind> {
    let functions = frames.iter().filter_map(|frame| frame.function.as_deref());
    let kind_of = |function: &str| {
        let name = function.trim_start_matches(['<', '_']);
        let row = WAITING_FUNCTIONS.iter().find(|(start, part, _)| name.starts_with(start) && name.contains(part));
        row.map(|(_, _, kind)| *kind)
    };
    functions.take(MAX_LIBRARY_FRAMES).find_map(kind_of)
}

#[cfg(test)]
mod tests {
    use super::super::round::{ProcessSample, WaitKey};
    use super::*;

    fn frame(function: &str, module: &str) -> Frame {
        Frame { function: Some(function.into()), module: module.into(), file: None, line: None }
    }

    /// Returns a round with waiting threads of this process. `waiting` contains the numbers of threads that wait for
    /// each of two futexes.
    fn round(waiting: [usize; 2]) -> Round {
        let thread = |address| ThreadSample { key: WaitKey::Futex(address), ..ThreadSample::default() };
        let process = ProcessSample { pid: std::process::id(), ..ProcessSample::default() };
        let threads = [0x10, 0x20].into_iter().zip(waiting).flat_map(|(address, n)| vec![thread(address); n]).collect();
        Round { processes: vec![process], threads, ..Round::default() }
    }

    #[test]
    fn the_futex_with_most_waiting_threads_is_named_first_after_a_few_rounds() {
        let (mut names, crowded) = (Names::default(), round([14, 2]));
        for _ in 1..MIN_ROUNDS {
            names.count(&crowded);
            assert!(!names.look(&crowded), "too few rounds");
        }
        names.count(&crowded);
        let stacks = |names: &Names| names.futexes.values().map(|named| named.stacks).collect::<Vec<_>>();
        assert!(names.look(&crowded) && stacks(&names) == [1, 0]);
        assert!(names.look(&crowded) && stacks(&names) == [1, 1], "then the other one gets its first stack");
        assert!(names.look(&crowded) && stacks(&names) == [2, 1]);
    }

    #[test]
    fn the_library_s_function_tells_what_a_thread_waits_for() {
        let kind = |function| awaited_kind(&[frame("syscall", "libc.so.6"), frame(function, "")]);
        assert_eq!(kind("<std::sys::sync::condvar::futex::Condvar>::wait"), Some(FutexKind::Condition));
        assert_eq!(kind("std::sys::unix::locks::futex_condvar::Condvar::wait"), Some(FutexKind::Condition));
        assert_eq!(kind("<std::sys::sync::mutex::futex::Mutex>::lock_contended"), Some(FutexKind::Mutex));
        assert_eq!(kind("__pthread_cond_wait"), Some(FutexKind::Condition));
        assert_eq!(kind("sem_wait"), Some(FutexKind::Semaphore));
        assert_eq!(kind("std::sys::sync::thread_parking::futex::Parker::park"), None);
        assert_eq!(kind("handle_mutex_wait"), None);
    }
}
