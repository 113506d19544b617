//! Speed of load generators and observers (processes that read counters) on other hosts. The first two figures are the
//! time offset between two hosts' measured windows, and the additional time for twelve agents (generator processes).
//! The third figure is the observer's CPU time per sample. All hosts are this machine. loadline reaches each host
//! through an engine, which is the program in `--via`. The benchmark has two engines. One engine only starts loadline.
//! The other engine also delays loadline's input and output, like a long network path.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::generator::{first_trial, json, number};
use crate::compare::{Compared, alone};
use crate::programs::{self, Server};

/// An engine for `--via` that only starts loadline, on this machine.
pub(super) const LOCAL_ENGINE: &str = "env LOADLINE_HOST={host}";
/// Number of agents (generator processes) whose start is timed.
pub(super) const AGENTS: &str = "12";

/// Runs `load` against nginx. The engine `via` starts the generators or the observer of the server, depending on the
/// options in `more`.
pub(super) fn load(nginx: &Server, via: &str, more: &[&str], duration: &str) -> Result<Value> {
    load_of(nginx, (via, &programs::loadline()?.display().to_string()), more, duration)
}

/// Runs `load` through an engine. `path` is the path of the loadline program on the host.
pub(super) fn load_of(nginx: &Server, (via, path): (&str, &str), more: &[&str], duration: &str) -> Result<Value> {
    let url = format!("http://{}/file", nginx.addr);
    let mut args = vec!["load", &url, "--json", "--connections", "24", "--at-rest", "0", "--via", via];
    args.extend(["--agent-path", path]);
    args.extend(more);
    args.push("--duration");
    json(&args, duration)
}

/// Measures the time offset between the measured windows of two agents (generator processes), microseconds. `hosts` has
/// the round-trip delay of each agent's host in milliseconds.
fn apart(rounds: usize, hosts: &str) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let via = format!("{} delayed {{host}}", std::env::current_exe()?.display());
    let mut note = String::new();
    let compared = alone(rounds, "us", || {
        let run = load(&nginx, &via, &["--client-hosts", hosts, "--warmup", "500ms"], "1s")?;
        let apart = &first_trial(&run)?["measured"]["apart"];
        note = format!("clocks known to {:.0} us", number(apart, "clock_us")?);
        Ok(number(apart, "begin_us")?.max(number(apart, "end_us")?))
    })?;
    Ok(Compared { note, ..compared })
}

/// Measures the time offset between the agents' windows without a network delay.
pub(crate) fn apart_0(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,00")
}

/// Measures the time offset between the agents' windows with a round-trip delay of 20 ms to one host.
pub(crate) fn apart_20(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,20")
}

/// Measures the time offset between the agents' windows with a round-trip delay of 100 ms to one host.
pub(crate) fn apart_100(rounds: usize) -> Result<Compared> {
    apart(rounds, "0,100")
}

/// Measures how many seconds longer a run takes with twelve agents (generator processes) than with one agent. loadline
/// needs the additional time to start the agents, to compare their clocks, and to end the agents.
pub(crate) fn twelve(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let took = |agents: &str| -> Result<f64> {
        let run = load(
            &nginx,
            LOCAL_ENGINE,
            &["--client-hosts", "h", "--warmup", "0", "--agents-per-host", agents],
            "500ms",
        )?;
        number(&run, "elapsed_s")
    };
    alone(rounds, "s", || Ok(took(AGENTS)? - took("1")?))
}

/// Measures the CPU time that the observer on the server's host takes for a sample, microseconds.
pub(crate) fn sample(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let mut note = String::new();
    let compared = alone(rounds, "us", || {
        let run = load(&nginx, LOCAL_ENGINE, &["--server-host", "s", "--interval", "100ms"], "2s")?;
        let recording = &testkit::recording(&run, 0, "server");
        let (cpu_us, samples) = (grown(recording, "probe.cpu")?, grown(recording, "probe.samples")?);
        ensure!(samples > 0.0, "the observer took no sample");
        let taken = recording["t_s"].as_array().map_or(0, Vec::len).max(1);
        note = format!("{} bytes of text a sample", recording.to_string().len() / taken);
        Ok(cpu_us / samples)
    })?;
    Ok(Compared { note, ..compared })
}

/// Returns the increase of a counter from the first to the last sample.
fn grown(recording: &Value, counter: &str) -> Result<f64> {
    let columns = recording["columns"].as_array().context("the server's side has no recording")?;
    let column = columns.iter().find(|column| column["counter"] == counter);
    let values: Vec<f64> =
        column.and_then(|c| c["values"].as_array()).into_iter().flatten().filter_map(Value::as_f64).collect();
    let ends = values.first().zip(values.last()).with_context(|| format!("{counter} was not recorded"))?;
    Ok(ends.1 - ends.0)
}
