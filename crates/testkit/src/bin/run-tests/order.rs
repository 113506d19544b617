//! Order of the tests. The tests that took longest in the last run start first, so that all CPUs have work until the
//! end.

use std::collections::HashMap;

use crate::job::Job;

/// Sorts tests by how long they took in the last run, the longest first. `times` is the file with the times of the last
/// run. New tests come before all others. If the file is missing, the order does not change.
pub(crate) fn longest_first(jobs: &mut [Job], times: &str) {
    let Ok(text) = std::fs::read_to_string(times) else { return };
    let known: HashMap<&str, f64> = text.lines().filter_map(time).collect();
    let took_s = |job: &Job| known.get(job.name().as_str()).copied().unwrap_or(f64::INFINITY);
    jobs.sort_by(|a, b| took_s(b).total_cmp(&took_s(a)));
}

/// Parses a line of the file with the times of the tests: a time in seconds, a tab and the name of a test.
fn time(line: &str) -> Option<(&str, f64)> {
    let (took_s, name) = line.split_once('\t')?;
    Some((name, took_s.parse().ok()?))
}
