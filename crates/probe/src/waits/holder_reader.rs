//! Reads what the holders of locks do, from the memory of their processes.

use stacks::{Process, Processes};
use sys::clock::thread_cpu_ns;

use super::calls::{self, Blocked};
use super::holder_functions::FutexId;
use super::lock_holders::{HolderReader, InterpreterHolder};
use super::own_function::{computing_function, is_own, own_function};
use super::process::thread_folder;
use super::round::ThreadSample;

/// Global variable that contains Python's interpreter lock.
const PYTHON: &str = "_PyRuntime";

impl HolderReader for Processes {
    fn waiting_function(&mut self, pid: u32, thread: &ThreadSample) -> Option<String> {
        function_of(self.get(pid).filter(|process| !process.has_goroutines())?, thread)
    }

    fn interpreter_holder(&mut self, (pid, address): FutexId) -> Option<InterpreterHolder> {
        let process = self.get(pid).filter(|process| process.is_python())?;
        process.global(address).filter(|global| &*global.name == PYTHON)?;
        let (own_id, frames) = process.interpreter_lock_holder(is_own)?;
        Some(InterpreterHolder { own_id, function: computing_function(&frames) })
    }

    fn cpu_ns(&self) -> u64 {
        thread_cpu_ns().saturating_sub(self.reading_cpu_ns())
    }
}

/// Returns the innermost function of the program itself in the stack of a waiting thread. Returns `None` if the stack
/// shows no function of the program itself, or if the thread waits elsewhere by now.
fn function_of(process: &mut Process, thread: &ThreadSample) -> Option<String> {
    let (sp, pc) = thread.stack;
    let frames = match process.is_python() {
        true => process.python_stack_to(thread.tid, is_own).unwrap_or_default(),
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
    use run::ThreadState;

    use super::*;

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
        let function = processes.waiting_function(pid, &holder);
        assert!(function.as_deref().is_some_and(|name| name.contains("planted_sleep")), "{function:?}");
        // The stack of a thread that waits elsewhere by now must not be used.
        let moved = ThreadSample { stack: (stack.0 + 8, stack.1), ..holder.clone() };
        assert_eq!(processes.waiting_function(pid, &moved), None);
        sender.send(()).unwrap();
        sleeper.join().unwrap();
    }
}
