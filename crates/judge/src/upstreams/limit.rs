//! Finds out what limits an upstream: all its CPUs, one thread, or a lock (its threads run one at a time).

use run::UpstreamLimit;

use crate::number::ratio;
use crate::thresholds::{FULL_MIDDLE, HALF_BUSY, MOSTLY_RUNS, NEARLY_FULL, ONE_CPU, ONE_THREAD};
use crate::view::{Task, View, busy, mask};

/// Returns the limit of the processes and threads of one upstream. Returns `None` if neither the upstream's CPUs nor
/// one of its threads are full, and the CPU use shows no lock either.
pub(super) fn of_cpus(view: &View<'_>, processes: &[Task], threads: &[Task]) -> Option<UpstreamLimit> {
    let used: f64 = processes.iter().map(|process| process.busy).sum();
    let share = view.cpu_allowed_of(&busy(processes)).and_then(|allowed| ratio(used, allowed)).unwrap_or(0.0);
    let full = NEARLY_FULL * view.given();
    let all = view.busy_share_of(mask(processes).unwrap_or(0));
    // If all programs together fill the upstream's CPUs, the upstream is the limit if it uses at least half of these
    // CPUs.
    let fills = share >= HALF_BUSY && all.is_some_and(|busy| busy >= FULL_MIDDLE);
    // An upstream that uses about one CPU may have a lock. The CPUs must also have idle time, because a parallel
    // upstream gets only one CPU if other programs use the other CPUs.
    let takes_turns =
        processes.len() == 1 && (full..ONE_CPU).contains(&used) && all.is_some_and(|busy| busy < FULL_MIDDLE);
    match full_thread(processes, threads) {
        _ if processes.is_empty() => None,
        _ if share > full => Some(UpstreamLimit::Cpu),
        Some(wants) if wants > full => Some(UpstreamLimit::Thread),
        _ if fills => Some(UpstreamLimit::Cpu),
        _ if takes_turns => Some(UpstreamLimit::Lock),
        _ => None,
    }
}

/// Returns the largest share of the time for which a thread ran or waited for a CPU. Considers only threads that run
/// most of the time and do most of the work of their process. On full CPUs, a thread that does little work may wait for
/// a CPU all the time.
fn full_thread(processes: &[Task], threads: &[Task]) -> Option<f64> {
    let process_busy = |thread: &Task| {
        let name = thread.name.rsplit_once('/').map(|(process, _)| process);
        processes.iter().find(|process| Some(process.name.as_str()) == name).map_or(0.0, |process| process.busy)
    };
    let works = |thread: &&Task| thread.busy >= MOSTLY_RUNS && thread.busy >= ONE_THREAD * process_busy(thread);
    threads.iter().filter(works).map(Task::wants).reduce(f64::max)
}
