//! Causes of waiting threads that may explain each verdict.

use run::WaitCause::{BlockingCall, ConnectionPool, Disk, Lock, Peer, RowLock, SerialCpu, Sleep, WorkerPool};
use run::{Bottleneck, SessionState, ThreadState, UpstreamLimit, WaitCause, WaitFinding, WaitsFor};

use super::collectors::is_collection;
use super::only_worker::is_only_worker;
use super::runtime_cpus;
use crate::context::view::names;

/// ID of the verdict that names no bottleneck.
pub(super) const UNKNOWN: &str = "unknown";

/// ID of a verdict (a bottleneck), and the causes of waiting that may explain this bottleneck.
pub(super) struct Agreement {
    bottleneck: &'static str,
    causes: &'static [WaitCause],
    /// True if a function that uses much CPU time may explain the verdict, too.
    pub(super) by_function: bool,
}

/// All verdicts that a cause of waiting may explain.
const AGREEMENTS: &[Agreement] = &[
    Agreement {
        bottleneck: "server-concurrency",
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Disk, Sleep, Peer, SerialCpu],
        by_function: false,
    },
    Agreement { bottleneck: "server-single-thread", causes: &[Lock], by_function: true },
    Agreement { bottleneck: "server-cpu", causes: &[], by_function: true },
    Agreement { bottleneck: "server-cpu-quota", causes: &[], by_function: true },
    // While all its workers are blocked, a server accepts no connections.
    Agreement {
        bottleneck: "accept-queue",
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Sleep, Peer, SerialCpu],
        by_function: false,
    },
    Agreement {
        bottleneck: UNKNOWN,
        causes: &[Lock, WorkerPool, ConnectionPool, BlockingCall, RowLock, Disk, SerialCpu],
        by_function: false,
    },
    // If the holder of a lock waits for the disk, the threads that wait for the lock indirectly wait for the disk.
    Agreement { bottleneck: "server-disk", causes: &[Disk, Lock], by_function: false },
];

/// Causes of waiting that may explain a wait for a full upstream service.
const OF_UPSTREAM: &[WaitCause] = &[ConnectionPool, Peer, RowLock];
/// Causes that may explain why requests use the CPU one at a time.
const OF_TURNS: &[WaitCause] = &[Lock, RowLock, SerialCpu, BlockingCall];

impl Agreement {
    /// Returns the causes that may explain a verdict. Returns `None` if no cause explains verdicts with this ID.
    pub(super) fn of(verdict: &Bottleneck) -> Option<&'static Self> {
        AGREEMENTS.iter().find(|row| row.bottleneck == verdict.id)
    }

    /// Returns true for verdicts that garbage collection may explain: it uses CPU time, or stops the requests.
    pub(super) fn may_be_collection(&self) -> bool {
        self.by_function || self.causes.contains(&SerialCpu)
    }

    /// Returns the cause that explains a verdict best. If the server waits for an upstream, a lock inside the upstream
    /// comes first.
    pub(super) fn cause<'a>(&self, verdict: &Bottleneck, findings: &'a [WaitFinding]) -> Option<&'a WaitFinding> {
        let upstream = verdict.waits_for.as_ref();
        let behind = upstream.and_then(|upstream| findings.iter().find(|finding| is_lock_inside(upstream, finding)));
        behind.or_else(|| findings.iter().find(|finding| agrees(self, verdict, finding)))
    }
}

/// Returns true if a cause of waiting may explain a verdict.
fn agrees(agreement: &Agreement, verdict: &Bottleneck, finding: &WaitFinding) -> bool {
    let cause = &finding.cause;
    let holder_computes = finding.holder.is_none_or(ThreadState::wants_cpu);
    match () {
        // A command that a database executes nearly all the time explains full CPUs.
        () if finding.session == Some(SessionState::Running) => {
            agreement.by_function || verdict.waits_for.is_some() || verdict.id == UNKNOWN
        }
        () if verdict.waits_for.is_some() => OF_UPSTREAM.contains(cause) || finding.session.is_some(),
        () if verdict.serial => OF_TURNS.contains(cause) && holder_computes,
        () if verdict.id == "server-single-thread" && (runtime_cpus::is_limit(finding) || is_collection(finding)) => {
            true
        }
        () if verdict.id == "server-single-thread" => agreement.causes.contains(cause) && holder_computes,
        () if verdict.id == "server-disk" && *cause == Lock => {
            finding.holder.is_none_or(|state| state == ThreadState::Disk || state.wants_cpu())
        }
        // Threads that sleep or wait for a peer explain `unknown` and `accept-queue` only if the server has a single
        // worker, for which all requests wait.
        () if matches!(verdict.id.as_str(), UNKNOWN | "accept-queue") && matches!(cause, Sleep | Peer) => {
            is_only_worker(finding)
        }
        () => agreement.causes.contains(cause),
    }
}

/// Returns true for a lock inside a full upstream if the holder of the lock uses the full resource.
fn is_lock_inside(upstream: &WaitsFor, finding: &WaitFinding) -> bool {
    // If several processes have one name, their finding contains no process ID.
    let is_own = |process: &String| names(&finding.process, process);
    let fits = |state: ThreadState| match upstream.limit {
        Some(UpstreamLimit::Disk) => state == ThreadState::Disk,
        _ => state.wants_cpu(),
    };
    finding.cause == Lock && finding.holder.is_none_or(fits) && upstream.processes.iter().any(is_own)
}
