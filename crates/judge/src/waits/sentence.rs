//! Sentences about causes of waiting.

use run::number::{Unit, number, quantity};
use run::{CountedKind, SessionState, ThreadState, WaitCause, WaitFinding, WaitProfile};

use super::activity::names_call;
use super::collectors::is_collection;
use super::library_locks;
use super::locks::is_of_runtime;
use super::pools::{is_of_processes, waits_for_slot};
use super::runtime_cpus;
use crate::number::percent;
use crate::thresholds::WAIT_MOSTLY;

/// Maximum number of characters of a statement in a sentence.
const MAX_STATEMENT_CHARS: usize = 60;

/// Returns the sentence about a finding.
pub(crate) fn sentence(finding: &WaitFinding) -> String {
    let WaitFinding { name, process, threads, of, peer, .. } = finding;
    let object = match finding.holder {
        Some(holder) if names_call(holder) => &finding.holder_call,
        _ => peer,
    };
    if let Some(session) = finding.session {
        return database(session, finding);
    }
    let counted = finding.counted;
    let function = if finding.function.is_empty() { String::new() } else { format!(" in {}", finding.function) };
    let who = format!("{} of {} {counted} of {process}", number(*threads), number(*of));
    match finding.cause {
        WaitCause::Lock => {
            let held = lock_holder(finding, object);
            let lock = match finding.function.as_str() {
                "" if is_description(name) => name.clone(),
                function if is_description(name) => format!("{name} in {function}"),
                "" => format!("one lock ({name})"),
                function if function == name => format!("one lock in {function}"),
                function => format!("the lock {name} in {function}"),
            };
            format!("{who} wait for {lock}{held}")
        }
        WaitCause::WorkerPool => worker_pool(finding, object),
        WaitCause::ConnectionPool if finding.queued.is_some() => connection_pool(finding),
        WaitCause::ConnectionPool if finding.counted != CountedKind::Threads => {
            let to = if peer.is_empty() { String::new() } else { format!(" to {peer}") };
            format!("{who} wait for a free connection{to}; all are busy")
        }
        WaitCause::ConnectionPool => format!("{who} wait for replies of {peer}; all connections to it are busy"),
        WaitCause::BlockingCall => {
            let does = finding.holder.map_or("is blocked".to_string(), |state| does(state, object));
            let (part, rest) = match finding.of <= 1.0 && finding.share < WAIT_MOSTLY {
                true => (format!(" {} of the time", percent(finding.share)), " and computes for the rest"),
                false => (String::new(), ""),
            };
            format!("the event loop of {process} {does}{function}{part}{rest} while requests wait")
        }
        WaitCause::RowLock => format!("{who} wait for a row lock ({name})"),
        WaitCause::Disk | WaitCause::Sleep | WaitCause::Peer if finding.holder.is_some() => {
            let does = finding.holder.map(|state| does(state, object)).unwrap_or_default();
            format!("the only worker of {process} {does}{function} while requests wait")
        }
        WaitCause::Disk => format!("{who} {}", plural(ThreadState::Disk, name)),
        WaitCause::Sleep => format!("{who} sleep{function} while they have a request"),
        WaitCause::SerialCpu if is_collection(finding) => {
            format!("{name} takes {} of the CPU time of {process} while requests wait", percent(finding.share))
        }
        WaitCause::SerialCpu if runtime_cpus::is_limit(finding) => {
            format!("{name} leaves {who} without a CPU")
        }
        WaitCause::SerialCpu => {
            format!("one thread of {process} computes all the time ({name}), and requests wait for it")
        }
        WaitCause::Peer if peer.is_empty() && !name.is_empty() => format!("{who} wait for {name}"),
        WaitCause::Peer if peer.is_empty() => format!("{who} wait for replies of other servers"),
        WaitCause::Peer => format!("{who} wait for replies of {peer}"),
    }
}

/// Returns true for the name of a lock that describes the kind of lock, such as "a Java monitor".
fn is_description(name: &str) -> bool {
    is_of_runtime(name) || library_locks::is_named(name)
}

/// Returns the sentence about a pool of workers that all have a request. `object` is what the workers wait for.
fn worker_pool(finding: &WaitFinding, object: &str) -> String {
    let WaitFinding { name, process, threads, of, counted, .. } = finding;
    let does = finding.holder.map(|state| plural(state, object));
    let slot = if finding.function.is_empty() { name } else { &finding.function };
    match does {
        _ if is_of_processes(finding) => {
            let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
            let does = does.unwrap_or_default();
            format!(
                "all {} {counted} of {process}{name} have a request (they {does}), and further requests queue",
                changing(*of)
            )
        }
        does if waits_for_slot(finding) => {
            let inside = does.map(|does| format!("; those inside {does}")).unwrap_or_default();
            format!("{} of {} {counted} of {process} wait for a slot in {slot}{inside}", number(*threads), number(*of))
        }
        None => {
            let all = mean_count(threads.round(), "thread");
            format!("all {all} {name} of {process} have a request, and further requests queue")
        }
        Some(does) => format!(
            "all workers of {process} have a request, {} of its {} {counted} {does}, and further requests queue",
            number(*threads),
            number(*of)
        ),
    }
}

/// Formats a mean number of whole things, such as processes: `7`, or `3 to 4` if their number changed while it was
/// read.
fn changing(mean: f64) -> String {
    match number(mean) == number(mean.round()) {
        true => number(mean.round()),
        false => format!("{} to {}", number(mean.floor()), number(mean.ceil())),
    }
}

/// Returns the sentence about a pool of connections that are all busy while requests wait for a free connection.
fn connection_pool(finding: &WaitFinding) -> String {
    let WaitFinding { name, process, of, peer, share, .. } = finding;
    let to = if name.is_empty() { peer.clone() } else { format!("{name} ({peer})") };
    let queued = finding.queued.unwrap_or_default();
    let [requests, wait] = if queued == 1.0 { ["request", "waits"] } else { ["requests", "wait"] };
    let (busy, queued) = (percent(*share), number(queued));
    let connections = match *of {
        1.0 => format!("the only connection of {process} to {to} is"),
        of => format!("all {} connections of {process} to {to} are", changing(of)),
    };
    format!("{connections} busy {busy} of the time, and {queued} {requests} {wait} for one")
}

/// Returns a clause with a plural verb about several threads, such as "wait for a lock".
fn plural(state: ThreadState, object: &str) -> String {
    let one = does(state, object);
    match one.split_once(' ') {
        None => one.trim_end_matches('s').into(),
        Some(("is", rest)) => format!("are {rest}"),
        Some((verb, rest)) => format!("{} {rest}", verb.trim_end_matches('s')),
    }
}

/// Formats a mean number with its noun, without trailing zeros: `1 backend`, `7.5 backends`.
pub(super) fn mean_count(n: f64, noun: &str) -> String {
    format!("{} {noun}{}", number(n), if n == 1.0 { "" } else { "s" })
}

/// Returns the sentence about a cause inside a database.
fn database(session: SessionState, finding: &WaitFinding) -> String {
    let WaitFinding { name, process, threads, of, event, .. } = finding;
    let what = match session {
        SessionState::RowLock => "a row lock",
        SessionState::Lock => "a lock of another transaction",
        SessionState::InternalLock => "a lock inside the database",
        SessionState::Disk => "a disk",
        _ => {
            let each = finding.held_s.map(|s| format!(", {} each", quantity(s, Unit::Seconds))).unwrap_or_default();
            return format!("{process} spends {} of its time in {name}{each}", percent(*threads));
        }
    };
    let place = if event.is_empty() { format!("({name})") } else { format!("({event}) in {}", short(name)) };
    let (waiting, all) = (number(*threads), mean_count(*of, "backend"));
    format!("{waiting} of {all} of {process} wait for {what} {place}{}", holder(finding))
}

/// Returns a clause about the holder of a lock: its thread, its activity, and its function. `object` is what the holder
/// waits for. The clause is empty if nothing is known.
fn lock_holder(finding: &WaitFinding, object: &str) -> String {
    let probably = if finding.holder_probable { "probably " } else { "" };
    let thread = finding.holder_thread.as_ref().map(|thread| format!("thread {}, ID {}", thread.name, thread.id));
    let Some(state) = finding.holder else {
        return thread.map(|thread| format!("; its holder is {probably}{thread}")).unwrap_or_default();
    };
    let thread = thread.map(|thread| format!(" ({thread})")).unwrap_or_default();
    let function = match (finding.holder_function.as_str(), finding.holder_function_share.map(percent)) {
        ("", _) => String::new(),
        (function, Some(share)) if share != percent(1.0) => format!(", {share} of the time in {function}"),
        (function, _) if state == ThreadState::Disk => format!(", called in {function}"),
        (function, _) => format!(" in {function}"),
    };
    format!("; its holder{thread} {probably}{}{function}", does(state, object))
}

/// Returns a clause about the holder of a database's lock: its activity, and the time since it got the lock.
fn holder(finding: &WaitFinding) -> String {
    let does = match finding.holder {
        None => None,
        Some(ThreadState::ClientRead) => Some("waits for the application after"),
        Some(ThreadState::Sleep) => Some("sleeps in"),
        Some(ThreadState::Disk) => Some("waits for a disk in"),
        Some(_) => Some("is in"),
    };
    let does = does.map(|does| format!("{does} {}", short(&finding.holder_statement)));
    let held = finding.held_s.map(|s| quantity(s, Unit::Seconds));
    match (does, held) {
        (None, None) => String::new(),
        (Some(does), Some(held)) => format!("; its holder {does} and holds it for {held}"),
        (Some(does), None) => format!("; its holder {does}"),
        (None, Some(held)) => format!("; it is held for {held}"),
    }
}

/// Returns the beginning of a statement.
fn short(statement: &str) -> String {
    match statement.char_indices().nth(MAX_STATEMENT_CHARS) {
        Some((end, _)) => format!("{} …", statement[..end].trim_end()),
        None => statement.into(),
    }
}

/// Returns a clause with a singular verb about a thread, such as "waits for a lock". `object` is the peer or the system
/// call that the thread waits for. `object` is empty if unknown.
fn does(state: ThreadState, object: &str) -> String {
    match state {
        ThreadState::OnCpu => "computes".into(),
        ThreadState::Runnable => "waits for a CPU".into(),
        ThreadState::Sleep => "sleeps".into(),
        ThreadState::Disk if object.is_empty() => "waits for a disk".into(),
        // Runs that earlier versions of loadline recorded contain the path of the file, but not the system call.
        ThreadState::Disk if object.starts_with('/') => format!("waits for a disk ({object})"),
        ThreadState::Disk => format!("waits for the disk in {object}"),
        ThreadState::Peer if object.is_empty() => "waits for a reply of another server".into(),
        ThreadState::Peer => format!("waits for a reply of {object}"),
        ThreadState::Futex => "waits for another thread".into(),
        ThreadState::FileLock => "waits for a lock on a file".into(),
        ThreadState::ClientWrite => "waits for a slow client".into(),
        ThreadState::Pipe if object.is_empty() => "waits for a pipe".into(),
        ThreadState::Pipe => format!("waits for the {object}"),
        ThreadState::FullPipe if object.is_empty() => "waits for a full pipe".into(),
        ThreadState::FullPipe => format!("waits for the full {object}"),
        ThreadState::Child => "waits for a child process".into(),
        ThreadState::Memory => "waits for memory".into(),
        ThreadState::Stopped => "is stopped".into(),
        _ => "waits for work".into(),
    }
}

/// Returns the headline of a profile: its first cause, or the activities of its threads if it has no cause.
pub fn headline(profile: &WaitProfile, findings: &[WaitFinding]) -> String {
    if let Some(first) = findings.first() {
        return format!("{}.", capital(&first.sentence));
    }
    let threads: f64 = profile.processes.iter().map(|p| p.threads).sum();
    if profile.rounds == 0 || threads == 0.0 {
        return "No thread could be read.".into();
    }
    let sum = |is_counted: fn(ThreadState) -> bool| -> f64 {
        profile.groups.iter().filter(|g| is_counted(g.state)).map(|g| g.threads).sum()
    };
    let on_cpu = sum(ThreadState::wants_cpu);
    let active = sum(ThreadState::is_active);
    format!(
        "No cause of waiting stands out: of {}, {} compute, {} are blocked in their work, and {} wait for work or for each other.",
        mean_count(threads, "thread"),
        number(on_cpu),
        number((active - on_cpu).max(0.0)),
        number((threads - active).max(0.0))
    )
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
