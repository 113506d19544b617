//! Finds the processes that followed processes start during a load test. A source of counters finds these processes,
//! too, but only when it takes its next sample. CPU times are read far more often, and the CPU time of a process that
//! is not found yet would count as used by other programs.

use std::collections::HashSet;
use std::path::Path;

use crate::process_tree::{parent_of, pids};
use crate::socket_holders::is_manager;

/// Maximum number of processes of a host for which new children are searched. The search lists all processes of the
/// host, which takes about half a microsecond for each process.
const MAX_LISTED: usize = 4096;

/// The processes that started during a load test; see the module documentation.
#[derive(Default)]
pub(crate) struct NewChildren {
    /// Number of processes and threads that the host had started at the last search.
    started: Option<u64>,
    /// All processes of the host at the first search.
    before: HashSet<u32>,
    /// All processes of the host at the last search.
    known: HashSet<u32>,
    /// Children, and children of children, of followed processes.
    found: Vec<u32>,
}

impl NewChildren {
    /// Searches for new children of the `followed` processes, unless the host has started no process since the last
    /// search. `started` is the number of processes and threads that the host has started since boot. The first search
    /// finds none, because all processes started before the load test.
    pub(crate) fn search(&mut self, started: u64, followed: &[u32]) {
        if self.started.replace(started) == Some(started) {
            return;
        }
        let now: HashSet<u32> = pids(Path::new("/proc")).take(MAX_LISTED + 1).collect();
        if now.len() > MAX_LISTED {
            return;
        }
        if self.before.is_empty() {
            (self.before, self.known) = (now.clone(), now);
            return;
        }
        self.found.retain(|pid| now.contains(pid));
        // A child has a higher ID than its parent, except after the last possible ID.
        let mut new: Vec<u32> = now.difference(&self.known).copied().collect();
        new.sort_unstable();
        for pid in new {
            if !followed.contains(&pid) && parent_of(pid).is_some_and(|parent| self.is_parent(parent, followed)) {
                self.found.push(pid);
            }
        }
        self.known = now;
    }

    /// Returns true for a process whose children belong to the observed side. Loadline starts processes of its own, and
    /// a service manager starts processes of other services.
    fn is_parent(&self, pid: u32, followed: &[u32]) -> bool {
        let is_of_side = followed.contains(&pid) || self.found.contains(&pid);
        is_of_side && pid != std::process::id() && !is_manager(Path::new("/proc"), pid)
    }

    /// Returns the running children that were found.
    pub(crate) fn found(&self) -> &[u32] {
        &self.found
    }

    /// Returns true for a process that started after the first search.
    pub(crate) fn is_new(&self, pid: u32) -> bool {
        !self.before.is_empty() && !self.before.contains(&pid)
    }
}
