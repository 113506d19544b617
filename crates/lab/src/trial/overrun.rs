//! Warning about a run that took longer than its budget, with the reason.

use run::number::prose::figure;

/// Share of the budget by which a run may exceed the budget without a warning.
const ALLOWED_SHARE: f64 = 0.05;
/// Minimum share of the excess time that this thread waited for a CPU if the warning names this wait as the cause.
const EXPLAINED_SHARE: f64 = 0.5;

/// Returns the sentence about a run that exceeded its budget, and `None` for a run within its budget. `waited_s` is the
/// time for which this thread waited for a CPU.
pub(crate) fn sentence(elapsed_s: f64, budget_s: f64, waited_s: Option<f64>) -> Option<String> {
    if elapsed_s <= (1.0 + ALLOWED_SHARE) * budget_s {
        return None;
    }
    let took = format!("the run took {} s instead of {} s", figure(elapsed_s), figure(budget_s));
    let waited = waited_s.filter(|waited_s| *waited_s >= EXPLAINED_SHARE * (elapsed_s - budget_s));
    Some(match waited {
        Some(waited_s) => format!(
            "{took}: loadline itself waited {} s for a CPU, because other programs took all of them; stop these, or give loadline a CPU of its own",
            figure(waited_s)
        ),
        None => took,
    })
}

/// Returns the time for which this thread waited for a CPU, seconds; `None` if the kernel does not report this time.
pub(crate) fn waited_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    waited_of(&text)
}

/// Reads the second number of `schedstat`: nanoseconds for which the thread was ready to run but did not run.
fn waited_of(schedstat: &str) -> Option<f64> {
    let ns: u64 = schedstat.split_whitespace().nth(1)?.parse().ok()?;
    Some(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observed on a real machine with three programs of nice -20 in loadline's own session: loadline got 19 ms of CPU
    /// time in 30 s.
    #[test]
    fn a_run_that_got_no_cpu_says_so_and_one_within_its_budget_says_nothing() {
        assert_eq!(sentence(15.7, 15.0, Some(9.0)), None);
        let starved = sentence(33.3, 15.0, Some(27.8)).unwrap();
        assert!(starved.contains("33.3 s instead of 15 s") && starved.contains("waited 27.8 s for a CPU"), "{starved}");
        let other = sentence(33.3, 15.0, Some(2.0)).unwrap();
        assert!(!other.contains("CPU"), "{other}");
        assert_eq!(sentence(33.3, 15.0, None), Some(other));
    }

    #[test]
    fn the_time_waited_is_the_second_number_of_schedstat() {
        assert_eq!(waited_of("19000000 27800000000 351\n"), Some(27.8));
        assert_eq!((waited_of(""), waited_of("1 x 3")), (None, None));
    }
}
