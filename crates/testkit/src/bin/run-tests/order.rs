//! Order of the tests. The tests that took longest in the last run start first, so that all CPUs have work until the
//! end.

use std::collections::HashMap;

use crate::job::Job;

/// Seconds of the tests that take longest, as in the file with the times of the last run. The times in `long.txt` are
/// used in the first run, which has no file with times.
const LONG: &str = include_str!("long.txt");

/// Sorts tests by how long they took in the last run, the longest first. `times` is the file with the times of the last
/// run. New tests come before all others. If the file is missing, the tests that usually take longest come first.
pub(crate) fn longest_first(jobs: &mut [Job], times: &str) {
    let (text, unknown_s) = match std::fs::read_to_string(times) {
        Ok(text) => (text, f64::INFINITY),
        Err(_) => (LONG.to_owned(), 0.0),
    };
    let known: HashMap<&str, f64> = text.lines().filter_map(time).collect();
    let took_s = |job: &Job| known.get(job.name().as_str()).copied().unwrap_or(unknown_s);
    jobs.sort_by(|a, b| took_s(b).total_cmp(&took_s(a)));
}

/// Parses a line of the file with the times of the tests: a time in seconds, a tab and the name of a test.
fn time(line: &str) -> Option<(&str, f64)> {
    let (took_s, name) = line.split_once('\t')?;
    Some((name, took_s.parse().ok()?))
}
