//! Moves all threads of a server to other CPUs, including threads that start in the meantime.
//!
//! The CPUs of the process's first thread show whether the change is in effect. The first thread is therefore moved
//! first and moved back last.

use std::io::Result;

/// Maximum number of rounds in which threads are moved. Each round moves the threads that started in the preceding
/// round. New threads inherit the new CPUs, so only threads that set the old CPUs again need many rounds.
const MAX_ROUNDS: usize = 20;

/// Returns all threads of a process and its descendants, beginning with the first thread of the process itself.
pub(crate) fn threads_below(pid: u32) -> Vec<u32> {
    let mut threads: Vec<u32> = probe::with_descendants(pid).into_iter().flat_map(probe::threads_of).collect();
    threads.sort_by_key(|tid| *tid != pid);
    threads
}

/// Moves the threads of a process and its descendants from the CPUs `from` to the CPUs `to`.
pub(super) fn change(pid: u32, from: &[u32], to: &[u32]) -> Result<()> {
    let first = move_threads(&[pid], from, to);
    let others = move_others(pid, from, to);
    first.and(others)
}

/// Moves the threads of a process and its descendants back from the CPUs `from` to the CPUs `to`.
pub(super) fn put_back(pid: u32, from: &[u32], to: &[u32]) -> Result<()> {
    let others = move_others(pid, from, to);
    let first = move_threads(&[pid], from, to);
    // Until the first thread was moved, it may have started further threads.
    let late = move_others(pid, from, to);
    others.and(first).and(late)
}

/// Moves all threads of a process and its descendants, except the first thread of the process itself. A thread that is
/// not yet moved may start further threads, so the search repeats until it finds none.
fn move_others(pid: u32, from: &[u32], to: &[u32]) -> Result<()> {
    for _ in 0..MAX_ROUNDS {
        let others: Vec<u32> = threads_below(pid).into_iter().filter(|tid| *tid != pid).collect();
        if move_threads(&others, from, to)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Moves the threads whose allowed CPUs are exactly `from` to the CPUs `to`, and returns their number. Ignores threads
/// that end meanwhile, and returns the first other error.
fn move_threads(threads: &[u32], from: &[u32], to: &[u32]) -> Result<usize> {
    let is_at_from = |tid: &&u32| sys::limits::cpus_of_thread(**tid).is_ok_and(|now| now == from);
    let moved: Vec<_> = threads.iter().filter(is_at_from).map(|tid| sys::limits::confine_thread(*tid, to)).collect();
    match moved.iter().filter_map(|one| one.err()).find(|error| *error != sys::Errno::SRCH) {
        Some(error) => Err(error.into()),
        None => Ok(moved.iter().filter(|one| one.is_ok()).count()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Change;
    use super::*;

    #[test]
    fn processes_that_start_while_cpus_are_put_back_are_put_back_too() {
        let allowed = sys::limits::allowed_cpus().unwrap();
        if allowed.len() < 2 {
            return;
        }
        // Starts processes all the time, of which at most about 40 exist together.
        let script = "while :; do sleep 0.2 & sleep 0.005; done";
        let server = testkit::ChildProcess::start(std::process::Command::new("sh").args(["-c", script]));
        for _ in 0..50 {
            let change = Change::cpus(server.pid(), &allowed[..1]).unwrap();
            change.make().unwrap();
            assert_eq!(change.undo(), Ok(true));
            let threads = threads_below(server.pid()).into_iter();
            let cpus: Vec<_> = threads.filter_map(|tid| sys::limits::cpus_of_thread(tid).ok()).collect();
            assert!(cpus.iter().all(|cpus| *cpus == allowed), "{cpus:?}");
        }
    }
}
