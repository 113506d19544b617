//! Causes inside the processes: what requests wait for, from sampled threads ([`run::WaitProfile`]).
//!
//! Threads of an idle pool wait for one futex, too: for the queue of their work. They hold no request. Threads that wait for a lock do. The
//! account of requests ([`requests`]) therefore tells both apart: the requests that the server read and did not answer, against the threads
//! that are active or wait. Without this account, only a mutex that stores its owner counts as a lock, and only if its owner does something.

mod activity;
mod blocking;
mod databases;
mod explain;
mod locks;
mod pools;
mod requests;
mod sentence;
mod tasks;

use run::{DatabaseKind, DatabaseProfile, Run, WaitCause, WaitFinding, WaitProfile};

pub(crate) use explain::explain;
pub use sentence::headline;

use requests::Requests;

/// Returns the causes that the sampled trial of a run shows.
pub(crate) fn of_run(run: &Run) -> Vec<WaitFinding> {
    let threads = run.sampled_waits();
    waits(threads.unwrap_or(&WaitProfile::default()), run.sampled_databases())
}

/// Returns the causes for which requests wait, the one with most threads first.
pub fn waits(profile: &WaitProfile, databases: &[DatabaseProfile]) -> Vec<WaitFinding> {
    let requests = Requests::of(profile);
    let mut found = locks::locks(profile, &requests);
    found.extend(tasks::causes(profile, &requests));
    // A blocked process is explained by its lock.
    let others = blocking::causes(profile, &requests);
    let unexplained = |other: &WaitFinding| found.iter().all(|lock| lock.process != other.process);
    let others: Vec<WaitFinding> = others.into_iter().filter(unexplained).collect();
    found.extend(others);
    let mut inside = databases::sessions(databases);
    // Sampled sessions tell more than titles of the same processes.
    let knows_sessions =
        databases.iter().any(|database| database.samples > 0 && database.kind == DatabaseKind::Postgres);
    inside.extend(databases::titles(profile).filter(|_| !knows_sessions));
    // Threads that wait for replies of a database wait for what happens in it.
    if !inside.is_empty() {
        found.retain(|other| !matches!(other.cause, WaitCause::Peer | WaitCause::ConnectionPool));
    }
    found.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    inside.sort_by(|a, b| b.threads.total_cmp(&a.threads));
    // Threads of the server wait for the database, so the causes inside it come first.
    found.splice(0..0, inside);
    for finding in &mut found {
        finding.sentence = sentence::sentence(finding);
    }
    found
}

#[cfg(test)]
mod tests;
