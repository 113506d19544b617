//! Counts the instructions of chosen threads, and of the threads that the chosen threads start later. The count of
//! instructions needs a hardware counter, which most virtual machines lack. If `perf_event_paranoid` is 2 or more,
//! instructions of the kernel are counted only for privileged users.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use super::attribute::{Counted, open_counter};
use crate::Result;

/// Counter of the instructions of a process.
#[derive(Debug)]
pub struct InstructionCounter(Vec<OwnedFd>);

impl InstructionCounter {
    /// Starts to count the instructions of threads. Processes that the threads start are not counted. Fails if this
    /// machine cannot count instructions, or if a thread belongs to another user.
    pub fn start(tids: impl IntoIterator<Item = u32>) -> Result<Self> {
        start(Counted::Instructions, tids)
    }

    /// Returns the number of instructions since the start; `None` if an event cannot be read.
    pub fn total(&self) -> Option<f64> {
        self.0.iter().map(read).sum()
    }
}

fn start(counted: Counted, tids: impl IntoIterator<Item = u32>) -> Result<InstructionCounter> {
    tids.into_iter().map(|tid| open_counter(counted, tid)).collect::<Result<_>>().map(InstructionCounter)
}

/// Returns true if this machine has a hardware counter of instructions that this user may use.
pub fn counts_instructions() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| open_counter(Counted::Instructions, 0).is_ok())
}

/// Returns the value of an event. If several events share a hardware counter, each event is measured only part of the
/// time. The value of an event that was measured for a part of the time is scaled up to the whole time.
fn read(event: &OwnedFd) -> Option<f64> {
    let mut bytes = [0; 24];
    let length = rustix::io::read(event, &mut bytes).ok()?;
    let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let [value, enabled_ns, running_ns] = [number(0)?, number(8)?, number(16)?].map(|n| n as f64);
    let scale = if running_ns > 0.0 { enabled_ns / running_ns } else { 1.0 };
    (length == bytes.len()).then_some(value * scale.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    fn burn(ms: u64) {
        let begin = crate::clock::thread_cpu_ns();
        while crate::clock::thread_cpu_ns() < begin + ms * 1_000_000 {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
    }

    /// Counts CPU time instead of instructions, because every machine can count CPU time. The CPU time events get the
    /// same flags as the instruction events.
    #[test]
    fn later_threads_count_and_later_processes_do_not() {
        let Ok(counter) = start(Counted::CpuTime, [tid()]) else { return };
        burn(10);
        std::thread::spawn(|| burn(20)).join().unwrap();
        let with_thread = counter.total().unwrap();
        assert!((29e6..90e6).contains(&with_thread), "{with_thread}");
        let used_ns = |program: &str| {
            let before = (counter.total().unwrap(), crate::clock::thread_cpu_ns());
            std::process::Command::new("sh").args(["-c", program]).status().unwrap();
            let own_ns = (crate::clock::thread_cpu_ns() - before.1) as f64;
            counter.total().unwrap() - before.0 - own_ns
        };
        let child_ns = used_ns("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
        assert!(child_ns < 15e6, "{child_ns}");
    }

    #[test]
    fn a_machine_counts_instructions_or_says_that_it_does_not() {
        let counter = InstructionCounter::start([tid()]);
        assert_eq!(counter.is_ok(), counts_instructions(), "{counter:?}");
        let Ok(counter) = counter else { return };
        burn(10);
        let first = counter.total().unwrap();
        burn(10);
        assert!(first > 1e6 && counter.total().unwrap() > 1.5 * first, "{first}");
    }
}
