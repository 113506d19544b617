//! Titles of PostgreSQL's processes. PostgreSQL's manual describes the titles in its chapter on monitoring database
//! activity: `postgres: USER DATABASE HOST ACTIVITY`.

use run::{TitleGroup, WaitProfile};

/// Beginning of the title of a PostgreSQL process.
const TITLE: &str = "postgres: ";
/// Activity of a backend (the PostgreSQL process of one connection) that has no open transaction. A backend "idle in
/// transaction" counts as busy: while its transaction is open, a pool cannot give the connection to another client.
const IDLE: &str = "idle";
/// Client's host in the title of a backend that the client reached through a Unix socket.
const LOCAL: &str = "[local]";
/// End of the client's address in the title of a backend that the client reached through TCP. In titles, `#` stands for
/// each number.
const PORT: &str = "(#)";

/// Returns the activity of a backend, from its title. Returns `None` for processes without a client, such as the
/// checkpointer.
pub(super) fn activity(title: &TitleGroup) -> Option<&str> {
    let rest = title.title.strip_prefix(TITLE)?;
    let is_host = |word: &str| word == LOCAL || word.ends_with(PORT);
    let (host, _) = rest.match_indices(' ').find(|(end, _)| rest[..*end].rsplit(' ').next().is_some_and(is_host))?;
    Some(rest[host..].trim_start())
}

/// Returns two mean numbers of PostgreSQL backends with this process name, from their titles: the busy backends, and
/// all backends. Returns `None` if no title belongs to a backend.
pub(super) fn busy_backends(profile: &WaitProfile, process: &str) -> Option<(f64, f64)> {
    let of_process = profile.titles.iter().filter(|title| title.process == process);
    let sums = of_process.filter_map(|title| Some((title.processes, activity(title)? == IDLE)));
    let (idle, busy): (Vec<_>, Vec<_>) = sums.partition(|(_, is_idle)| *is_idle);
    let sum = |rows: &[(f64, bool)]| rows.iter().map(|(processes, _)| processes).sum::<f64>();
    (idle.len() + busy.len() > 0).then(|| (sum(&busy), sum(&busy) + sum(&idle)))
}
