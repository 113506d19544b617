//! CPU work of a thread, which consists of iterations of a loop. The number of iterations per millisecond of CPU time
//! is measured before the workload starts. Each iteration writes a byte of a data page. If there is a code file, each
//! iteration also reads a byte of a code page.

use std::fs::File;

use serde::{Deserialize, Serialize};
use sys::clock::thread_cpu_ns;
use sys::map::{Map, PAGE_BYTES};

use super::deviate::Deviates;
use super::{ProcessSpec, Result, Spread, access};

/// Speed of this machine, and overhead of this program, measured before a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Loop iterations per millisecond of CPU time.
    pub loops_per_ms: f64,
    /// Overhead of this program per access in nanoseconds.
    pub access_ns: f64,
    /// Overhead of this program per cycle in nanoseconds, without the overhead of the accesses.
    pub cycle_ns: f64,
}

/// CPU work, and the pages that its loop iterations read and write.
pub(super) struct Burner {
    code: Option<Map>,
    data: Map,
    /// Byte that the loop iterations write. The byte depends on all bytes that the iterations read, so the compiler
    /// cannot remove the reads.
    sum: u8,
}

impl Burner {
    pub(super) fn new(process: &ProcessSpec) -> Result<Self> {
        let code = if process.code_file.is_empty() { None } else { map_code(&process.code_file)? };
        let bytes = process.data_pages.max(1) as usize * PAGE_BYTES;
        let refused = access("make", "data pages", "ask for fewer data_pages");
        let mut data = Map::private(bytes).map_err(|e| refused(e.into()))?;
        (0..bytes).step_by(PAGE_BYTES).for_each(|at| data.set(at, 1));
        Ok(Self { code, data, sum: 0 })
    }

    /// Runs `n` loop iterations.
    #[inline]
    pub(super) fn loops(&mut self, n: u64, code_page: Spread, data_page: Spread, deviates: &mut Deviates) {
        let code_pages = self.code.as_ref().map_or(1, |code| (code.len() / PAGE_BYTES).max(1) as u64);
        let pages = [code_pages, (self.data.len() / PAGE_BYTES) as u64];
        for _ in 0..n {
            let [code_at, at] = deviates.pair([code_page, data_page], pages).map(|page| page as usize * PAGE_BYTES);
            if let Some(code) = &self.code {
                self.sum = self.sum.wrapping_add(code.get(code_at));
            }
            self.sum = self.sum.wrapping_add(self.data.get(at)).wrapping_add(1);
            self.data.set(at, self.sum);
        }
    }
}

fn map_code(path: &str) -> Result<Option<Map>> {
    let refused = access("map", path, "name a readable file as code_file, or none");
    let file = File::open(path).map_err(&refused)?;
    let bytes = file.metadata().map_err(&refused)?.len() as usize;
    if bytes == 0 {
        return Ok(None);
    }
    Map::file(&file, bytes, false).map(Some).map_err(|e| refused(e.into()))
}

/// Measures the number of loop iterations per millisecond of CPU time. Uses the fastest of several short runs, because
/// disturbances only slow a run down.
pub(super) fn loops_per_ms() -> Result<f64> {
    const LOOPS: u64 = 20_000;
    let mut burner = Burner::new(&ProcessSpec::default())?;
    let mut deviates = Deviates::new(1);
    let run = |_| {
        let begin = thread_cpu_ns();
        burner.loops(LOOPS, Spread::default(), Spread::default(), &mut deviates);
        thread_cpu_ns() - begin
    };
    let best = (0..20).map(run).min().unwrap_or(1).max(1);
    Ok(LOOPS as f64 * 1e6 / best as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test checks that the duration of CPU work does not depend on the distribution of the page numbers.
    #[test]
    fn a_loop_over_random_pages_takes_about_as_long_as_a_calibrated_loop() {
        let process = ProcessSpec { data_pages: 2, ..ProcessSpec::default() };
        let mut burner = Burner::new(&process).unwrap();
        let mut deviates = Deviates::new(1);
        let mut cpu_ns = |spread: Spread| {
            let begin = thread_cpu_ns();
            burner.loops(20_000, spread, spread, &mut deviates);
            (thread_cpu_ns() - begin).max(1)
        };
        // The measurements with the two distributions alternate, so a disturbance of the machine slows both.
        let (mut still, mut spread) = (u64::MAX, u64::MAX);
        for _ in 0..20 {
            still = still.min(cpu_ns(Spread::default()));
            spread = spread.min(cpu_ns(Spread { mean: 1.0, deviation: 0.5 }));
        }
        let (still, spread) = (still as f64, spread as f64);
        assert!((0.4..2.5).contains(&(spread / still)), "{spread} ns against {still} ns");
    }
}
