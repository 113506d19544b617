//! Functions in which threads wait while they hold a lock, from the stacks of these threads.

use std::collections::BTreeMap;

use run::{HolderFunction, MAX_HOLDER_ROWS, ThreadState};
use stacks::{Process, Processes};

use super::calls::{self, Blocked};
use super::own_function::own_function;
use super::process::thread_folder;
use super::round::ThreadSample;
use super::rows::largest;

/// Maximum number of stacks that are read at a time.
const MAX_STACKS: usize = 4;
/// Maximum number of locks whose holders are remembered.
const MAX_LOCKS: usize = 256;
/// Maximum number of activities and functions that are remembered per lock.
const MAX_FUNCTIONS: usize = 64;

/// A thread that holds a lock while other threads wait for it.
pub(super) struct Held<'a> {
    /// ID of the process, and address of the futex.
    pub(super) futex: (u32, u64),
    pub(super) holder: &'a ThreadSample,
}

/// Number of stacks of holders by activity and function.
type Counts = BTreeMap<(ThreadState, String), u64>;

/// Functions in which holders waited, by process ID and address of the futex.
#[derive(Debug, Default)]
pub(super) struct HolderFunctions(BTreeMap<(u32, u64), Counts>);

impl HolderFunctions {
    /// Reads the stacks of threads that wait while they hold a lock. The stack of a computing thread cannot be read.
    pub(super) fn read(&mut self, held: &[Held<'_>], processes: &mut Processes) {
        let waiting = held.iter().filter(|held| held.holder.stack != (0, 0));
        for Held { futex, holder } in waiting.take(MAX_STACKS) {
            let Some(process) = processes.get(futex.0).filter(|process| !process.has_goroutines()) else { continue };
            if let Some(function) = function_of(process, holder) {
                self.add(*futex, holder.state, function);
            }
        }
    }

    fn add(&mut self, futex: (u32, u64), state: ThreadState, function: String) {
        if self.0.len() >= MAX_LOCKS && !self.0.contains_key(&futex) {
            return;
        }
        let (counts, id) = (self.0.entry(futex).or_default(), (state, function));
        if counts.len() < MAX_FUNCTIONS || counts.contains_key(&id) {
            *counts.entry(id).or_default() += 1;
        }
    }

    /// Returns the most frequent functions of the holders of a futex.
    pub(super) fn rows(&self, futex: (u32, u64)) -> Vec<HolderFunction> {
        let Some(counts) = self.0.get(&futex) else { return Vec::new() };
        let all = |state| counts.iter().filter(|((other, _), _)| *other == state).map(|(_, n)| n).sum::<u64>();
        let row = |((state, function), n): (&(ThreadState, String), &u64)| HolderFunction {
            state: *state,
            function: function.clone(),
            stacks: *n,
            share: *n as f64 / all(*state).max(1) as f64,
        };
        let mut rows = largest(counts.iter().map(row).collect(), |row| row.stacks as f64);
        rows.truncate(MAX_HOLDER_ROWS);
        rows
    }
}

/// Returns the innermost function of the program itself in the stack of a waiting thread. Returns `None` if the stack
/// shows no function of the program itself, or if the thread waits elsewhere by now.
fn function_of(process: &mut Process, thread: &ThreadSample) -> Option<String> {
    let (sp, pc) = thread.stack;
    let frames = match process.is_python() {
        true => process.python_stack(thread.tid).unwrap_or_default(),
        false => {
            let stack = process.unwind_waiting(pc, sp, &[]);
            process.frames(&stack)
        }
    };
    own_function(&frames).filter(|_| waits_at(process.pid(), thread.tid) == Some(thread.stack))
}

/// Returns the stack pointer and the program counter of a waiting thread.
fn waits_at(pid: u32, tid: u32) -> Option<(u64, u64)> {
    let text = std::fs::read(thread_folder(pid, tid).join("syscall")).ok()?;
    match calls::parse(&text)? {
        Blocked::InCall { stack, .. } => Some(stack),
        Blocked::Running | Blocked::OutsideCall => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_of_holders_are_counted_by_activity() {
        let (mut functions, lock) = (HolderFunctions::default(), (7, 0x10));
        for (state, function, n) in
            [(ThreadState::Sleep, "pause", 3), (ThreadState::Sleep, "other", 1), (ThreadState::Disk, "write_log", 2)]
        {
            (0..n).for_each(|_| functions.add(lock, state, function.into()));
        }
        let rows: Vec<(ThreadState, String, f64)> =
            functions.rows(lock).into_iter().map(|row| (row.state, row.function, row.share)).collect();
        let expected = [
            (ThreadState::Sleep, "pause".into(), 0.75),
            (ThreadState::Disk, "write_log".into(), 1.0),
            (ThreadState::Sleep, "other".into(), 0.25),
        ];
        assert_eq!(rows, expected);
        assert!(functions.rows((7, 0x20)).is_empty());
    }

    #[test]
    fn a_program_cannot_fill_the_memory_with_functions() {
        let mut functions = HolderFunctions::default();
        for n in 0..1000_u64 {
            functions.add((7, n), ThreadState::Sleep, "pause".into());
            functions.add((7, 0), ThreadState::Sleep, format!("function {n}"));
        }
        assert_eq!((functions.0.len(), functions.0[&(7, 0)].len()), (MAX_LOCKS, MAX_FUNCTIONS));
    }

    /// In this test, a thread of this process sleeps in a function of this program.
    #[test]
    fn the_function_of_a_sleeping_thread_is_told_while_it_sleeps() {
        #[inline(never)]
        fn planted_sleep(wake: &std::sync::mpsc::Receiver<()>) {
            let _ = std::hint::black_box(wake).recv();
            std::hint::black_box(());
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let (told_tid, tid) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            let me = std::fs::read_link("/proc/thread-self").unwrap();
            told_tid.send(me.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap()).unwrap();
            planted_sleep(&receiver);
        });
        let (pid, tid) = (std::process::id(), tid.recv().unwrap());
        let stack = testkit::eventually(|| waits_at(pid, tid));
        let mut processes = Processes::new();
        let holder = ThreadSample { tid, state: ThreadState::Sleep, stack, ..ThreadSample::default() };
        let lock = (pid, 0x10);
        let mut functions = HolderFunctions::default();
        functions.read(&[Held { futex: lock, holder: &holder }], &mut processes);
        assert!(functions.rows(lock)[0].function.contains("planted_sleep"), "{:?}", functions.rows(lock));
        // The stacks of two threads must not be used: one thread now waits elsewhere, and the other was on a CPU when
        // it was read.
        for stack in [(stack.0 + 8, stack.1), (0, 0)] {
            let holder = ThreadSample { stack, ..holder.clone() };
            functions.read(&[Held { futex: (pid, 0x20), holder: &holder }], &mut processes);
        }
        assert!(functions.rows((pid, 0x20)).is_empty());
        sender.send(()).unwrap();
        sleeper.join().unwrap();
    }
}
