//! Stacks of the sampled processes. The stacks of running threads come from the kernel's perf events, and the stacks of
//! waiting threads from /proc.

use std::collections::{HashMap, HashSet};

use run::{MAX_STACKS, MonitorGroup, StackProfile, StackSum};
use stacks::{Addresses, CpuStacks, Process, Processes, StackCounts};

use super::monitors::MonitorSums;
use super::round::{ProcessSample, Round, ThreadSample};
use super::tasks::TaskSums;

/// Maximum number of different stacks of waiting threads that are kept as addresses and named at the end.
const MAX_WAITING: usize = 1 << 14;

/// Maximum number of goroutines of a process that are read in a round. Reading a goroutine takes about as long as
/// unwinding a thread. Many small rounds cover more moments than a few large rounds.
const MAX_GOROUTINES: u64 = 32;

/// Samples the stacks of the observed processes.
pub(super) struct StackSampler {
    cpu: CpuStacks,
    /// Start time of each followed process, in ticks since boot.
    followed: HashMap<u32, u64>,
    waiting: HashMap<(u32, Addresses), f64>,
    /// Stacks of waiting threads and goroutines whose functions are named already.
    named: StackCounts,
    /// Waits for locks of language runtimes, from the stacks of ended processes.
    monitors: MonitorSums,
    pub(super) tasks: TaskSums,
    /// Number of rounds with stacks of waiting threads.
    rounds: u64,
    refusal: Option<String>,
}

impl StackSampler {
    pub(super) fn new() -> Self {
        let (cpu, refusal) = (CpuStacks::new(), CpuStacks::allowed().err());
        let refusal = refusal.map(|e| {
            format!("the kernel does not let this user sample the CPU time of functions ({e}; see kernel.perf_event_paranoid)")
        });
        Self {
            cpu,
            followed: HashMap::new(),
            waiting: HashMap::new(),
            named: StackCounts::default(),
            monitors: MonitorSums::default(),
            tasks: TaskSums::default(),
            rounds: 0,
            refusal,
        }
    }

    /// Returns the reason why stacks of running threads cannot be sampled.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Samples the CPU time of the given processes from now on. The stacks of these processes begin with the names
    /// under which the processes are counted.
    pub(super) fn follow(&mut self, processes: &[ProcessSample], open: &mut Processes) {
        self.forget_ended(processes, open);
        for process in processes.iter().filter(|process| process.kernel_name.is_some()) {
            open.get(process.pid).into_iter().for_each(|open| open.rename(&process.name));
        }
        for process in processes {
            let is_new = self.followed.insert(process.pid, process.started_ticks).is_none();
            if is_new && self.refusal.is_none() {
                self.cpu.follow(process.pid);
            }
        }
    }

    /// Forgets the processes that have ended: those that are not among `running`. Names the functions in their stacks
    /// first, because another process may get the ID of an ended process.
    fn forget_ended(&mut self, running: &[ProcessSample], open: &mut Processes) {
        let running: HashSet<(u32, u64)> = running.iter().map(|process| (process.pid, process.started_ticks)).collect();
        let ended: HashSet<u32> =
            self.followed.extract_if(|pid, started| !running.contains(&(*pid, *started))).map(|(pid, _)| pid).collect();
        if ended.is_empty() {
            return;
        }
        self.cpu.forget_ended(&ended, open);
        for ((pid, stack), weight) in self.waiting.extract_if(|(pid, _), _| ended.contains(pid)) {
            add_named(open, (pid, &stack), weight, &mut self.named, &mut self.monitors);
        }
        ended.iter().for_each(|pid| open.close(*pid));
    }

    /// Fetches the stack samples of running threads that the kernel has recorded since the last call. Returns the time
    /// at which this function should be called again, nanoseconds.
    pub(super) fn poll(&mut self, processes: &mut Processes) -> u64 {
        self.cpu.poll(processes)
    }

    /// Ends the sampling of running threads.
    pub(super) fn stop(&mut self, processes: &mut Processes) {
        self.cpu.stop(processes);
    }

    /// Forgets all stacks so far, but keeps following the processes.
    pub(super) fn forget(&mut self) {
        self.cpu.forget();
        (self.waiting, self.named, self.monitors) = Default::default();
        (self.tasks, self.rounds) = Default::default();
    }

    /// Adds the stacks of a round's goroutines and waiting threads, except for threads that wait for requests.
    pub(super) fn add(&mut self, round: &Round, processes: &mut Processes) {
        self.rounds += 1;
        self.tasks.begin_round();
        for process in &round.processes {
            if let Some(found) = processes.get(process.pid).and_then(|p| p.goroutines(MAX_GOROUTINES)) {
                self.tasks.add(&process.name, &found, &mut self.named);
                self.tasks.count_cpus(process.pid, &process.name, found.max_running);
            }
        }
        for thread in round.threads.iter().filter(|thread| !thread.state.is_idle() && thread.stack != (0, 0)) {
            if let Some(process) = round.processes.get(thread.process).and_then(|p| processes.get(p.pid)) {
                self.add_waiting(process, thread, round.weight);
            }
        }
    }

    fn add_waiting(&mut self, process: &mut Process, thread: &ThreadSample, weight: f64) {
        let (sp, pc) = thread.stack;
        // Threads of Go's runtime wait for goroutines, so the stacks of goroutines are read instead.
        if process.has_goroutines() {
            return;
        }
        if process.has_runtime_frames() {
            let frames = process.waiting_frames(thread.tid, pc, sp, &[]);
            self.monitors.add(process.name(), &frames, weight);
            return self.named.add(process.name(), &frames, weight);
        }
        let key = (process.pid(), process.unwind_waiting(pc, sp, &[]));
        if self.waiting.len() < MAX_WAITING || self.waiting.contains_key(&key) {
            *self.waiting.entry(key).or_default() += weight;
        }
    }

    /// Names the functions of all stacks. Also returns the numbers of threads that wait for locks of language runtimes,
    /// as the threads' stacks show. `instance_of` returns another process name for some stacks.
    pub(super) fn profile(
        &mut self,
        processes: &mut Processes,
        instance_of: impl Fn(&str) -> Option<String>,
    ) -> (StackProfile, Vec<MonitorGroup>) {
        let (mut waiting, mut monitors) = (self.named.clone(), self.monitors.clone());
        for ((pid, stack), weight) in &self.waiting {
            add_named(processes, (*pid, stack), *weight, &mut waiting, &mut monitors);
        }
        let cpu = self.cpu.profile(processes);
        let stacks = StackProfile {
            cpu_samples: cpu.samples,
            cpu: sums(&cpu.stacks, 1.0, &instance_of),
            waiting: sums(&waiting, 1.0 / self.rounds.max(1) as f64, &instance_of),
        };
        (stacks, monitors.rows(self.rounds))
    }
}

/// Names the functions in the stack of a waiting thread of a process, and adds the stack to `waiting` and `monitors`.
fn add_named(
    processes: &mut Processes,
    (pid, stack): (u32, &Addresses),
    weight: f64,
    waiting: &mut StackCounts,
    monitors: &mut MonitorSums,
) {
    let Some(process) = processes.get(pid) else { return };
    let frames = process.frames(stack);
    monitors.add(process.name(), &frames, weight);
    waiting.add(process.name(), &frames, weight);
}

/// Returns the stacks with the largest sums. Each returned sum is multiplied by `factor`. If `instance_of` returns a
/// name for a stack's process, the stack begins with this name.
fn sums(counts: &StackCounts, factor: f64, instance_of: impl Fn(&str) -> Option<String>) -> Vec<StackSum> {
    let renamed = |stack: &str| {
        let (process, frames) = stack.split_once(';')?;
        Some(format!("{};{frames}", instance_of(process)?))
    };
    let sum = |(stack, weight): (&str, f64)| StackSum {
        stack: renamed(stack).unwrap_or_else(|| stack.into()),
        weight: weight * factor,
    };
    let mut sums: Vec<StackSum> = counts.stacks().map(sum).collect();
    sums.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    sums.truncate(MAX_STACKS);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_process_is_forgotten_but_not_the_stacks_of_its_threads() {
        let child = testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
        let (mut sampler, mut open, pid) = (StackSampler::new(), Processes::new(), child.pid());
        let running = |started_ticks| ProcessSample { pid, started_ticks, ..ProcessSample::default() };
        sampler.follow(&[running(1)], &mut open);
        let name = open.get(pid).unwrap().name().to_string();
        sampler.waiting.insert((pid, Addresses::default()), 1.0);
        drop(child);
        sampler.follow(&[running(2)], &mut open);
        assert_eq!((sampler.waiting.len(), sampler.followed[&pid]), (0, 2), "another process with the same ID");
        assert!(open.get(pid).is_none(), "closed");
        let (profile, _) = sampler.profile(&mut open, |_| None);
        assert_eq!(profile.waiting[0].stack, name);
    }

    #[test]
    fn stacks_of_a_process_with_an_ambiguous_name_begin_with_its_instance() {
        let mut counts = StackCounts::default();
        counts.add_folded("java (upstream);main".into(), 3.0);
        counts.add_folded("java;main".into(), 1.0);
        let sums = sums(&counts, 2.0, |process| (process == "java (upstream)").then(|| "java:8".into()));
        let sums: Vec<(&str, f64)> = sums.iter().map(|sum| (sum.stack.as_str(), sum.weight)).collect();
        assert_eq!(sums, [("java:8;main", 6.0), ("java;main", 2.0)]);
    }
}
