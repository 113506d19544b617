//! Finds the structure with which the Python interpreter describes a thread.

use std::collections::HashMap;
use std::path::PathBuf;

use super::layout::{Layout, ThreadIdentity};
use crate::memory::{Memory, Remote};
use crate::status::inner_id;

/// Maximum number of interpreters per process that are read.
const MAX_INTERPRETERS: usize = 64;
/// Maximum number of threads per interpreter that are read.
const MAX_THREADS: usize = 16_384;

/// Number of failed lookups of a thread after which a lookup reads all threads again.
const SKIPPED_LOOKUPS: u32 = 64;

/// Offset of the thread ID in glibc's `struct pthread`.
#[cfg(target_arch = "x86_64")]
const PTHREAD_TID: u64 = 720;
/// Offset of the thread ID in glibc's `struct pthread`.
#[cfg(not(target_arch = "x86_64"))]
const PTHREAD_TID: u64 = 208;

/// Threads of one process. Process and thread IDs are IDs in the observer's PID namespace, except if their names
/// contain "inner".
pub(super) struct Threads {
    pid: u32,
    /// Address of the interpreter's global `_PyRuntime`.
    pub(super) runtime: u64,
    inner: HashMap<u32, u32>,
    known: HashMap<u32, u64>,
    misses: HashMap<u32, u32>,
}

impl Threads {
    pub(super) fn new(pid: u32, runtime: u64) -> Self {
        Self { pid, runtime, inner: HashMap::new(), known: HashMap::new(), misses: HashMap::new() }
    }

    /// Returns the address of the structure with which the interpreter describes thread `tid`.
    pub(super) fn find(&mut self, memory: &mut Remote, layout: &Layout, tid: u32) -> Option<u64> {
        let pid = self.pid;
        let inner = *self.inner.entry(tid).or_insert_with(|| inner_id(&thread_folder(pid, tid)).unwrap_or(tid));
        if let Some(at) = self.known.get(&inner)
            && identity(memory, layout, *at) == Some(inner)
        {
            return Some(*at);
        }
        let misses = self.misses.entry(tid).or_insert(0);
        if !(*misses).is_multiple_of(SKIPPED_LOOKUPS) {
            *misses += 1;
            return None;
        }
        self.read_all(memory, layout);
        let found = self.known.get(&inner).copied();
        let misses = self.misses.entry(tid).or_insert(0);
        *misses = if found.is_some() { 0 } else { *misses + 1 };
        found
    }

    fn read_all(&mut self, memory: &mut Remote, layout: &Layout) {
        self.known.clear();
        let mut interpreter = memory.word(self.runtime.wrapping_add(layout.interpreters));
        for _ in 0..MAX_INTERPRETERS {
            let Some(at) = interpreter.filter(|at| *at != 0) else { return };
            self.read_interpreter(memory, layout, at);
            interpreter = memory.word(at.wrapping_add(layout.next_interpreter));
        }
    }

    fn read_interpreter(&mut self, memory: &mut Remote, layout: &Layout, interpreter: u64) {
        let mut thread = memory.word(interpreter.wrapping_add(layout.threads));
        for _ in 0..MAX_THREADS {
            let Some(at) = thread.filter(|at| *at != 0) else { return };
            if let Some(inner) = identity(memory, layout, at) {
                self.known.insert(inner, at);
            }
            thread = memory.word(at.wrapping_add(layout.next_thread));
        }
    }
}

/// Returns the ID of the thread whose structure is at `thread`. The ID is valid in the thread's own PID namespace.
pub(super) fn identity(memory: &mut Remote, layout: &Layout, thread: u64) -> Option<u32> {
    match layout.identity {
        ThreadIdentity::Kernel(offset) => memory.half(thread.checked_add(offset)?),
        ThreadIdentity::Pthread(offset) => {
            let pthread = memory.word(thread.checked_add(offset)?)?;
            memory.half(pthread.checked_add(PTHREAD_TID)?)
        }
    }
}

fn thread_folder(pid: u32, tid: u32) -> PathBuf {
    format!("/proc/{pid}/task/{tid}").into()
}
