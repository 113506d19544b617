//! What other hosts cost: how far the windows of two of them lie apart at a delay, what twelve agents add to a run, and what a
//! sample of the observer on another host takes. The hosts are this machine behind engines that only start or delay.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::generator::{first_trial, json, number};
use crate::compare::Compared;
use crate::programs::{self, Server};

/// An engine that only starts the program.
pub(super) const HERE: &str = "env LOADLINE_HOST={host}";
/// Agents whose begin is timed.
pub(super) const AGENTS: &str = "12";

/// A run of `load` against nginx with generators or the server behind an engine.
pub(super) fn load(nginx: &Server, via: &str, more: &[&str], duration: &str) -> Result<Value> {
    load_of(nginx, (via, &programs::loadline()?.display().to_string()), more, duration)
}

/// The same by an engine, and the program's path behind it.
pub(super) fn load_of(nginx: &Server, (via, path): (&str, &str), more: &[&str], duration: &str) -> Result<Value> {
    let url = format!("http://{}/file", nginx.addr);
    let mut args = vec!["load", &url, "--json", "--connections", "24", "--at-rest", "0", "--via", via];
    args.extend(["--agent-path", path]);
    args.extend(more);
    args.push("--duration");
    json(&args, duration)
}

/// Microseconds between the windows of two agents, one of them this many milliseconds away (there and back).
fn apart(rounds: usize, hosts: &str) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let via = format!("{} delayed {{host}}", std::env::current_exe()?.display());
    let mut compared = Compared { unit: "us", ..Compared::default() };
    for _ in 0..rounds {
        let run = load(&nginx, &via, &["--client-hosts", hosts, "--warmup", "500ms"], "1s")?;
        let apart = &first_trial(&run)?["measured"]["apart"];
        compared.ours.push(number(apart, "begin_us")?.max(number(apart, "end_us")?));
        compared.note = format!("clocks known to {:.0} us", number(apart, "clock_us")?);
    }
    Ok(compared)
}

/// No delay.
pub(crate) fn apart_0(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,00")
}

/// 20 ms.
pub(crate) fn apart_20(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,20")
}

/// 100 ms.
pub(crate) fn apart_100(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,100")
}

/// Seconds that a run with twelve agents takes longer than one with a single agent: their start, their clocks, their end.
pub(crate) fn twelve(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let mut compared = Compared { unit: "s", ..Compared::default() };
    let took = |agents: &str| -> Result<f64> {
        let run = load(&nginx, HERE, &["--client-hosts", "h", "--warmup", "0", "--agents-per-host", agents], "500ms")?;
        number(&run, "elapsed_s")
    };
    for _ in 0..rounds {
        compared.ours.push(took(AGENTS)? - took("1")?);
    }
    Ok(compared)
}

/// CPU time of a sample by the observer on the server's host, microseconds.
pub(crate) fn sample(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let mut compared = Compared { unit: "us", ..Compared::default() };
    for _ in 0..rounds {
        let run = load(&nginx, HERE, &["--server-host", "s", "--interval", "100ms"], "2s")?;
        let recording = &first_trial(&run)?["server"]["recording"];
        let (cpu_us, samples) = (grown(recording, "probe.cpu")?, grown(recording, "probe.samples")?);
        ensure!(samples > 0.0, "the observer took no sample");
        compared.ours.push(cpu_us / samples);
        let taken = recording["t_s"].as_array().map_or(0, Vec::len).max(1);
        compared.note = format!("{} bytes of text a sample", recording.to_string().len() / taken);
    }
    Ok(compared)
}

/// What a counter grew by from the first sample to the last.
fn grown(recording: &Value, counter: &str) -> Result<f64> {
    let columns = recording["columns"].as_array().context("the server's side has no recording")?;
    let column = columns.iter().find(|column| column["counter"] == counter);
    let values: Vec<f64> =
        column.and_then(|c| c["values"].as_array()).into_iter().flatten().filter_map(Value::as_f64).collect();
    let ends = values.first().zip(values.last()).with_context(|| format!("{counter} was not recorded"))?;
    Ok(ends.1 - ends.0)
}
