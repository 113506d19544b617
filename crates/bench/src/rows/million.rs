//! A million connections of echo that are held at the same time: `lab connections`.

use anyhow::{Context, Result};
use serde_json::Value;

use super::generator::number;
use crate::compare::Compared;
use crate::programs;

const CONNECTIONS: &str = "connections=1000000";

/// User memory of a connection on the side that takes more, bytes; what else was seen in the note. Once: it takes minutes.
pub(crate) fn memory(_rounds: usize) -> Result<Compared> {
    let mut command = std::process::Command::new(programs::loadline()?);
    command.args(["lab", "connections", "--json", "--set", CONNECTIONS]);
    // 1 says that a check failed, which the goal says, too.
    let text = programs::output_of(&mut command, &[0, 1]).context("there may be no room for it: run it by hand")?;
    let run: Value = serde_json::from_str(&text)?;
    let trial = run["trials"].as_array().and_then(|trials| trials.last()).context("the run has no trial")?;
    let of = |name: &str| number(&trial["axes"], name);
    let (client, server) = (of("client_memory_per_connection_bytes")?, of("memory_per_connection_bytes")?);
    let note = format!(
        "{:.0} held by {:.0} processes a side, all up in {:.1} s; bytes each: generator {client:.0}, server {server:.0}, kernel \
         {:.0}; {:.0} messages/s, p50 {:.0} us, p99 {:.0} us",
        of("held")?,
        of("processes")?,
        of("opened_s")?,
        of("kernel_memory_per_connection_bytes")?,
        number(trial, "completed_rate")?,
        number(&trial["latency_us"], "p50")?,
        number(&trial["latency_us"], "p99")?,
    );
    Ok(Compared { ours: vec![client.max(server)], unit: "B", note, ..Compared::default() })
}
