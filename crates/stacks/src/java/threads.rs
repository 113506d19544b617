//! Finds the structure with which HotSpot describes a thread.

use std::collections::HashMap;
use std::path::PathBuf;

use super::layout::Layout;
use crate::memory::{Memory, Remote};
use crate::status::inner_id;

/// Maximum number of threads that are read.
const MAX_THREADS: u64 = 16_384;

/// Number of failed lookups of a thread after which a lookup reads all threads again.
const SKIPPED_LOOKUPS: u32 = 64;

/// Threads of one JVM.
pub(super) struct Threads {
    pid: u32,
    /// ID of each thread in its own PID namespace, by its ID in the observer's namespace.
    inner: HashMap<u32, u32>,
    /// Address of each thread's structure, by the thread's ID in its own PID namespace.
    known: HashMap<u32, u64>,
    misses: HashMap<u32, u32>,
}

impl Threads {
    pub(super) fn new(pid: u32) -> Self {
        Self { pid, inner: HashMap::new(), known: HashMap::new(), misses: HashMap::new() }
    }

    /// Returns the address of the structure of thread `tid`. Returns `None` for a thread of the JVM itself.
    pub(super) fn find(&mut self, memory: &mut Remote, layout: &Layout, tid: u32) -> Option<u64> {
        let folder = PathBuf::from(format!("/proc/{}/task/{tid}", self.pid));
        let inner = *self.inner.entry(tid).or_insert_with(|| inner_id(&folder).unwrap_or(tid));
        if let Some(at) = self.known.get(&inner)
            && identity(memory, layout, *at) == Some(inner)
        {
            return Some(*at);
        }
        let misses = self.misses.entry(tid).or_insert(0);
        *misses += 1;
        if *misses % SKIPPED_LOOKUPS != 1 {
            return None;
        }
        self.known = all(memory, layout).unwrap_or_default();
        let found = self.known.get(&inner).copied()?;
        self.misses.remove(&tid);
        Some(found)
    }
}

/// Returns the address of each thread's structure, by the thread's ID in its own PID namespace.
fn all(memory: &mut Remote, layout: &Layout) -> Option<HashMap<u32, u64>> {
    let list = memory.word(layout.list.list)?;
    let length = memory.half(list.checked_add(layout.list.length)?)?;
    let first = memory.word(list.checked_add(layout.list.threads)?)?;
    let mut threads = HashMap::new();
    for i in 0..u64::from(length).min(MAX_THREADS) {
        let at = memory.word(first.checked_add(8 * i)?)?;
        if let Some(id) = identity(memory, layout, at) {
            threads.insert(id, at);
        }
    }
    Some(threads)
}

/// Returns the ID of the thread whose structure is at `thread`, in the thread's own PID namespace.
fn identity(memory: &mut Remote, layout: &Layout, thread: u64) -> Option<u32> {
    let os_thread = memory.word(thread.checked_add(layout.thread.os_thread)?)?;
    memory.half(os_thread.checked_add(layout.thread.id)?)
}
