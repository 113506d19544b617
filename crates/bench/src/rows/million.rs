//! A million echo connections held at the same time (`lab connections`).

use anyhow::{Context, Result};
use serde_json::Value;

use super::generator::number;
use super::shared::Shared;
use crate::compare::Compared;
use crate::programs;

const CONNECTIONS: &str = "connections=1000000";
/// Number of messages per second over all connections.
const RATE: f64 = 10_000.0;

/// Last trial (one load) of the experiment. All rows of this file share one measurement, because a measurement takes
/// minutes.
static HELD: Shared<Value> = Shared::new();

fn held(rounds: usize) -> Result<Value> {
    HELD.get_or_measure(rounds, || {
        let mut command = std::process::Command::new(programs::loadline()?);
        command.args(["lab", "connections", "--json", "--set", CONNECTIONS]);
        // Exit status 1 means that a check of the experiment failed. The rows of this file also use the result of a run
        // with a failed check, because the goals of the rows then show the failure.
        let text = programs::output_of(&mut command, &[0, 1]).context("there may be no room for it: run it by hand")?;
        let run: Value = serde_json::from_str(&text)?;
        run["trials"].as_array().and_then(|trials| trials.last()).cloned().context("the run has no trial")
    })
}

/// Measures the resident memory of the generator per connection, bytes.
pub(crate) fn generator_memory(rounds: usize) -> Result<Compared> {
    let trial = held(rounds)?;
    let axis = |name: &str| number(&trial["axes"], name);
    let note = format!(
        "{:.0} held by {:.0} processes a side; kernel {:.0} B each",
        axis("held")?,
        axis("processes")?,
        axis("kernel_memory_per_connection_bytes")?,
    );
    Ok(Compared::single(axis("client_memory_per_connection_bytes")?, "B", note))
}

/// Measures the resident memory of the server per connection, bytes.
pub(crate) fn server_memory(rounds: usize) -> Result<Compared> {
    Ok(Compared::single(number(&held(rounds)?["axes"], "memory_per_connection_bytes")?, "B", ""))
}

/// Measures the seconds until all connections are open.
pub(crate) fn opened(rounds: usize) -> Result<Compared> {
    Ok(Compared::single(number(&held(rounds)?["axes"], "opened_s")?, "s", ""))
}

/// Measures the number of answers per second, as a share of the messages offered per second.
pub(crate) fn answered(rounds: usize) -> Result<Compared> {
    let trial = held(rounds)?;
    let latency = |name: &str| number(&trial["latency_us"], name);
    let note = format!("p50 {:.0} us, p99 {:.0} us", latency("p50")?, latency("p99")?);
    Ok(Compared::single(number(&trial, "completed_rate")? / RATE, "", note))
}
