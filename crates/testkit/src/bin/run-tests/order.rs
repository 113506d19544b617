//! Order of the tests. The tests that took longest in the last run come first, so that all CPUs are busy to the end.

use std::collections::HashMap;

use crate::job::Job;

/// Sorts tests by their times in the last run, which the file at `times` lists. New tests come first. Without the file,
/// the order does not change.
pub(crate) fn longest_first(jobs: &mut [Job], times: &str) {
    let Ok(text) = std::fs::read_to_string(times) else { return };
    let known: HashMap<&str, f64> = text.lines().filter_map(time).collect();
    let took_s = |job: &Job| known.get(job.name().as_str()).copied().unwrap_or(f64::INFINITY);
    jobs.sort_by(|a, b| took_s(b).total_cmp(&took_s(a)));
}

/// Parses a line: seconds, a tab and a test's name.
fn time(line: &str) -> Option<(&str, f64)> {
    let (took_s, name) = line.split_once('\t')?;
    Some((name, took_s.parse().ok()?))
}
