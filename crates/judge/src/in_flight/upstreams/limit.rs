//! Finds out what limits an upstream: its CPU quota, all its CPUs, one thread, or a lock (its threads run one at a
//! time).

use run::UpstreamLimit;

use super::quota::Quota;
use crate::context::lighter::{LighterLoads, busy_of};
use crate::context::view::{Task, View, busy, mask, program};
use crate::number::ratio;
use crate::signals::chance;
use crate::signals::full::{full, full_thread};
use crate::thresholds::{
    CLOSE, FULL_MIDDLE, FULL_WIDTH, HALF_BUSY, LEAST_PLACES, LIKELY, MOSTLY_RUNS, NEARLY_FULL, ONE_CPU, ONE_PLACE,
    ONE_THREAD, QUEUE_SHARE,
};

/// Processes and threads of one upstream, in the trial that shows its load.
pub(super) struct Work<'v, 'a> {
    pub(super) view: &'v View<'a>,
    pub(super) lighter: &'v LighterLoads<'a>,
    pub(super) processes: &'v [Task],
    pub(super) threads: &'v [Task],
    /// Maximum number of connections to the upstream; absent if unknown.
    pub(super) connections: Option<f64>,
    /// Mean number of connections on which a reply is awaited; absent if unknown.
    pub(super) awaited: Option<f64>,
    /// True if requests were seen to wait in front of the upstream.
    pub(super) has_queue: bool,
    /// Number of requests that the server handles at a time; absent if unknown.
    pub(super) at_a_time: Option<f64>,
    pub(super) quota: Quota,
    /// True if the run shows a limit: throughput stopped growing, a load missed the objective, or requests wait in
    /// front of the upstream.
    pub(super) shows_limit: bool,
}

impl Work<'_, '_> {
    /// Returns the limit of the upstream, and its probability. Returns `None` if probably neither the upstream's quota,
    /// nor its CPUs, nor one of its threads is full, and the CPU use shows no lock either.
    pub(super) fn limit(&self) -> Option<(UpstreamLimit, f64)> {
        let all = [
            (UpstreamLimit::Quota, self.used_up_quota()),
            (UpstreamLimit::Cpu, self.own_cpus()),
            (UpstreamLimit::Thread, self.thread()),
            (UpstreamLimit::Cpu, self.shared_cpus()),
            (UpstreamLimit::Lock, self.lock()),
        ];
        let full = all.into_iter().find(|(_, chance)| *chance >= LIKELY);
        // Short bursts of work may exhaust even a quota that is not the limit. If the probability of another limit is
        // higher, the other limit is returned.
        let used = (!self.processes.is_empty()).then(|| self.used());
        let ran_out = (UpstreamLimit::Quota, self.quota.ran_out(used, self.shows_limit));
        let likely = full.into_iter().chain([ran_out]).filter(|(_, chance)| *chance >= LIKELY);
        likely.reduce(|full, ran_out| if ran_out.1 >= full.1 { ran_out } else { full })
    }

    fn used(&self) -> f64 {
        self.processes.iter().map(|process| process.busy).sum()
    }

    /// Returns the number of CPUs on which the upstream's processes may run.
    fn cpus(&self) -> Option<f64> {
        self.view.cpu_allowed_of(&busy(self.processes))
    }

    /// Returns the CPU use of the upstream, divided by the number of CPUs that the upstream may use, 0 to 1.
    fn share(&self) -> Option<f64> {
        self.cpus().and_then(|cpus| ratio(self.used(), cpus))
    }

    /// Returns the probability that the upstream uses up its CPU quota. A runtime that starts one thread for each CPU
    /// of its quota can use the whole quota, although the kernel hardly ever throttles the runtime.
    fn used_up_quota(&self) -> f64 {
        let Some(share) = self.quota.used_share(self.used(), self.cpus()) else { return 0.0 };
        self.of_load(full("", 1.0, share).chance(), self.had_room(share))
    }

    /// Returns the probability that the measured load fills a thread or CPUs: see [`LighterLoads::had_room`]. If the
    /// CPU use under lighter loads is unknown, and the run shows neither a limit nor a queue, the probability is at
    /// most [`CLOSE`].
    fn of_load(&self, full: f64, had_room: Option<f64>) -> f64 {
        let unseen_most = if self.shows_limit { 1.0 } else { CLOSE };
        had_room.map_or(full.min(unseen_most), |had_room| full * had_room)
    }

    /// Returns the probability that the upstream's CPUs had idle time under lighter loads. `share` is the busy share of
    /// the upstream's CPUs under the measured load.
    fn had_room(&self, share: f64) -> Option<f64> {
        let processes = || self.processes.iter().filter(|process| process.busy > 0.0);
        self.lighter.had_room(|view| {
            let then: f64 = processes().filter_map(|process| busy_of(view, process)).sum();
            let known = processes().any(|process| busy_of(view, process).is_some());
            ratio(then * share, self.used()).filter(|_| known)
        })
    }

    fn own_cpus(&self) -> f64 {
        let Some(share) = self.share() else { return 0.0 };
        self.of_load(full("", self.view.given(), share).chance(), self.had_room(share))
    }

    /// Returns the probability that all programs together fill the upstream's CPUs. On full CPUs, the upstream is the
    /// limit if it uses at least half of these CPUs.
    fn shared_cpus(&self) -> f64 {
        let all = self.view.busy_share_of(mask(self.processes).unwrap_or(0)).unwrap_or(0.0);
        match self.share() {
            Some(share) if share >= HALF_BUSY => {
                self.of_load(chance((all - FULL_MIDDLE) / FULL_WIDTH), self.had_room(share))
            }
            _ => 0.0,
        }
    }

    /// Returns the probability that one thread of the upstream has no time left for further requests.
    fn thread(&self) -> f64 {
        let candidates: Vec<f64> = self.busy_threads().map(|task| self.chance_of(task)).collect();
        let likely = candidates.iter().filter(|chance| **chance >= LIKELY).count() as f64;
        let most = candidates.into_iter().fold(0.0, f64::max);
        let (Some(connections), Some(awaited)) = (self.connections, self.awaited) else { return most };
        // If each process serves about one connection, a full process delays only the requests on its own connection.
        let works_on_all = !self.has_queue && busy(self.processes).len() as f64 >= awaited;
        match self.serves_one_each(connections) && (likely < QUEUE_SHARE * awaited || works_on_all) {
            true => 0.0,
            // If the server sends one request at a time, other threads might serve further requests, so a full thread
            // is a less certain limit.
            false if self.has_one_request() => most.min(CLOSE),
            false => most,
        }
    }

    /// Returns true if each process of the upstream serves about one connection. A single process may serve all
    /// requests, on one connection, unless a process of the same program started it.
    fn serves_one_each(&self, connections: f64) -> bool {
        self.processes.len() as f64 >= connections && (connections > 1.0 || self.has_children())
    }

    /// Returns true if a working process of the upstream was started by another process of the same program. A database
    /// such as PostgreSQL starts a process for each connection.
    fn has_children(&self) -> bool {
        let parents = self.view.side.recording.instances("process.parent");
        busy(self.processes).iter().any(|child| {
            let parent = parents.value(&child.name, self.view.window);
            let parent = parent.map(|id| format!("{}:{id}", program(&child.name)));
            self.processes.iter().any(|process| Some(&process.name) == parent.as_ref())
        })
    }

    /// Returns true if the server sends only about one request at a time to the upstream, so no request waits in the
    /// upstream. Returns false if the number of awaited replies is unknown.
    fn has_one_request(&self) -> bool {
        !self.has_queue && self.awaited.is_some_and(|awaited| awaited <= ONE_PLACE)
    }

    fn chance_of(&self, task: &Task) -> f64 {
        let stolen = self.view.stolen_each(task.mask.or(mask(self.processes)));
        let full = full_thread("", &stolen, task.wants()).chance();
        self.of_load(full, self.lighter.task_had_room(task))
    }

    /// Returns the threads that run most of the time and do most of the work of their process. On full CPUs, a thread
    /// that does little work may wait for a CPU all the time.
    fn busy_threads(&self) -> impl Iterator<Item = &Task> {
        let process_busy = |thread: &Task| {
            let name = thread.name.rsplit_once('/').map(|(process, _)| process);
            self.processes
                .iter()
                .find(|process| Some(process.name.as_str()) == name)
                .map_or(0.0, |process| process.busy)
        };
        let works =
            move |thread: &&Task| thread.busy >= MOSTLY_RUNS && thread.busy >= ONE_THREAD * process_busy(thread);
        self.threads.iter().filter(works)
    }

    /// Returns the probability that a lock lets only one thread of the upstream run at a time. A lock is likely if the
    /// upstream uses about one CPU. The CPUs must also have idle time, because a parallel upstream gets only one CPU if
    /// other programs use all others. The server must handle about one request at a time, because a parallel upstream
    /// may happen to use about one CPU. The server must send more than one request at a time, because requests that
    /// come one by one never use more than one CPU.
    fn lock(&self) -> f64 {
        let all = self.view.busy_share_of(mask(self.processes).unwrap_or(0));
        let takes_turns = self.processes.len() == 1
            && !self.has_one_request()
            && self.at_a_time.is_some_and(|requests| (LEAST_PLACES..=ONE_PLACE).contains(&requests))
            && (NEARLY_FULL * self.view.given()..ONE_CPU).contains(&self.used())
            && all.is_some_and(|busy| busy < FULL_MIDDLE);
        if takes_turns { self.of_load(1.0, self.had_room(self.used())) } else { 0.0 }
    }
}
