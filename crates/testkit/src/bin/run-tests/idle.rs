//! Measures how much of the machine's CPU time is idle.

use std::time::{Duration, Instant};

/// Measures the machine's idle CPU time since the start of the measurement.
pub(crate) struct IdleMeter {
    begin: Instant,
    times: Option<CpuTimes>,
}

/// CPU times of all CPUs since the start of the machine, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CpuTimes {
    idle: u64,
    all: u64,
}

impl IdleMeter {
    /// Starts a measurement of idle CPU time.
    pub(crate) fn start() -> Self {
        Self { begin: Instant::now(), times: read() }
    }

    /// Returns the share of idle CPU time since the start of the measurement, and starts the next measurement. Returns
    /// `None` if the measurement has lasted less than `at_least`, or if the times cannot be read.
    pub(crate) fn share_after(&mut self, at_least: Duration) -> Option<f64> {
        if self.begin.elapsed() < at_least {
            return None;
        }
        let begin = std::mem::replace(self, Self::start()).times?;
        let end = self.times?;
        let all = end.all.saturating_sub(begin.all);
        #[allow(clippy::cast_precision_loss, reason = "ticks of a few seconds")]
        let share = end.idle.saturating_sub(begin.idle) as f64 / all.max(1) as f64;
        Some(share)
    }
}

fn read() -> Option<CpuTimes> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// Reads the first line of /proc/stat (proc_stat(5)). The first eight values are times of all CPUs; the fourth is idle
/// time, and the fifth is idle time while a disk works. The values after the eighth (times of guests) are already
/// contained in the first two.
fn parse(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    Some(CpuTimes { idle: ticks.get(3)? + ticks.get(4)?, all: ticks.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_all_times_are_read_and_other_text_is_not() {
        let stat = "cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(parse(stat), Some(CpuTimes { idle: 450, all: 531 }));
        assert_eq!(parse("cpu0 1 2 3 4 5\n"), None);
        assert_eq!(parse("cpu  1 2 3\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_short_measurement_has_no_result() {
        let mut meter = IdleMeter::start();
        assert_eq!(meter.share_after(Duration::from_secs(3600)), None);
        let share = meter.share_after(Duration::ZERO);
        assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{share:?}");
    }
}
