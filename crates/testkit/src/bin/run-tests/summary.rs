//! Prints results for developers: each failure immediately, and the slow, skipped and failed tests at the end.

use std::time::{Duration, SystemTime};

use crate::job::Outcome;

/// Number of slow tests to list.
const SLOWEST: usize = 10;

/// Prints a failed test with its output.
pub(crate) fn print_failure(outcome: &Outcome) {
    if let Some(failure) = &outcome.failure {
        println!("FAILED {} ({:.1} s): {failure}", outcome.name, outcome.took.as_secs_f64());
    }
}

/// Prints the number of tests in a group, and the time that the group took. Prints nothing about an empty group.
pub(crate) fn print_group(name: &str, count: usize, took: Duration) {
    if count > 0 {
        println!("{count} tests {name}: {:.0} s", took.as_secs_f64());
    }
}

/// Writes the time of each test to `path`, the slowest first.
pub(crate) fn write_times(outcomes: &[Outcome], path: &str) -> std::io::Result<()> {
    let line = |outcome: &&Outcome| format!("{:.2}\t{}\n", outcome.took.as_secs_f64(), outcome.name);
    std::fs::write(path, slowest_first(outcomes).iter().map(line).collect::<String>())
}

fn slowest_first(outcomes: &[Outcome]) -> Vec<&Outcome> {
    let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
    sorted.sort_by_key(|outcome| std::cmp::Reverse(outcome.took));
    sorted
}

/// Prints the slowest tests, the reasons for skipped tests, the failed tests and the totals. `took` is the time that
/// the tests took. `since` is the time from 1970 to the start of the whole command, which includes the build.
pub(crate) fn print(outcomes: &[Outcome], took: Duration, since: Duration) {
    println!("\nSlowest tests:");
    for outcome in slowest_first(outcomes).iter().take(SLOWEST) {
        println!("{:8.1} s  {}", outcome.took.as_secs_f64(), outcome.name);
    }
    for line in outcomes.iter().flat_map(|outcome| &outcome.skips) {
        println!("{line}");
    }
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some());
    failed.clone().for_each(|outcome| println!("FAILED {}", outcome.name));
    let failed = failed.count();
    let skipped = outcomes.iter().filter(|outcome| outcome.failure.is_none() && !outcome.skips.is_empty()).count();
    let whole = (SystemTime::UNIX_EPOCH + since).elapsed().unwrap_or(took);
    println!(
        "The tests took {:.0} s; with formatting, lints and builds {:.0} s.",
        took.as_secs_f64(),
        whole.as_secs_f64()
    );
    println!("{} passed, {failed} failed, {skipped} skipped", outcomes.len() - failed - skipped);
}
