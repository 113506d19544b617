//! Made-up causes of waits inside a server, one for each sentence.

use run::{CountedKind, SessionState, ThreadState, WaitCause, WaitFinding};

use super::sentence::Sentence;
use crate::waits::{advice, sentence};

/// Returns the sentence and the advice about each made-up cause.
pub(super) fn sentences() -> Vec<Sentence> {
    let said = |cause: &WaitFinding| {
        [Sentence::new("waits", "", &sentence(cause)), Sentence::new("advice on waits", "", &advice(cause))]
    };
    [locks(), pools(), calls(), serial(), databases()].iter().flatten().flat_map(said).collect()
}

fn cause(cause: WaitCause, name: &str, (threads, of): (f64, f64)) -> WaitFinding {
    let share = threads / of;
    WaitFinding { cause, name: name.into(), process: "app:7".into(), threads, of, share, ..WaitFinding::default() }
}

fn locks() -> Vec<WaitFinding> {
    let lock = cause(WaitCause::Lock, "g_lock", (14.7, 16.0));
    let held = |holder| WaitFinding { holder: Some(holder), ..lock.clone() };
    vec![
        WaitFinding { holder_function: "render".into(), ..held(ThreadState::OnCpu) },
        WaitFinding { function: "update".into(), holder_probable: true, ..held(ThreadState::Sleep) },
        WaitFinding {
            holder_call: "fsync of /var/log/audit".into(),
            holder_function: "append".into(),
            ..held(ThreadState::Disk)
        },
        WaitFinding { peer: "10.0.0.2:5432".into(), ..held(ThreadState::Peer) },
        held(ThreadState::Futex),
        WaitFinding {
            name: "Python's interpreter lock (GIL)".into(),
            function: "view (app.py:41)".into(),
            ..lock.clone()
        },
        WaitFinding { counted: CountedKind::Goroutines, name: "main.work".into(), ..lock.clone() },
        WaitFinding { counted: CountedKind::Processes, name: "/run/app.lock".into(), ..held(ThreadState::FileLock) },
        cause(WaitCause::RowLock, "UPDATE", (6.4, 8.0)),
    ]
}

fn pools() -> Vec<WaitFinding> {
    let workers = cause(WaitCause::WorkerPool, "exec-#", (8.0, 8.0));
    let connections = |of| cause(WaitCause::ConnectionPool, "postgres:300", (of, of));
    let queued = |of, queued| WaitFinding { queued: Some(queued), peer: "10.0.0.2:5432".into(), ..connections(of) };
    vec![
        workers.clone(),
        WaitFinding { counted: CountedKind::Children, holder: Some(ThreadState::Sleep), ..workers.clone() },
        WaitFinding { function: "acquire (pool.go:20)".into(), holder: Some(ThreadState::Peer), ..workers.clone() },
        WaitFinding { name: String::new(), holder: Some(ThreadState::Sleep), threads: 7.8, ..workers },
        queued(1.0, 1.0),
        queued(3.0, 12.7),
        WaitFinding { counted: CountedKind::Goroutines, peer: "10.0.0.2:5432".into(), ..connections(12.0) },
        WaitFinding { counted: CountedKind::Goroutines, ..connections(12.0) },
        WaitFinding { peer: "10.0.0.2:5432".into(), ..connections(3.0) },
    ]
}

fn calls() -> Vec<WaitFinding> {
    let states = [
        ThreadState::Sleep,
        ThreadState::Disk,
        ThreadState::Peer,
        ThreadState::Futex,
        ThreadState::FileLock,
        ThreadState::ClientWrite,
        ThreadState::Pipe,
        ThreadState::FullPipe,
        ThreadState::Child,
        ThreadState::Memory,
        ThreadState::Stopped,
    ];
    let blocking = |state| WaitFinding {
        holder: Some(state),
        function: "handler (app.py:41)".into(),
        ..cause(WaitCause::BlockingCall, "", (1.0, 1.0))
    };
    let only = |cause_: WaitCause, holder| WaitFinding { holder: Some(holder), ..cause(cause_, "", (1.0, 1.0)) };
    let others = [
        WaitFinding { share: 0.4, ..blocking(ThreadState::Disk) },
        only(WaitCause::Disk, ThreadState::Disk),
        only(WaitCause::Sleep, ThreadState::Sleep),
        WaitFinding { peer: "10.0.0.2:5432".into(), ..only(WaitCause::Peer, ThreadState::Peer) },
        cause(WaitCause::Disk, "fsync of /var/lib/app/db", (3.6, 4.0)),
        cause(WaitCause::Sleep, "", (7.6, 8.0)),
        WaitFinding { function: "poll_lock (app.py:41)".into(), ..cause(WaitCause::Sleep, "", (7.6, 8.0)) },
        WaitFinding { peer: "10.0.0.2:5432".into(), ..cause(WaitCause::Peer, "", (7.6, 8.0)) },
        cause(WaitCause::Peer, "", (7.6, 8.0)),
        cause(WaitCause::Peer, "the full pipe to logger:9", (7.6, 8.0)),
    ];
    states.map(blocking).into_iter().chain(others).collect()
}

fn serial() -> Vec<WaitFinding> {
    let serial = |name, counted, threads| WaitFinding { counted, ..cause(WaitCause::SerialCpu, name, threads) };
    vec![
        WaitFinding { share: 0.9, ..serial("garbage collection", CountedKind::CollectorThreads, (1.5, 24.0)) },
        serial("GOMAXPROCS=1", CountedKind::Goroutines, (51.0, 69.0)),
        serial("dispatch", CountedKind::Threads, (1.0, 9.0)),
    ]
}

fn databases() -> Vec<WaitFinding> {
    let session = |session, event: &str, name| WaitFinding {
        process: "postgres".into(),
        session: Some(session),
        event: event.into(),
        held_s: Some(0.009),
        holder_statement: "UPDATE counters SET n = n + ?".into(),
        ..cause(WaitCause::RowLock, name, (12.0, 16.0))
    };
    let row = |holder| WaitFinding {
        holder,
        ..session(SessionState::RowLock, "Lock:transactionid", "UPDATE counters SET n = n + ?")
    };
    vec![
        row(None),
        row(Some(ThreadState::ClientRead)),
        row(Some(ThreadState::Sleep)),
        session(SessionState::Lock, "Lock:relation", "SELECT count(*) FROM counters"),
        session(SessionState::InternalLock, "LWLock:WALWrite", "COMMIT"),
        session(SessionState::Disk, "IO:WALSync", "COMMIT"),
        WaitFinding { process: "redis".into(), threads: 0.93, ..session(SessionState::Running, "", "KEYS") },
    ]
}
