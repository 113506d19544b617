//! Rows about the event API. Some rows measure how the time of a call grows with idle (cold) connections. Other rows
//! measure the library's overhead, and the cost of an io_uring event relative to epoll. All rows use one run of the
//! experiment `lab event-api`. The experiment measures the compared variants alternately. Each row of this file only
//! reads one result (check) of the experiment.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::Shared;
use crate::compare::Compared;
use crate::programs;

/// Run of the experiment, which all rows of this file share.
static RUN: Shared<Value> = Shared::new();

/// Measures how much longer an epoll call takes with 18,000 idle (cold) connections than without idle connections, as a
/// share. The result is 0 if the 95 % interval of the slope contains zero.
pub(crate) fn epoll_slope(rounds: usize) -> Result<Compared> {
    of_check(rounds, "epoll: growth of a call from", "share")
}

/// Measures how much longer an io_uring call takes with 18,000 idle (cold) connections than without idle connections,
/// as a share.
pub(crate) fn uring_slope(rounds: usize) -> Result<Compared> {
    of_check(rounds, "uring: growth of a call from", "share")
}

/// Measures how much longer a poll call takes with 18,000 idle (cold) connections than without idle connections, as a
/// share. The goal of the row is a minimum, not a maximum, because poll looks at all connections in each call.
pub(crate) fn poll_slope(rounds: usize) -> Result<Compared> {
    of_check(rounds, "poll: growth of a call from", "share")
}

/// Measures how much longer a select call takes with 18,000 idle (cold) connections than without idle connections, as a
/// share. The goal of the row is a minimum, not a maximum, because select looks at all connections in each call.
pub(crate) fn select_slope(rounds: usize) -> Result<Compared> {
    of_check(rounds, "select: growth of a call from", "share")
}

/// Measures the overhead of loadline's event library, as a share of the time of a call.
pub(crate) fn share(rounds: usize) -> Result<Compared> {
    of_check(rounds, "the library's own share", "share")
}

/// Measures the cost of an event with io_uring, divided by the cost of an event with epoll. Both io_uring and epoll use
/// arrays of 64 events.
pub(crate) fn uring_event(rounds: usize) -> Result<Compared> {
    of_check(rounds, "uring (", "ratio")
}

fn of_check(rounds: usize, begins: &str, unit: &'static str) -> Result<Compared> {
    let run = RUN.get_or_measure(rounds, || run(rounds))?;
    let checks = run["findings"]["checks"].as_array().context("the run has no checks")?;
    let found = checks.iter().find(|c| c["name"].as_str().is_some_and(|name| name.starts_with(begins)));
    let check = found.with_context(|| format!("the run has no check that begins with {begins:?}"))?;
    let value = check["value"].as_f64().context("the check has no value")?;
    Ok(Compared::single(value, unit, check["name"].as_str().unwrap_or_default()))
}

/// Runs the experiment without pinning it to a CPU, because the experiment needs two CPUs: one for the measured code
/// and one for everything else.
fn run(rounds: usize) -> Result<Value> {
    let mut command = Command::new(programs::loadline()?);
    let sets = ["figures=false", "across=0", "cold=[0,750,4500,9000,13500,18000]", &format!("rounds={rounds}")];
    command.args(["lab", "event-api", "--json"]);
    for set in sets {
        command.args(["--set", set]);
    }
    // If a check fails, the command ends with an exit status other than 0, but still prints the run.
    let output = command.stderr(std::process::Stdio::null()).output()?;
    serde_json::from_slice(&output.stdout).context("loadline lab event-api --json did not print a run")
}
