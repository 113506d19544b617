//! One thread of a workload: runs its cycles and measures their response times.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use sys::clock::{monotonic_ns, sleep_until_ns};

use super::access::Target;
use super::burn::{Burner, Calibration};
use super::deviate::Deviates;
use super::{Access, Result, ThreadSpec};

/// Results of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Recorded {
    /// Length of the measured part of the trial for this thread, nanoseconds.
    pub(super) total_ns: f64,
    /// Number of response times. A response time is the duration of a cycle without its think time and without this
    /// program's overhead.
    pub(super) count: u64,
    /// Sum of the response times, nanoseconds.
    pub(super) sum_ns: f64,
    /// Sum of the squares of the response times, square nanoseconds.
    pub(super) squares: f64,
    /// Minimum response time, nanoseconds.
    pub(super) min_ns: f64,
    /// Maximum response time, nanoseconds.
    pub(super) max_ns: f64,
}

impl Recorded {
    fn add(&mut self, ns: f64) {
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += ns;
        self.squares += ns * ns;
    }
}

pub(super) struct Worker<'a> {
    pub(super) spec: &'a ThreadSpec,
    pub(super) target: Target,
    pub(super) burner: Burner,
    pub(super) deviates: Deviates,
    pub(super) speed: Calibration,
    /// Index of the record that a sequential access uses next.
    next: u64,
}

impl<'a> Worker<'a> {
    pub(super) fn new(spec: &'a ThreadSpec, target: Target, burner: Burner, seed: u64, speed: Calibration) -> Self {
        Self { spec, target, burner, deviates: Deviates::new(seed), speed, next: 0 }
    }

    /// Runs cycles until the trial's time is over, then sets `stop`, which ends all threads. If another thread has
    /// already set `stop`, this thread ends early.
    pub(super) fn run(&mut self, seconds: f64, stop: &AtomicBool) -> Result<Recorded> {
        let begin = monotonic_ns();
        let (half, end) = (begin + (seconds * 5e8) as u64, begin + (seconds * 1e9) as u64);
        let mut recorded = Recorded::default();
        let mut first = None;
        let mut now = begin;
        while !stop.load(Relaxed) && now < end {
            let counts = now >= half;
            if counts {
                first.get_or_insert(now);
            }
            self.think(stop);
            let from = monotonic_ns();
            let accesses = self.accesses(stop)?;
            now = monotonic_ns();
            // A cycle that ended early because of `stop` has no response time.
            if let (true, Some(n)) = (counts, accesses) {
                let own = self.speed.cycle_ns + n as f64 * self.speed.access_ns;
                recorded.add(((now - from) as f64 - own).max(0.0));
            }
        }
        stop.store(true, Relaxed);
        recorded.total_ns = first.map_or(0.0, |first| (now - first) as f64);
        Ok(recorded)
    }

    fn think(&mut self, stop: &AtomicBool) {
        let ms = self.deviates.draw(self.spec.think_ms);
        let until = monotonic_ns() + (ms * 1e6) as u64;
        let piece = Duration::from_millis(50).as_nanos() as u64;
        while ms > 0.0 && monotonic_ns() < until && !stop.load(Relaxed) {
            sleep_until_ns(until.min(monotonic_ns() + piece));
        }
    }

    /// Runs the accesses and the CPU work of one cycle. Returns the number of accesses, or `None` if the cycle ended
    /// early because of `stop`.
    fn accesses(&mut self, stop: &AtomicBool) -> Result<Option<u64>> {
        let n = self.deviates.draw(self.spec.cycle_reads).round() as u64;
        for _ in 0..n {
            if stop.load(Relaxed) {
                return Ok(None);
            }
            self.access()?;
            let loops = self.deviates.draw(self.spec.cpu_ms) * self.speed.loops_per_ms;
            self.burner.loops(loops as u64, self.spec.code_page, self.spec.data_page, &mut self.deviates);
        }
        Ok(Some(n))
    }

    fn access(&mut self) -> Result<()> {
        let mut record = match self.spec.access {
            Access::Random => self.deviates.below(self.spec.seek_records, self.target.records()),
            Access::Sequential => self.take_next(),
        };
        let mut before = None;
        for action in self.spec.actions.bytes() {
            if before.is_some_and(|b| b != b'R' || action != b'W') {
                record = self.following(record);
            }
            match action {
                b'W' => self.target.write(record)?,
                _ => self.target.read(record)?,
            }
            before = Some(action);
        }
        Ok(())
    }

    fn take_next(&mut self) -> u64 {
        let record = self.next;
        self.next = (record + 1) % self.target.records();
        record
    }

    /// Returns the record after `record`, for an access to several records. A random access goes on with the next
    /// record of the file, and a sequential access with the thread's next record.
    fn following(&mut self, record: u64) -> u64 {
        match self.spec.access {
            Access::Sequential => self.take_next(),
            Access::Random => (record + 1) % self.target.records(),
        }
    }
}

/// Measures the time that this program itself adds to each access and to each cycle. During this measurement, accesses
/// do nothing.
pub(super) fn measure_overhead(loops_per_ms: f64) -> Result<Calibration> {
    let zero = Calibration { loops_per_ms, access_ns: 0.0, cycle_ns: 0.0 };
    let cost = |reads: f64| -> Result<f64> {
        let spec = ThreadSpec { cycle_reads: super::Spread { mean: reads, deviation: 0.0 }, ..ThreadSpec::default() };
        let burner = Burner::new(&super::ProcessSpec::default())?;
        let mut worker = Worker::new(&spec, Target::nothing(), burner, 1, zero);
        let stop = AtomicBool::new(false);
        let mut best = u64::MAX;
        for _ in 0..50 {
            let begin = monotonic_ns();
            worker.accesses(&stop)?;
            best = best.min(monotonic_ns() - begin);
        }
        Ok(best as f64)
    };
    let (one, many) = (cost(1.0)?, cost(1001.0)?);
    let access_ns = ((many - one) / 1000.0).max(0.0);
    Ok(Calibration { loops_per_ms, access_ns, cycle_ns: (one - access_ns).max(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, ProcessSpec, Spread};

    fn worker(spec: &ThreadSpec) -> Worker<'_> {
        let burner = Burner::new(&ProcessSpec::default()).unwrap();
        let speed = Calibration { loops_per_ms: 1000.0, access_ns: 0.0, cycle_ns: 0.0 };
        Worker::new(spec, Target::open(spec).unwrap(), burner, 1, speed)
    }

    fn file(bytes: usize) -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        std::fs::write(file.path(), vec![3; bytes]).unwrap();
        let path = file.path().display().to_string();
        (file, path)
    }

    #[test]
    fn every_mode_reads_and_writes_the_same_records() {
        for mode in [Mode::Buffered, Mode::Mapped, Mode::Unbuffered] {
            let (_keep, path) = file(4 * 4096);
            let spec = ThreadSpec {
                file: path,
                mode,
                actions: "RW".into(),
                access: Access::Sequential,
                ..ThreadSpec::default()
            };
            let mut worker = worker(&spec);
            assert_eq!(worker.target.records(), 4);
            (0..4).for_each(|_| worker.access().unwrap());
            assert_eq!(worker.next, 0, "from the end back to the beginning; the write stays on the record read");
        }
    }

    #[test]
    fn only_the_second_half_is_recorded_and_the_first_thread_ends_all() {
        let (_keep, path) = file(8192);
        let spec = ThreadSpec {
            file: path,
            cycle_reads: Spread { mean: 10.0, deviation: 0.0 },
            think_ms: Spread { mean: 2.0, deviation: 0.5 },
            ..ThreadSpec::default()
        };
        let stop = AtomicBool::new(false);
        let (meter, begin) = (sys::hiccups::HiccupMeter::start().unwrap(), std::time::Instant::now());
        let recorded = worker(&spec).run(1.0, &stop).unwrap();
        let took_ns = begin.elapsed().as_nanos() as f64;
        let stood_ns: f64 = meter.end().iter().map(|pause| pause.ns() as f64).sum();
        assert!(stop.load(Relaxed));
        // If the thread gets no CPU in the middle of the trial, its measurement of the second half begins late and is
        // shorter.
        let min_ns = (400e6 - stood_ns).max(0.0);
        assert!((min_ns..=took_ns - 500e6).contains(&recorded.total_ns), "{recorded:?}, stood still {stood_ns} ns");
        // The machine may slow one access of the test, which does not change the minimum response time.
        assert!(stood_ns > 300e6 || recorded.count > 5 && recorded.min_ns < 2e6, "{recorded:?}");
        assert!(recorded.min_ns <= recorded.max_ns);
        assert_eq!(worker(&spec).run(5.0, &stop).unwrap().count, 0, "stopped before it began");
    }
}
