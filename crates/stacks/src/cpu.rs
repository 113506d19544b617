//! Profile of the CPU time of processes: each thread is sampled after a fixed amount of its CPU time.

mod bursts;
mod threads;

use std::collections::{BTreeSet, HashMap, HashSet};

use sys::clock::{monotonic_ns, thread_cpu_ns};

use self::bursts::{Cost, LOOK_NS, State, burst_period_ns};
use self::threads::Threads;
pub use self::threads::threads_of;
use crate::counts::StackCounts;
use crate::processes::Processes;
use crate::unwind::Addresses;

/// Maximum number of samples per second of one busy CPU. With a prime number, the samples do not coincide with 50 Hz
/// timers.
const MAX_RATE_HZ: u64 = 47;

/// Maximum number of samples per second of all CPUs together. A sample costs about 40 µs of CPU time (measured by
/// getrusage on a virtual machine: 37 to 52 µs). 60 samples per second therefore take 0.24 % of a CPU.
const MAX_TOTAL_RATE_HZ: u64 = 60;

/// Maximum number of open `perf` events. Each sampled thread has one `perf` event per CPU. Each `perf` event is an open
/// descriptor and takes about 10 µs to open.
const MAX_EVENTS: usize = 1024;

/// Maximum number of different stacks that the sampler keeps.
const MAX_STACKS: usize = 1 << 16;

/// Longest wait before the first burst of sampling in a measurement, nanoseconds. The first wait has a random length,
/// so bursts do not depend on the start of the measurement.
const FIRST_WAIT_NS: u64 = 100_000_000;

/// Sampler of the CPU time of processes.
pub struct CpuStacks {
    sampler: sys::perf::CpuSampler,
    /// True if the kernel samples all processes of the system. If `everything` is true, the sampler drops the samples
    /// of processes that are not in `followed`.
    everything: bool,
    followed: BTreeSet<u32>,
    state: State,
    /// Threads with open `perf` events, and the number of their context switches when the events were opened.
    open: Threads,
    /// CPU time that opening the `perf` events took, nanoseconds.
    opened_in_ns: u64,
    /// CPU time that a thread uses between two samples of its stack while `perf` events stay open, nanoseconds. In a
    /// burst (a short period with open `perf` events), the thread is sampled after less CPU time.
    usual_period_ns: u64,
    period_ns: u64,
    /// True if samples of a Python process were read.
    has_python: bool,
    /// True if a process was added after the `perf` events were opened, so its threads have no events yet.
    is_incomplete: bool,
    /// CPU time that each stack represents, nanoseconds.
    stacks: HashMap<(u32, Addresses), f64>,
    /// CPU time of stacks whose functions already have names: Python's stacks, and the stacks of ended processes.
    named: StackCounts,
    samples: u64,
    /// Number of samples taken since the `perf` events were opened.
    fresh: u64,
    lost: u64,
    /// Total time for which `perf` events were open, nanoseconds. While the events are open, the total does not yet
    /// include the time since they were opened.
    open_ns: u64,
}

/// Profile of the CPU time of the followed processes.
#[derive(Clone, Debug, Default)]
pub struct CpuProfile {
    /// Stacks, each with the number of CPUs that it used on average.
    pub stacks: StackCounts,
    /// Number of samples in the profile.
    pub samples: u64,
    /// Number of samples that the kernel dropped because its buffer was full.
    pub lost: u64,
}

impl Default for CpuStacks {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuStacks {
    /// Creates a sampler that samples no process yet.
    pub fn new() -> Self {
        let cpus = sys::perf::online_cpus();
        let rate = MAX_RATE_HZ.min(MAX_TOTAL_RATE_HZ / cpus.len().max(1) as u64).max(1);
        let usual_period_ns = 1_000_000_000 / rate;
        Self {
            sampler: sys::perf::CpuSampler::new(cpus),
            everything: false,
            followed: BTreeSet::new(),
            state: State::Closed { until_ns: 0 },
            open: Threads::default(),
            opened_in_ns: 0,
            usual_period_ns,
            period_ns: usual_period_ns,
            has_python: false,
            is_incomplete: false,
            stacks: HashMap::new(),
            named: StackCounts::default(),
            samples: 0,
            fresh: 0,
            lost: 0,
            open_ns: 0,
        }
    }

    /// Returns an error if the kernel does not allow this user to sample the user's own processes.
    pub fn allowed() -> sys::Result<()> {
        sys::perf::allowed()
    }

    /// Samples all threads of a process from now on, including threads that the process starts later.
    pub fn follow(&mut self, pid: u32) {
        self.is_incomplete |= self.followed.insert(pid);
    }

    /// Stops following processes that have ended. The stacks of ended processes stay in the profile and get their names
    /// now, because another process may get the same ID.
    pub fn forget_ended(&mut self, ended: &HashSet<u32>, processes: &mut Processes) {
        self.drain(processes);
        self.followed.retain(|pid| !ended.contains(pid));
        for ((pid, stack), weight) in self.stacks.extract_if(|(pid, _), _| ended.contains(pid)) {
            let Some(process) = processes.get(pid) else { continue };
            let frames = process.frames(&stack);
            self.named.add(process.name(), &frames, weight);
        }
    }

    /// Takes the samples since the last call, and opens or closes the `perf` events when this is due. Returns the time
    /// at which the next call is due, nanoseconds. If a call comes late while a CPU is busy, the kernel's buffer
    /// overflows and samples are lost.
    pub fn poll(&mut self, processes: &mut Processes) -> u64 {
        self.drain(processes);
        let now_ns = monotonic_ns();
        self.state = match self.state {
            State::Closed { until_ns } if now_ns >= until_ns && !self.followed.is_empty() => self.begin(now_ns),
            // `perf` events of whole CPUs do not slow the sampled threads, unlike events of threads, so their cost
            // needs no check.
            state @ State::Open { .. } if self.everything => state,
            state if state.is_check_due(now_ns, self.is_incomplete) => self.check(now_ns),
            state => state,
        };
        // Python's frames are read when the samples are read. Several samples of one look would show the same moment.
        let look_ns = if self.has_python { LOOK_NS.min(self.period_ns) } else { LOOK_NS };
        self.state.next_ns(monotonic_ns(), look_ns)
    }

    /// Begins to sample running code. If this user may sample all processes of the system, the kernel samples them all
    /// the time. Otherwise, the kernel samples only the followed threads, for a short burst.
    fn begin(&mut self, now_ns: u64) -> State {
        if self.samples_everything() {
            return State::open(now_ns, &Cost::default());
        }
        self.open_events(State::burst(now_ns))
    }

    /// Opens the `perf` events of all followed threads, for a burst or for a longer time.
    fn open_events(&mut self, state: State) -> State {
        let before = thread_cpu_ns();
        let most = MAX_EVENTS / self.sampler.cpus().max(1);
        self.open = Threads::of(&self.followed, most);
        let tids = self.open.tids();
        let is_burst = matches!(state, State::Burst { .. });
        self.period_ns = if is_burst { burst_period_ns(tids.len()) } else { self.usual_period_ns };
        for tid in tids {
            // Ignore an error, because the thread may have ended.
            let _ = self.sampler.add(tid, self.period_ns);
        }
        (self.opened_in_ns, self.fresh, self.is_incomplete) = (thread_cpu_ns() - before, 0, false);
        state
    }

    /// Closes the `perf` events. If the cost of the `perf` events allows them to stay open, opens them again for the
    /// threads that exist now.
    fn check(&mut self, now_ns: u64) -> State {
        let cost = self.end(now_ns);
        match cost.allows_always() {
            true => self.open_events(State::open(now_ns, &cost)),
            false => State::Closed { until_ns: now_ns + cost.pause_ns() },
        }
    }

    /// Closes the `perf` events and returns their costs.
    fn end(&mut self, now_ns: u64) -> Cost {
        let before = thread_cpu_ns();
        let open_ns = self.open_since_ns().map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        self.open_ns += open_ns;
        let switches = self.open.switches();
        self.sampler.clear();
        (self.everything, self.open) = (false, Threads::default());
        Cost { open_ns, switches, samples: self.fresh, own_ns: self.opened_in_ns + thread_cpu_ns() - before }
    }

    fn open_since_ns(&self) -> Option<u64> {
        match self.state {
            State::Closed { .. } => None,
            State::Burst { since_ns, .. } | State::Open { since_ns, .. } => Some(since_ns),
        }
    }

    /// Asks the kernel to sample all processes, if this user may do so. Sampling all processes does not slow down their
    /// context switches. Returns true if the kernel agrees.
    fn samples_everything(&mut self) -> bool {
        self.period_ns = self.usual_period_ns;
        self.everything = self.sampler.add_everything(self.period_ns).is_ok();
        if !self.everything {
            self.sampler.clear();
        }
        self.everything
    }

    /// Reads the samples that the kernel has taken since the last call, and adds them to the stacks.
    fn drain(&mut self, processes: &mut Processes) {
        let stands_for_ns = self.period_ns as f64 * self.open.of_one();
        let (everything, followed) = (self.everything, &self.followed);
        let is_wanted = |pid: u32| !everything || followed.contains(&pid);
        let (stacks, named, fresh) = (&mut self.stacks, &mut self.named, &mut self.fresh);
        let has_python = &mut self.has_python;
        let before = *fresh;
        self.lost += self.sampler.drain(|sample| {
            if !is_wanted(sample.pid) {
                return;
            }
            *fresh += 1;
            let Some(process) = processes.get(sample.pid) else { return };
            *has_python |= process.is_python();
            if let Some(frames) = process.python_frames_of(sample) {
                named.add(process.name(), &frames, stands_for_ns);
                return;
            }
            let stack = process.unwind_running(sample);
            let known = stacks.len() < MAX_STACKS;
            let key = (sample.pid, if known { stack } else { Addresses::default() });
            *stacks.entry(key).or_default() += stands_for_ns;
        });
        self.samples += *fresh - before;
    }

    /// Forgets all samples so far. The next burst begins after a random wait.
    pub fn forget(&mut self) {
        let now_ns = monotonic_ns();
        let _ = self.end(now_ns);
        self.state = State::Closed { until_ns: now_ns + now_ns % FIRST_WAIT_NS };
        self.stacks.clear();
        self.named = StackCounts::default();
        (self.samples, self.lost, self.open_ns) = (0, 0, 0);
    }

    /// Takes the last samples and stops sampling.
    pub fn stop(&mut self, processes: &mut Processes) {
        self.drain(processes);
        let _ = self.end(monotonic_ns());
        self.state = State::Closed { until_ns: u64::MAX };
    }

    /// Returns the number of samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the profile of all samples so far, with the names of the functions.
    pub fn profile(&mut self, processes: &mut Processes) -> CpuProfile {
        self.drain(processes);
        let open_ns = self.open_ns + self.open_since_ns().map_or(0, |since_ns| monotonic_ns() - since_ns);
        let cpus = 1.0 / (open_ns.max(1) as f64);
        let mut named = StackCounts::default();
        self.named.stacks().for_each(|(stack, weight)| named.add_folded(stack.into(), weight * cpus));
        let pids: HashSet<u32> = self.stacks.keys().map(|(pid, _)| *pid).collect();
        for pid in pids {
            processes.get(pid).into_iter().for_each(|process| process.refresh());
        }
        for ((pid, stack), weight) in &self.stacks {
            let Some(process) = processes.get(*pid) else { continue };
            let frames = process.frames(stack);
            named.add(process.name(), &frames, weight * cpus);
        }
        CpuProfile { stacks: named, samples: self.samples, lost: self.lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_process_is_forgotten_but_not_its_stacks() {
        let child = testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
        let (mut sampler, mut processes, pid) = (CpuStacks::new(), Processes::new(), child.pid());
        sampler.follow(pid);
        let name = processes.get(pid).unwrap().name().to_string();
        sampler.stacks.insert((pid, Addresses::default()), 1e9);
        drop(child);
        sampler.forget_ended(&HashSet::from([pid]), &mut processes);
        processes.close(pid);
        assert!(sampler.followed.is_empty() && sampler.stacks.is_empty());
        let profile = sampler.profile(&mut processes);
        assert_eq!(profile.stacks.stacks().map(|(stack, _)| stack).collect::<Vec<_>>(), [name]);
    }
}
