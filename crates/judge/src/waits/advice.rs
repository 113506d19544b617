//! Advice on each cause for which requests wait inside the server's processes.

use run::WaitCause::{BlockingCall, ConnectionPool, Disk, Lock, Peer, RowLock, SerialCpu, Sleep, WorkerPool};
use run::{SessionState, ThreadState, WaitFinding};

use super::collectors::is_collection;
use super::large_pools::is_of_large_pool;
use super::pools::is_of_processes;
use super::runtime_cpus;

/// Returns the advice on a cause for which requests wait. The text first says what to do, and then why.
pub(crate) fn advice(finding: &WaitFinding) -> String {
    let WaitFinding { process, peer, name, .. } = finding;
    if let Some(session) = finding.session {
        return database_advice(session, finding);
    }
    let reader =
        || format!("Look at the program at the other end of the pipe: it is slower than {process}, or does not read.");
    match finding.cause {
        _ if finding.holder == Some(ThreadState::FullPipe) => reader(),
        Lock if super::locks::is_of_runtime(name) && !super::monitors::is_of_program(name) => {
            format!("Start more processes of {process}: one thread at a time holds {name}.")
        }
        Lock if finding.holder.is_none_or(ThreadState::wants_cpu) => {
            format!("Shorten the work of {process} under this lock, or split the lock.")
        }
        Lock => format!("Let {process} release this lock before it waits."),
        WorkerPool if is_unseen(finding) => look_inside(finding),
        WorkerPool => more_workers(finding),
        ConnectionPool if peer.is_empty() => {
            format!("Raise the number of connections in the pool of {process}, or hold each one for a shorter time.")
        }
        ConnectionPool => {
            format!("Raise the number of connections of {process} to {peer}, or make replies of {peer} faster.")
        }
        BlockingCall => format!(
            "Replace the blocking call in the event loop of {process} by an asynchronous one, or run it in a pool of threads."
        ),
        RowLock => ROW_LOCK_ADVICE.into(),
        Disk => format!("Let {process} write less, flush several requests together, or use a faster disk."),
        Sleep if finding.function.is_empty() => format!("Remove the pause from the requests of {process}."),
        Sleep => format!(
            "Find out what requests wait for in {} of {process}: a pause, or a lock that is tried again and again.",
            finding.function
        ),
        SerialCpu if is_collection(finding) => {
            format!(
                "Give {process} a larger heap, let it allocate less, or choose a collector that works beside the requests."
            )
        }
        SerialCpu if runtime_cpus::is_limit(finding) => {
            format!(
                "Raise GOMAXPROCS of {process}, or leave it unset: Go's runtime then uses all CPUs that the process may use."
            )
        }
        SerialCpu => format!("Spread the work of {process} over more threads or processes."),
        Peer if is_of_large_pool(finding) => format!(
            "Run `loadline waits` on the host of {peer}. More connections of {process} will not help, because most of them \
             already wait there."
        ),
        Peer if !name.is_empty() => reader(),
        Peer if peer.is_empty() => {
            format!("Find the server that {process} waits for, and run `loadline waits` there.")
        }
        Peer => format!("Look at {peer}: run `loadline waits` there."),
    }
}

/// Returns the advice to enlarge a pool.
pub(super) fn more_workers(pool: &WaitFinding) -> String {
    format!("Raise the number of workers of {}, or shorten the time for which each one waits.", pool.process)
}

/// Returns true for a pool of threads if no sample shows what its threads wait for. Threads of a language runtime wait
/// for locks, connections and results in the same way as for work.
pub(super) fn is_unseen(pool: &WaitFinding) -> bool {
    pool.cause == WorkerPool && pool.holder.is_none() && pool.function.is_empty() && !is_of_processes(pool)
}

/// Returns the advice on a pool whose threads wait for something unknown.
fn look_inside(pool: &WaitFinding) -> String {
    format!(
        "Find out what the threads {} of {} wait for. More of them help only if they share no lock and no pool of \
         connections: `loadline find` shows how many work at a time.",
        pool.name, pool.process
    )
}

/// Advice on a lock of a database row.
pub(super) const ROW_LOCK_ADVICE: &str =
    "Shorten the transactions that hold the row lock, or spread the updates over more rows.";

/// Returns the advice on a cause inside a database.
fn database_advice(session: SessionState, finding: &WaitFinding) -> String {
    let WaitFinding { process, name, .. } = finding;
    match session {
        _ if finding.holder == Some(ThreadState::ClientRead) => format!(
            "Commit sooner: a transaction of {process} holds the lock while the application does something else."
        ),
        SessionState::RowLock => ROW_LOCK_ADVICE.into(),
        SessionState::Disk => {
            format!("Let {process} commit several changes together, or give it a faster disk or more memory.")
        }
        SessionState::InternalLock => {
            format!("Let fewer sessions of {process} work at once: a connection pool limits them.")
        }
        SessionState::Running => format!("Call {name} less often, or replace it by a cheaper command."),
        _ => format!("Shorten the transactions of {process} that hold this lock."),
    }
}
