//! Checks that `compare` reports a difference between two live servers that differ, and no difference between equal
//! servers. Each server uses a known amount of CPU time per request. The servers take turns on one CPU.

use anyhow::{Context, Result};
use serde_json::Value;

use super::generator::json;
use crate::compare::Compared;
use crate::programs::{self, Server};

/// CPU time that the old server burns per request in addition to its normal work, microseconds.
const BURNS_US: u32 = 400;
/// Number of comparisons of two equal servers per round, so the benchmark's five rounds make twenty of these
/// comparisons.
const SAME_PER_ROUND: usize = 4;
/// Number of comparisons of two different servers per round.
const DIFFERENT_PER_ROUND: usize = 2;

/// Measures the false-alarm rate in percent: comparisons of equal servers with the verdict "faster" or "slower".
pub(crate) fn equal(rounds: usize) -> Result<Compared> {
    count_verdicts(SAME_PER_ROUND * rounds, BURNS_US, "20s", |c| ["faster", "slower"].contains(&word(&c["verdict"])))
}

/// Measures the percentage of comparisons that detect a server that uses 5 % more CPU time.
pub(crate) fn by_5_percent(rounds: usize) -> Result<Compared> {
    count_verdicts(DIFFERENT_PER_ROUND * rounds, BURNS_US + 20, "60s", |c| word(&c["verdict"]) == "slower")
}

/// Measures the percentage of comparisons that detect a server that uses 2 % more CPU time. A comparison detects the
/// difference if its verdict on the CPU time per request is right; the overall verdict does not count.
pub(crate) fn by_2_percent(rounds: usize) -> Result<Compared> {
    count_verdicts(DIFFERENT_PER_ROUND * rounds, BURNS_US + 8, "60s", |c| word(&cpu(c)["word"]) == "slower")
}

/// Makes `times` comparisons, and returns the percentage of comparisons for which `says` returns true. Within a
/// comparison, the two servers alternate from one measured window to the next.
fn count_verdicts(times: usize, new_us: u32, budget: &str, says: fn(&Value) -> bool) -> Result<Compared> {
    let (old, new) = (burning(BURNS_US)?, burning(new_us)?);
    let urls = [&old, &new].map(|s| format!("http://{}/", s.addr));
    let (mut said, mut ratios) = (0, Vec::new());
    for _ in 0..times {
        let comparison = json(&["compare", &urls[0], &urls[1], "--threshold", "1%", "--json", "--budget"], budget)?;
        said += usize::from(says(&comparison));
        ratios.push(cpu(&comparison)["ratio"].as_f64().context("no ratio of CPU time per request")?);
    }
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios.first().context("no comparison")?, ratios.last().context("no comparison")?);
    let more = format!("; CPU per request, new over old: {least:.3} to {most:.3}");
    Ok(Compared::percentage(said, times, &more))
}

fn burning(work_us: u32) -> Result<Server> {
    programs::serve("http", &["--option", &format!("work_us={work_us}")])
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the part of a comparison's JSON about the servers' CPU time per request.
fn cpu(comparison: &Value) -> &Value {
    let all = comparison["comparisons"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().find(|one| one["figure"] == "server CPU per request").unwrap_or(&Value::Null)
}
