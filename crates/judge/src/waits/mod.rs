//! Causes inside the processes: what requests wait for, from sampled threads ([`run::WaitProfile`]).
//!
//! Threads of an idle pool wait for one futex, too: for the queue of their work. They hold no request. Threads that wait for a lock do. The
//! account of requests ([`requests`]) therefore tells both apart: the requests that the server read and did not answer, against the threads
//! that are active or wait. Without this account, only a mutex that stores its owner counts as a lock, and only if its owner does something.

mod blocking;
mod databases;
mod explain;
mod locks;
mod pools;
mod requests;
mod sentence;
mod tasks;

use run::{WaitCause, WaitFinding, WaitProfile};

pub(crate) use explain::explain;
pub use sentence::headline;

use requests::Requests;

/// Returns the causes for which requests wait, the one with most threads first.
pub fn waits(profile: &WaitProfile) -> Vec<WaitFinding> {
    let requests = Requests::of(profile);
    let mut found = locks::locks(profile, &requests);
    found.extend(tasks::causes(profile, &requests));
    // A blocked process is explained by its lock.
    let others = blocking::causes(profile, &requests);
    let unexplained = |other: &WaitFinding| found.iter().all(|lock| lock.process != other.process);
    let others: Vec<WaitFinding> = others.into_iter().filter(unexplained).collect();
    found.extend(others);
    let row_lock = databases::row_locks(profile);
    // Threads that wait for replies of a database wait for its lock.
    if row_lock.is_some() {
        found.retain(|other| !matches!(other.cause, WaitCause::Peer | WaitCause::ConnectionPool));
    }
    found.extend(row_lock);
    found.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    for finding in &mut found {
        finding.sentence = sentence::sentence(finding);
    }
    found
}

#[cfg(test)]
mod tests;
