//! Locks inside PostgreSQL, from the titles of its processes. Its manual documents them (Monitoring Database Activity): `postgres: USER DATABASE
//! HOST ACTIVITY`, where " waiting" follows the statement while the process waits for a lock of another transaction.

use run::{TitleGroup, WaitCause, WaitFinding, WaitProfile};

use crate::thresholds::WAIT_MOSTLY;

/// Beginning and end of the title of a process that waits for a lock.
const TITLE: &str = "postgres: ";
const WAITING: &str = " waiting";

/// Returns the statement of a title that waits for a lock.
fn waiting_statement(title: &TitleGroup) -> Option<&str> {
    title.title.strip_prefix(TITLE)?.strip_suffix(WAITING)?.rsplit(' ').next()
}

/// Returns the row lock that processes of PostgreSQL wait for, if on average one waits at least half of the time.
pub(super) fn row_locks(profile: &WaitProfile) -> Option<WaitFinding> {
    let waiting: Vec<(&TitleGroup, &str)> =
        profile.titles.iter().filter_map(|title| Some((title, waiting_statement(title)?))).collect();
    let (largest, statement) = waiting.iter().max_by(|(a, _), (b, _)| a.processes.total_cmp(&b.processes))?;
    let threads: f64 = waiting.iter().map(|(title, _)| title.processes).sum();
    let of = profile.processes.iter().find(|p| p.process == largest.process).map_or(threads, |p| p.processes);
    (threads >= WAIT_MOSTLY).then(|| WaitFinding {
        cause: WaitCause::RowLock,
        name: (*statement).into(),
        process: largest.process.clone(),
        threads,
        of,
        share: if of > 0.0 { (threads / of).min(1.0) } else { 0.0 },
        ..WaitFinding::default()
    })
}
