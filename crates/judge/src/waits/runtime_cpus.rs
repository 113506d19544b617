//! Tasks that are ready to run, but wait because their language runtime uses fewer CPUs than it may (GOMAXPROCS of Go).

use run::{CountedKind, TaskGroup, TaskRuntime, TaskState, WaitCause, WaitFinding, WaitProfile};

use super::requests::Requests;
use crate::thresholds::{WAIT_MOSTLY, WAIT_QUEUE};

/// Returns the processes whose tasks mostly wait for a CPU of their runtime, although the process may use more CPUs.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    profile.runtimes.iter().filter_map(|runtime| limit(profile, runtime, requests)).collect()
}

fn limit(profile: &WaitProfile, runtime: &TaskRuntime, requests: &Requests) -> Option<WaitFinding> {
    let TaskRuntime { process, max_running, cpus } = runtime;
    // The tasks of all processes with one name are counted together, but the limit on CPUs applies to each process.
    let own = profile.processes.iter().find(|own| own.process == *process);
    let most = f64::from(*max_running) * own.map_or(1.0, |own| own.processes.max(1.0));
    let tasks = |is_counted: fn(&TaskGroup) -> bool| -> f64 {
        let own = profile.tasks.iter().filter(|group| group.process == *process);
        own.filter(|group| is_counted(group)).map(|group| group.tasks).sum()
    };
    let ready = tasks(|group| group.state == TaskState::Runnable);
    let running = tasks(|group| group.state == TaskState::Running);
    let all_run = running >= WAIT_MOSTLY * most && ready >= WAIT_MOSTLY;
    let is_queue = all_run && requests.demand() >= most + WAIT_QUEUE;
    (most < f64::from(*cpus) && is_queue).then(|| WaitFinding {
        cause: WaitCause::SerialCpu,
        name: format!("GOMAXPROCS={max_running}"),
        process: process.clone(),
        counted: CountedKind::Goroutines,
        threads: ready,
        of: tasks(|_| true),
        share: (ready / (ready + running)).min(1.0),
        ..WaitFinding::default()
    })
}

/// Returns true for a runtime that uses fewer CPUs than allowed.
pub(super) fn is_limit(finding: &WaitFinding) -> bool {
    finding.cause == WaitCause::SerialCpu && finding.counted == CountedKind::Goroutines
}

#[cfg(test)]
mod tests {
    use run::ThreadState;

    use super::super::tests::{clients, process};
    use super::super::waits;
    use super::*;

    fn go(max_running: u32, ready: f64, queued: f64) -> WaitProfile {
        let group = |state, tasks| TaskGroup { process: "app:7".into(), state, tasks, ..TaskGroup::default() };
        let mut profile =
            process(6.0, &[(ThreadState::OnCpu, "", f64::from(max_running)), (ThreadState::Futex, "", 4.0)]);
        let running = group(TaskState::Running, f64::from(max_running));
        profile.tasks = vec![group(TaskState::Runnable, ready), running, group(TaskState::Network, 2.0)];
        profile.runtimes = vec![TaskRuntime { process: "app:7".into(), max_running, cpus: 4 }];
        profile.clients = Some(clients(f64::from(max_running), queued));
        profile
    }

    #[test]
    fn a_runtime_with_fewer_cpus_than_the_process_is_named() {
        let found = waits(&go(1, 13.0, 13.0), &[]);
        assert!(found.len() == 1 && is_limit(&found[0]), "{found:#?}");
        let said = "GOMAXPROCS=1 leaves 13 of 16 goroutines of app:7 without a CPU";
        assert_eq!(found[0].sentence, said);
        assert!(waits(&go(3, 13.0, 13.0), &[]).iter().any(is_limit));
    }

    #[test]
    fn a_runtime_that_uses_all_cpus_or_is_not_full_is_no_limit() {
        for profile in [go(4, 13.0, 13.0), go(1, 0.2, 13.0), go(2, 13.0, 0.0)] {
            assert!(!waits(&profile, &[]).iter().any(is_limit), "{:?} {:?}", profile.runtimes, profile.clients);
        }
    }

    #[test]
    fn each_worker_has_the_limit_for_itself() {
        for (max_running, running, is_full) in [(1, 0.9, false), (1, 2.0, true), (3, 6.0, false)] {
            let mut profile = go(max_running, 13.0, 13.0);
            profile.processes[0].processes = 2.0;
            profile.tasks[1].tasks = running;
            assert_eq!(waits(&profile, &[]).iter().any(is_limit), is_full, "{running} of 2 * {max_running}");
        }
    }
}
