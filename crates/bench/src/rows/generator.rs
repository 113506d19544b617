//! The load generator of loadline, compared with wrk. Both generators use persistent connections and one thread. The
//! server is nginx with one worker and a file of 1294 bytes.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::compare::{Compared, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU};

/// Duration of one run of a load generator, seconds.
pub(crate) const SECONDS: u32 = 3;
/// Default number of connections.
pub(crate) const CONNECTIONS: u32 = 64;

/// Result of one run of a generator.
pub(crate) struct Outcome {
    /// Number of completed requests.
    pub(crate) completed: f64,
    /// Completed requests per second.
    pub(crate) rate: f64,
    /// CPU time of all processes of the generator in microseconds. The time includes start-up, the reading of counters,
    /// and the report.
    pub(crate) cpu_us: f64,
}

/// Measures the generator's CPU microseconds per request.
pub(crate) fn cpu(rounds: usize) -> Result<Compared> {
    cpu_with(rounds, CONNECTIONS)
}

/// Measures the generator's CPU microseconds per request with 4,096 connections.
pub(crate) fn cpu_4096(rounds: usize) -> Result<Compared> {
    cpu_with(rounds, 4096)
}

/// Measures the generator's CPU microseconds per request with 12,000 connections.
pub(crate) fn cpu_12000(rounds: usize) -> Result<Compared> {
    cpu_with(rounds, 12_000)
}

fn cpu_with(rounds: usize, connections: u32) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let wrk = || wrk_per_request(nginx.addr, connections);
    interleave(rounds, "us", || ours_per_request(nginx.addr, connections), wrk)
}

/// Returns loadline's CPU microseconds per request.
pub(crate) fn ours_per_request(addr: SocketAddr, connections: u32) -> Result<f64> {
    per_request_of(&programs::loadline()?, addr, connections)
}

/// Returns the CPU time per request, microseconds, of the loadline build at the path `program`.
pub(crate) fn per_request_of(program: &Path, addr: SocketAddr, connections: u32) -> Result<f64> {
    ours(program, addr, connections).map(|o| o.cpu_us / o.completed)
}

/// Returns wrk's CPU microseconds per request.
fn wrk_per_request(addr: SocketAddr, connections: u32) -> Result<f64> {
    wrk_with(addr, "/file", SECONDS, connections).map(|o| o.cpu_us / o.completed)
}

/// Measures the throughput in requests per second.
pub(crate) fn rate(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let loadline = programs::loadline()?;
    let ours = || Ok(ours(&loadline, nginx.addr, CONNECTIONS)?.rate);
    interleave(rounds, "1/s", ours, || Ok(wrk(nginx.addr, "/file")?.rate))
}

fn ours(program: &Path, addr: SocketAddr, connections: u32) -> Result<Outcome> {
    let (url, connections) = (format!("http://{addr}/file"), connections.to_string());
    let args = ["load", &url, "--connections", &connections, "--threads", "1", "--json", "--duration"];
    let (run, cpu_us) = cpu::of_children(|| json_of(program, &args, &format!("{SECONDS}s")))?;
    let trial = first_trial(&run)?;
    Ok(Outcome { completed: number(trial, "completed")?, rate: number(trial, "completed_rate")?, cpu_us })
}

/// Runs wrk once with 64 connections on one thread.
pub(crate) fn wrk(addr: SocketAddr, path: &str) -> Result<Outcome> {
    wrk_for(addr, path, SECONDS)
}

/// Runs wrk for `seconds` seconds, with 64 connections on one thread.
pub(crate) fn wrk_for(addr: SocketAddr, path: &str, seconds: u32) -> Result<Outcome> {
    wrk_with(addr, path, seconds, CONNECTIONS)
}

fn wrk_with(addr: SocketAddr, path: &str, seconds: u32, connections: u32) -> Result<Outcome> {
    let mut command = wrk_command(addr, path, seconds, connections)?;
    let (text, cpu_us) = cpu::of_children(|| programs::output(&mut command))?;
    Ok(Outcome {
        completed: number_in_line(&text, "requests in")?,
        rate: number_in_line(&text, "Requests/sec")?,
        cpu_us,
    })
}

/// Builds a wrk command with one thread, on the generator's CPU.
pub(crate) fn wrk_command(addr: SocketAddr, path: &str, seconds: u32, connections: u32) -> Result<Command> {
    // wrk does not raise its own limit on descriptors, so the shell raises the limit.
    let mut command = programs::pinned(CLIENT_CPU, Path::new("sh"));
    command.args(["-c", "ulimit -n $(ulimit -Hn); exec \"$@\"", "sh"]).arg(programs::find("wrk")?);
    let (count, length) = (format!("-c{connections}"), format!("-d{seconds}s"));
    command.args(["-t1", &count, &length, &format!("http://{addr}{path}")]);
    Ok(command)
}

/// Finds the first line of a program's report that contains `mark`, and returns the first number in this line.
pub(crate) fn number_in_line(text: &str, mark: &str) -> Result<f64> {
    let line = text.lines().find(|l| l.contains(mark)).with_context(|| format!("no line contains {mark:?}"))?;
    let mut words = line.split_whitespace().filter_map(|w| w.parse::<f64>().ok());
    words.next().with_context(|| format!("no number in {line:?}"))
}

/// Runs loadline on the generator's CPU with the arguments `args` and `last`. Returns the JSON that loadline prints.
pub(crate) fn json(args: &[&str], last: &str) -> Result<Value> {
    json_of(&programs::loadline()?, args, last)
}

/// Does the same as [`json`], but runs the loadline build at the path `program`.
fn json_of(program: &Path, args: &[&str], last: &str) -> Result<Value> {
    let mut command = programs::pinned(CLIENT_CPU, program);
    // Exit status 1 means that an objective was not met or that no answer came, for example because the server accepted
    // no connection. loadline also prints complete JSON with exit status 1.
    let text = programs::output_of(command.args(args).arg(last), &[0, 1])?;
    serde_json::from_str(&text).context("loadline --json did not print JSON alone")
}

/// Returns the trial (one load) of a `load` run.
pub(crate) fn first_trial(run: &Value) -> Result<&Value> {
    run["trials"].get(0).context("the run has no trial")
}

/// Returns a number of a trial (one load) by the name of its field.
pub(crate) fn number(trial: &Value, name: &str) -> Result<f64> {
    trial[name].as_f64().with_context(|| format!("the trial has no {name}"))
}
