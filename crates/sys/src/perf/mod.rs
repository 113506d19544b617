//! Samples of running code. The kernel's `perf` events take a sample after a fixed amount of each thread's CPU time. A
//! sample has the user registers and a copy of the top of the stack. No special right is needed for the user's own
//! processes as long as `perf_event_paranoid` is at most 2. Source: perf_event_open(2).

mod attribute;
mod instructions;
mod record;
mod ring;

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

pub use instructions::{InstructionCounter, counts_instructions};
pub use record::{CpuSample, REGISTER_COUNT, SAMPLED_STACK_BYTES};

use crate::{Errno, Result};
use attribute::Target;
use ring::Ring;

/// Sampler of the CPU time of chosen threads and of threads that they start later, or of all threads.
///
/// At each context switch of a sampled thread, the kernel does extra work for about 2.6 µs. While a thread's event is
/// disabled, the kernel's extra work at a context switch takes only a third of 2.6 µs. After [`Self::clear`], the
/// kernel does no extra work at context switches.
pub struct CpuSampler {
    cpus: Vec<u32>,
    rings: BTreeMap<u32, Ring>,
    events: Vec<OwnedFd>,
    buffer: Vec<u8>,
}

impl CpuSampler {
    /// Creates a sampler for the given CPUs, which does not sample any thread yet.
    pub fn new(cpus: Vec<u32>) -> Self {
        Self { cpus, rings: BTreeMap::new(), events: Vec::new(), buffer: Vec::new() }
    }

    /// Returns the number of CPUs of this sampler.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Starts to sample thread `tid`. On each CPU of the sampler, the kernel takes a sample after every `period_ns` of
    /// the thread's CPU time.
    pub fn add(&mut self, tid: u32, period_ns: u64) -> Result<()> {
        self.open(Target::Thread(tid), period_ns)
    }

    /// Starts to sample all threads of the system. Each CPU takes a sample after every `period_ns` of its busy time.
    /// Because threads get no `perf` events of their own, their context switches do not become slower. Needs
    /// CAP_PERFMON, or a `perf_event_paranoid` of at most 0.
    pub fn add_everything(&mut self, period_ns: u64) -> Result<()> {
        self.open(Target::Everything, period_ns)
    }

    /// Ends the sampling of all threads and drops the samples that were not read. Closes all `perf` events. As long as
    /// any `perf` event of the system is open, context switches take longer for each thread that once had an event.
    pub fn clear(&mut self) {
        self.events.clear();
        self.rings.clear();
    }

    fn open(&mut self, target: Target, period_ns: u64) -> Result<()> {
        for cpu in self.cpus.clone() {
            let event = attribute::open(target, cpu, period_ns)?;
            match self.rings.get(&cpu) {
                Some(ring) => ring.take_output_of(&event)?,
                None => drop(self.rings.insert(cpu, Ring::new(event.as_raw_fd())?)),
            }
            self.events.push(event);
        }
        Ok(())
    }

    /// Passes each new sample to `each`. Returns the number of samples that the kernel dropped because this method was
    /// called too rarely.
    pub fn drain(&mut self, mut each: impl FnMut(&CpuSample<'_>)) -> u64 {
        let mut lost = 0;
        for ring in self.rings.values_mut() {
            ring.take(&mut self.buffer);
            lost += record::parse(&self.buffer, &mut each);
        }
        lost
    }
}

/// Returns the numbers of the CPUs that are online.
pub fn online_cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Returns an error if this user may not sample the user's own threads.
pub fn allowed() -> Result<()> {
    match attribute::open(Target::Caller, u32::MAX, 1_000_000_000) {
        Ok(_) => Ok(()),
        Err(Errno::SRCH) => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_thread_is_sampled_at_its_step() {
        if allowed().is_err() {
            return;
        }
        let cpus = online_cpus();
        let mut sampler = CpuSampler::new(cpus);
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        sampler.add(tid, 1_000_000).unwrap();
        let before = crate::clock::thread_cpu_ns();
        let (mut x, mut samples, mut lost) = (1_u64, 0, 0);
        while crate::clock::thread_cpu_ns() < before + 40_000_000 {
            for _ in 0..100_000 {
                x = std::hint::black_box(x.wrapping_mul(3));
            }
            lost += sampler.drain(|s| {
                assert_eq!((s.pid, s.tid), (std::process::id(), tid));
                assert_eq!(s.stack.len() % 8, 0);
                samples += 1;
            });
        }
        assert!(samples > 0 && samples + lost <= 60, "{samples} samples, {lost} lost");
    }
}
