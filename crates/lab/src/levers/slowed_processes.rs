//! Processes that an experiment slows by a lever (a temporary change). If a slowed process starts further processes
//! during the experiment, the lever slows them, too. A server may start a process per connection, as PostgreSQL does,
//! or more workers under load.

use std::cell::RefCell;

use sys::clock;

/// Minimum time between two searches for new processes, divided by the time that a search takes. Because of this
/// minimum, the searches use at most a twentieth of one CPU, even on a machine with thousands of processes.
const SEARCH_INTERVAL: u64 = 20;

/// Processes that a lever slows.
pub(super) struct SlowedProcesses {
    /// Processes that the lever was told to slow.
    told: Vec<u32>,
    found: RefCell<Found>,
}

/// Result of the last search for new processes.
struct Found {
    pids: Vec<u32>,
    /// Earliest time of the next search, nanoseconds of CLOCK_MONOTONIC.
    next_ns: u64,
}

impl SlowedProcesses {
    pub(super) fn new(pids: &[u32]) -> Self {
        Self { told: pids.to_vec(), found: RefCell::new(Found { pids: pids.to_vec(), next_ns: 0 }) }
    }

    /// Returns the IDs of the processes and of their descendants. Searches for new descendants if the last search was
    /// long enough ago.
    pub(super) fn pids(&self) -> Vec<u32> {
        let started_ns = clock::monotonic_ns();
        let mut found = self.found.borrow_mut();
        if started_ns >= found.next_ns {
            found.pids = with_descendants(&self.told);
            let now_ns = clock::monotonic_ns();
            found.next_ns = now_ns + SEARCH_INTERVAL * (now_ns - started_ns);
        }
        found.pids.clone()
    }
}

/// Returns the IDs of processes and of their descendants. If this process is among the descendants, the others may be
/// loadline's own processes, so all descendants are left out.
fn with_descendants(told: &[u32]) -> Vec<u32> {
    let all = probe::all_with_descendants(told);
    if all.contains(&std::process::id()) { told.to_vec() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_starts_later_is_slowed_too() {
        let mut command = std::process::Command::new("sh");
        let server = testkit::ChildProcess::start(command.args(["-c", "sleep 0.1; sleep 60 & sleep 60 & wait"]));
        let slowed = SlowedProcesses::new(&[server.pid()]);
        let all = testkit::eventually(|| Some(slowed.pids()).filter(|pids| pids.len() == 3));
        assert_eq!(all[0], server.pid());
        assert_eq!(all[1..], testkit::children(server.pid()));
    }

    /// The agent of a lever is a descendant of the process that makes the load, which may also be the server.
    #[test]
    fn the_lever_does_not_slow_itself() {
        let own = std::process::id();
        assert_eq!(with_descendants(&[own]), [own]);
        let parent = probe::parent_of(own).unwrap();
        assert_eq!(with_descendants(&[parent]), [parent]);
    }
}
