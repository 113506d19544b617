//! Profile of the CPU time of processes: samples of all their threads at a fixed step of CPU time.

use std::collections::HashMap;
use std::fs;

use crate::counts::StackCounts;
use crate::processes::Processes;
use crate::unwind::Addresses;

/// Samples per second of one busy CPU. A prime, so that it does not step with timers of 100 Hz.
const MAX_RATE_HZ: u64 = 97;

/// Samples per second of all CPUs together. A sample costs about 20 µs of CPU time in the kernel and here, so 300 of them
/// stay below 1 % of a CPU.
const MAX_TOTAL_RATE_HZ: u64 = 300;

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

impl CpuStacks {
    /// Starts to sample all threads of `pids`. Fails if the kernel does not allow it.
    pub fn start(pids: &[u32]) -> sys::Result<Self> {
        sys::perf::allowed()?;
        let cpus = sys::perf::online_cpus();
        let rate = MAX_RATE_HZ.min(MAX_TOTAL_RATE_HZ / cpus.len().max(1) as u64).max(1);
        let period_ns = 1_000_000_000 / rate;
        let mut sampler = sys::perf::CpuSampler::new(period_ns, cpus);
        for tid in pids.iter().flat_map(|pid| threads(*pid)) {
            match sampler.add(tid) {
                Err(e) if sampler.events() == 0 && e != sys::Errno::SRCH => return Err(e),
                _ if sampler.events() >= MAX_EVENTS => break,
                _ => {}
            }
        }
        Ok(Self { sampler, period_ns, stacks: HashMap::new(), python: StackCounts::default(), samples: 0, lost: 0 })
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

    /// Returns the number of samples until now.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Ends sampling and names all stacks.
    pub fn finish(mut self, processes: &mut Processes) -> CpuProfile {
        self.poll(processes);
        let mut stacks = self.python;
        let pids: std::collections::HashSet<u32> = self.stacks.keys().map(|(pid, _)| *pid).collect();
        pids.iter().filter_map(|pid| processes.get(*pid).map(|p| p.refresh())).for_each(drop);
        for ((pid, stack), count) in &self.stacks {
            let Some(process) = processes.get(*pid) else { continue };
            let frames = process.frames(stack);
            stacks.add(process.name(), &frames, *count as f64);
        }
        CpuProfile { stacks, period_ns: self.period_ns, samples: self.samples, lost: self.lost }
    }
}

fn threads(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let tids = entries.into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    tids.collect()
}
