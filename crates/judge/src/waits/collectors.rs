//! Garbage collectors of language runtimes, which stop the threads of a program while they compute.

use run::{CountedKind, ThreadState, WaitCause, WaitFinding, WaitProfile};
use stats::shares::chance_above_half;

use super::activity::Activity;
use super::requests::Requests;
use crate::number::percent;
use crate::thresholds::{HOLDER_SURE, WAIT_MOSTLY, WAIT_QUEUE};

/// Beginnings of the names of the threads of Java's collectors, with `#` for each number. The serial collector runs in
/// the VM thread. Source: HotSpot (`src/hotspot/share/gc`).
const THREADS: &[&str] = &["VM Thread", "GC Thread#", "G# Conc#", "G# Main Marker", "ZWorker", "Shenandoah"];

/// Beginning of the names of the threads that compile a Java program while it runs. Source: HotSpot
/// (`src/hotspot/share/compiler`).
const COMPILER: &str = "C# CompilerThre";

/// Returns true if a thread with this name belongs to Java's runtime, and so handles no request: it collects garbage or
/// compiles the program.
pub(super) fn is_of_runtime(thread: &str) -> bool {
    is_collector(thread) || thread.starts_with(COMPILER)
}

fn is_collector(thread: &str) -> bool {
    THREADS.iter().any(|known| thread.starts_with(known))
}

/// Returns true if a thread with this full name, such as `G1 Conc#0`, belongs to a garbage collector.
pub(crate) fn is_collector_thread(name: &str) -> bool {
    let mut pattern = String::new();
    for letter in name.chars().map(|letter| if letter.is_ascii_digit() { '#' } else { letter }) {
        // One `#` stands for all digits of a number.
        if letter != '#' || !pattern.ends_with('#') {
            pattern.push(letter);
        }
    }
    is_collector(&pattern)
}

/// Garbage collection that takes a large share of a process' CPU time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GarbageCollection {
    /// Name of the process.
    pub(crate) process: String,
    /// Share of garbage collection in the process' CPU time, 0 to 1.
    pub(crate) share: f64,
    /// Share of the time in which the collector's busiest thread ran, 0 to 1; `None` if the collector has no threads of
    /// its own.
    pub(crate) thread_busy: Option<f64>,
}

impl GarbageCollection {
    /// Returns a clause about the CPU time of garbage collection. Sampled stacks show only user code.
    pub(super) fn words(&self) -> String {
        let Self { process, share, thread_busy } = self;
        let share = percent(*share);
        match thread_busy {
            Some(busy) => format!(
                "garbage collection takes {share} of the CPU time of {process} (one of its threads ran {} of the time)",
                percent(*busy)
            ),
            None => format!("garbage collection takes {share} of the user CPU time of {process}"),
        }
    }

    /// Returns the advice to make garbage collection cheaper.
    pub(super) fn advice(&self) -> String {
        format!("Give {} a larger heap (in Go: GOMEMLIMIT and GOGC), or let it allocate less.", self.process)
    }
}

/// Returns the processes whose garbage collector computes for at least half of the time, and uses at least half of the
/// process' CPU time, while requests wait.
pub(super) fn causes(profile: &WaitProfile, requests: &Requests) -> Vec<WaitFinding> {
    let of = |process| collection(profile, &Activity::of(profile, process), requests);
    profile.processes.iter().filter_map(of).collect()
}

fn collection(profile: &WaitProfile, activity: &Activity<'_>, requests: &Requests) -> Option<WaitFinding> {
    let process = activity.process;
    // When a collection ends, the threads that it stopped are ready to run, so only threads on a CPU count.
    let on_cpu = || activity.groups.iter().filter(|group| group.state == ThreadState::OnCpu);
    let of_collector = on_cpu().filter(|group| is_collector(&group.thread));
    let computes: f64 = of_collector.map(|group| group.threads).sum();
    let all = activity.all_threads(|state| state == ThreadState::OnCpu);
    // With few rounds of samples, a collector that hardly works may be on a CPU in some of them by chance.
    let rounds = u32::from(u8::try_from(profile.rounds).unwrap_or(u8::MAX));
    let seen = (computes.min(1.0) * f64::from(rounds)).round() as u32;
    let is_sure = chance_above_half(seen, rounds) >= HOLDER_SURE;
    let is_most = computes >= WAIT_MOSTLY && computes >= WAIT_MOSTLY * all && is_sure;
    (is_most && requests.demand() >= 1.0 + WAIT_QUEUE).then(|| WaitFinding {
        cause: WaitCause::SerialCpu,
        name: "garbage collection".into(),
        process: process.process.clone(),
        counted: CountedKind::CollectorThreads,
        threads: computes,
        of: process.threads,
        share: (computes / all).min(1.0),
        ..WaitFinding::default()
    })
}

/// Returns true for the work of a garbage collector.
pub(crate) fn is_collection(finding: &WaitFinding) -> bool {
    finding.cause == WaitCause::SerialCpu && finding.counted == CountedKind::CollectorThreads
}

#[cfg(test)]
mod tests {
    use run::{MonitorGroup, MonitorKind};

    use super::super::tests::{causes, clients, peer, process};
    use super::super::waits;
    use super::*;

    /// This test repeats a situation that was observed with a Java program whose heap is nearly full. The collector
    /// stopped threads that held a monitor, so other threads waited for this monitor. An earlier version of loadline
    /// named the monitor as the cause.
    #[test]
    fn a_collector_that_computes_most_of_the_time_comes_before_a_monitor() {
        let states = [(ThreadState::OnCpu, "", 0.8), (ThreadState::OnCpu, "", 0.3), (ThreadState::Futex, "", 22.0)];
        let mut profile = process(24.0, &states);
        profile.groups[0].thread = "VM Thread".into();
        profile.clients = Some(clients(1.0, 13.0));
        let monitor = MonitorGroup {
            kind: MonitorKind::JavaMonitor,
            process: "app:7".into(),
            waiting: 1.3,
            ..MonitorGroup::default()
        };
        profile.monitors = vec![monitor];
        let said =
            |profile: &WaitProfile| waits(profile, &[]).into_iter().map(|found| found.sentence).collect::<Vec<_>>();
        assert_eq!(said(&profile), ["garbage collection takes 72.7 % of the CPU time of app:7 while requests wait"]);
        profile.rounds = 2;
        assert!(said(&profile).iter().all(|said| !said.contains("garbage")), "two rounds are too few");
        profile.rounds = 100;
        profile.groups[0].threads = 0.2;
        assert!(said(&profile).iter().all(|said| !said.contains("garbage")), "{:?}", said(&profile));
    }

    /// In this observed case, the full thread of the server was the thread of Java's serial garbage collector. An
    /// earlier version of loadline advised more threads.
    #[test]
    fn a_full_thread_of_the_collector_is_named_as_such() {
        let states = [(ThreadState::OnCpu, "", 0.9), (ThreadState::Futex, "", 22.0)];
        let mut profile = process(24.0, &states);
        profile.groups[0].thread = "VM Thread".into();
        profile.clients = Some(clients(13.0, 1.0));
        let mut verdict = run::Bottleneck { id: "server-single-thread".into(), ..run::Bottleneck::default() };
        let known = super::super::Known::default();
        super::super::explain(&mut verdict, &waits(&profile, &[]), &known, super::super::WordOrder::WaitsLast);
        assert!(verdict.sentence.contains("garbage collection takes"), "{verdict:?}");
    }

    /// ZGC computes beside the requests. If ZGC stopped the program's threads, replies of the database would stay
    /// unread, so the connections would not be busy.
    #[test]
    fn connections_that_are_all_busy_come_before_a_collector_that_computes_beside_them() {
        let states = [
            (ThreadState::OnCpu, "", 0.8),
            (ThreadState::OnCpu, "", 0.4),
            (ThreadState::Futex, "", 52.0),
            (ThreadState::Peer, "10.0.0.2:5432", 10.0),
        ];
        let mut profile = process(64.0, &states);
        profile.groups[0].thread = "ZWorker#".into();
        profile.clients = Some(clients(62.0, 0.0));
        profile.peers = vec![peer("app:7", 10.0, 9.8)];
        assert_eq!(causes(&profile), [WaitCause::ConnectionPool, WaitCause::SerialCpu]);
        profile.peers = vec![peer("app:7", 10.0, 5.0)];
        assert_eq!(causes(&profile), [WaitCause::SerialCpu], "a collector that stops the threads");
    }
}
