//! Profile of the CPU time of processes: samples of all their threads at a fixed step of CPU time.

use std::collections::{HashMap, HashSet};
use std::fs;

use crate::counts::StackCounts;
use crate::processes::Processes;
use crate::unwind::Addresses;

/// Samples per second of one busy CPU. A prime, so that it does not step with timers of 50 Hz.
const MAX_RATE_HZ: u64 = 47;

/// Samples per second of all CPUs together. A sample costs about 40 µs of CPU time, so 60 of them take 0.24 % of a CPU
/// (measured by getrusage on a virtual machine: 37 to 52 µs).
const MAX_TOTAL_RATE_HZ: u64 = 60;

/// Maximum number of events, one per thread and CPU. Each is an open descriptor.
const MAX_EVENTS: usize = 4096;

/// Maximum number of different stacks that are kept until the end.
const MAX_STACKS: usize = 1 << 16;

/// Sampler of the CPU time of processes.
pub struct CpuStacks {
    sampler: sys::perf::CpuSampler,
    period_ns: u64,
    stacks: HashMap<(u32, Addresses), u64>,
    python: StackCounts,
    samples: u64,
    lost: u64,
}

/// Result of sampling.
#[derive(Clone, Debug, Default)]
pub struct CpuProfile {
    /// Stacks, weighted by samples.
    pub stacks: StackCounts,
    /// CPU time between two samples of a thread, in nanoseconds.
    pub period_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// Number of samples that the kernel had no room for.
    pub lost: u64,
}

impl Default for CpuStacks {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuStacks {
    /// Creates a sampler of no process.
    pub fn new() -> Self {
        let cpus = sys::perf::online_cpus();
        let rate = MAX_RATE_HZ.min(MAX_TOTAL_RATE_HZ / cpus.len().max(1) as u64).max(1);
        let period_ns = 1_000_000_000 / rate;
        Self {
            sampler: sys::perf::CpuSampler::new(period_ns, cpus),
            period_ns,
            stacks: HashMap::new(),
            python: StackCounts::default(),
            samples: 0,
            lost: 0,
        }
    }

    /// Returns an error if this user may not sample the user's own processes.
    pub fn allowed() -> sys::Result<()> {
        sys::perf::allowed()
    }

    /// Samples all threads of a process from now on, and those that they start later. Leaves out threads that ended, and
    /// all after the first 4,096 events.
    pub fn follow(&mut self, pid: u32) {
        for tid in threads(pid) {
            if self.sampler.events() >= MAX_EVENTS {
                return;
            }
            // A thread may have ended.
            let _ = self.sampler.add(tid);
        }
    }

    /// Takes the samples since the last call. Call it every 50 ms, or the kernel runs out of room on a busy CPU.
    pub fn poll(&mut self, processes: &mut Processes) {
        let (stacks, python, samples) = (&mut self.stacks, &mut self.python, &mut self.samples);
        self.lost += self.sampler.drain(|sample| {
            *samples += 1;
            let Some(process) = processes.get(sample.pid) else { return };
            if process.is_python()
                && let Some(frames) = process.python_stack(sample.tid)
            {
                python.add(process.name(), &frames, 1.0);
                return;
            }
            let stack = process.unwind_running(sample);
            let known = stacks.len() < MAX_STACKS;
            let key = (sample.pid, if known { stack } else { Addresses::default() });
            *stacks.entry(key).or_default() += 1;
        });
    }

    /// Forgets the samples until now.
    pub fn forget(&mut self) {
        self.stacks.clear();
        self.python = StackCounts::default();
        (self.samples, self.lost) = (0, 0);
    }

    /// Takes the last samples, and samples no process any more.
    pub fn stop(&mut self, processes: &mut Processes) {
        self.poll(processes);
        self.sampler = sys::perf::CpuSampler::new(self.period_ns, Vec::new());
    }

    /// Returns the number of samples until now.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Names all stacks until now.
    pub fn profile(&mut self, processes: &mut Processes) -> CpuProfile {
        self.poll(processes);
        let mut named = self.python.clone();
        let pids: HashSet<u32> = self.stacks.keys().map(|(pid, _)| *pid).collect();
        for pid in pids {
            processes.get(pid).into_iter().for_each(|process| process.refresh());
        }
        for ((pid, stack), count) in &self.stacks {
            let Some(process) = processes.get(*pid) else { continue };
            let frames = process.frames(stack);
            named.add(process.name(), &frames, *count as f64);
        }
        CpuProfile { stacks: named, period_ns: self.period_ns, samples: self.samples, lost: self.lost }
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let tids = entries.into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    tids.collect()
}
