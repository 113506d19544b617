//! A comparison (`loadline arena`) of the ten servers in `examples/arena`: its duration, and the number of servers that
//! get a rank.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::Shared;
use crate::compare::Compared;
use crate::programs;

/// Number of servers in the arena file.
const SERVERS: usize = 10;
/// Time budget for all measurements. The goal for the whole command is ten minutes, so two minutes remain for building
/// and starting the servers.
const BUDGET: &str = "8m";

/// Duration of the comparison in seconds, and its result as JSON. All rows and rounds share one comparison, because a
/// comparison takes minutes.
static ARENA: Shared<(f64, Value)> = Shared::new();

/// Measures the duration of the whole command `loadline arena` in seconds.
pub(crate) fn seconds(_rounds: usize) -> Result<Compared> {
    let (elapsed_s, result) = compared()?;
    Ok(Compared::single(elapsed_s, "s", noise(&result)))
}

/// Counts the servers that get a rank.
pub(crate) fn ranked(_rounds: usize) -> Result<Compared> {
    let (_, result) = compared()?;
    let (ranked, note) = ranks(&result);
    Ok(Compared::single(ranked as f64, "", note))
}

fn compared() -> Result<(f64, Value)> {
    ARENA.get_or_measure(1, compare)
}

fn compare() -> Result<(f64, Value)> {
    let (file, dir) = (example(), tempfile::tempdir()?);
    let begin = Instant::now();
    let mut command = Command::new(programs::loadline()?);
    command.arg("arena").arg(&file).args(["--budget", BUDGET, "--json", "--out"]).arg(dir.path().join("out"));
    let text = programs::output(&mut command)?;
    let elapsed_s = begin.elapsed().as_secs_f64();
    let result: Value = serde_json::from_str(&text).context("arena --json did not print JSON alone")?;
    let servers = cells(&result).len();
    ensure!(servers == SERVERS, "{} has {servers} servers instead of {SERVERS}", file.display());
    Ok((elapsed_s, result))
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arena/arena.toml")
}

fn cells(result: &Value) -> &[Value] {
    result["cells"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the number of servers with a rank, and a text that states each server's rank, or the reason why the server
/// has no rank.
fn ranks(result: &Value) -> (usize, String) {
    let words = |cell: &Value| {
        let place = cell["group"].as_u64().map(|group| group.to_string());
        let place = place.unwrap_or_else(|| cell["refused_kind"].as_str().unwrap_or("no rank").into());
        format!("{} {place}", cell["entry"].as_str().unwrap_or_default())
    };
    let ranked = cells(result).iter().filter(|cell| cell["group"].is_u64()).count();
    (ranked, cells(result).iter().map(words).collect::<Vec<_>>().join(", "))
}

/// Describes the difference that the comparison found between two starts of the same server under the first load.
fn noise(result: &Value) -> String {
    let noise = &result["noise"][0];
    let percent = |end: &str| 100.0 * (noise["ratio"][end].as_f64().unwrap_or(f64::NAN) - 1.0);
    let tied = if noise["tied"] == true { "a tie" } else { "no tie" };
    format!("A/A pair: {:+.1} % ({:+.1} to {:+.1}), {tied}", percent("value"), percent("low"), percent("high"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_has_ten_servers() {
        let text = std::fs::read_to_string(example()).unwrap();
        let plan = run::ArenaPlan::from_toml("arena.toml", &text).unwrap();
        assert_eq!((plan.entries.len(), plan.profiles.len()), (SERVERS, 1));
    }

    #[test]
    fn ranks_and_noise_are_told() {
        let cells = json!([{"entry": "a", "group": 1}, {"entry": "b", "group": null, "refused_kind": "failed"}]);
        let noise_row = json!([{"tied": true, "ratio": {"value": 1.01, "low": 0.99, "high": 1.03}}]);
        let result = json!({"cells": cells, "noise": noise_row});
        assert_eq!(ranks(&result), (1, "a 1, b failed".to_owned()));
        assert_eq!(noise(&result), "A/A pair: +1.0 % (-1.0 to +3.0), a tie");
    }
}
