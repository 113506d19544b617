//! CPU time for reading program files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sys::clock::thread_cpu_ns;

/// Sum of the CPU time that threads of loadline used to read program files, nanoseconds. All clones share one sum.
///
/// Each program file is read once, and each address is looked up once. The CPU time for reading program files does not
/// grow with the length of a sampling.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadingCost(Arc<AtomicU64>);

impl ReadingCost {
    /// Runs `read`, and adds its CPU time to the sum. Calls may be nested: the sum counts the inner call's time once.
    /// If several threads read files at once, the sum may be too small.
    pub(crate) fn count<T>(&self, read: impl FnOnce() -> T) -> T {
        let (sum_before, cpu_before) = (self.ns(), thread_cpu_ns());
        let result = read();
        let (inner, all) = (self.ns() - sum_before, thread_cpu_ns().saturating_sub(cpu_before));
        self.0.fetch_add(all.saturating_sub(inner), Ordering::Relaxed);
        result
    }

    /// Returns the sum so far, nanoseconds.
    pub(crate) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute_ns(ns: u64) {
        let until = thread_cpu_ns() + ns;
        while thread_cpu_ns() < until {}
    }

    #[test]
    fn nested_work_counts_once() {
        let cost = ReadingCost::default();
        let before = thread_cpu_ns();
        cost.clone().count(|| {
            compute_ns(1_000_000);
            cost.count(|| compute_ns(2_000_000));
        });
        let all = thread_cpu_ns() - before;
        assert!((3_000_000..=all).contains(&cost.ns()), "{} of {all}", cost.ns());
    }
}
