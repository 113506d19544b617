//! Measures five figures about the speed of loadline itself. Three figures are about the generator: its cost relative
//! to a minimal loop, its throughput with two threads, and the time to merge results. Two figures are not about the
//! generator: the share of `find` that is not spent on measuring, and the duration of a build.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::generator::{self, SECONDS, json};
use crate::compare::{Compared, alone, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU, SERVER_CPU, compile, output, pinned};

/// Source code of the minimal loop in C, which the benchmark compiles when it measures the row.
const FLOOR_C: &str = include_str!("floor.c");
/// Time budget of the short `find`.
const FIND_BUDGET: &str = "10s";

/// Measures loadline's CPU microseconds per request, divided by the CPU microseconds of a minimal loop in C.
pub(crate) fn floor(rounds: usize) -> Result<Compared> {
    let (nginx, dir) = (programs::nginx()?, TempDir::new()?);
    let bare = compile(FLOOR_C, &dir, "floor")?;
    let (port, connections) = (nginx.addr.port().to_string(), generator::CONNECTIONS.to_string());
    let run = || {
        let (text, cpu_us) =
            cpu::of_children(|| output(pinned(CLIENT_CPU, &bare).args([&port, &connections, &SECONDS.to_string()])))?;
        Ok(cpu_us / text.trim().parse::<f64>().context("the bare loop printed no number")?)
    };
    interleave(rounds, "us", || generator::ours_per_request(nginx.addr, generator::CONNECTIONS), run)
}

/// Measures the throughput of two generator threads divided by the throughput of one thread, without a network.
pub(crate) fn threads(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &[])?;
    let rate = |threads: &str| generator::number(&without_network(server.addr, threads)?, "completed_rate");
    interleave(rounds, "1/s", || rate("2"), || rate("1"))
}

/// Number of threads whose results are merged.
const MANY_THREADS: u32 = 16;

/// Measures the time from the end of a measured window until the results of all threads are collected, per thread. The
/// row's result is the time per thread with [`MANY_THREADS`] threads, divided by the time with one thread.
pub(crate) fn merge(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &[])?;
    let a_thread = |threads: u32| -> Result<f64> {
        let trial = without_network(server.addr, &threads.to_string())?;
        Ok(generator::number(&trial["measured"]["around"], "drain_s")? / f64::from(threads))
    };
    interleave(rounds, "s", || a_thread(MANY_THREADS), || a_thread(1))
}

/// Runs a trial (one load) with the driver `null`, which answers every request itself, without a network.
fn without_network(addr: SocketAddr, threads: &str) -> Result<Value> {
    // Before any load, loadline sends a test request, so a server must answer at the URL.
    let url = format!("http://{addr}/");
    // If loadline finds the server's process, the generator does not use the server's CPU by default. With `--cpus`,
    // the generator may use both CPUs.
    let cpus = format!("{CLIENT_CPU},{SERVER_CPU}");
    let args = ["load", &url, "--io", "null", "--connections", "64", "--threads", threads, "--cpus", &cpus, "--json"];
    let mut command = std::process::Command::new(programs::loadline()?);
    command.args(args).args(["--duration", "2s"]).stderr(Stdio::null());
    let run: Value = serde_json::from_str(&programs::output_of(&mut command, &[0, 1])?)?;
    generator::first_trial(&run).cloned()
}

/// Measures the share of a short `find`'s duration that is not spent on measuring.
pub(crate) fn unmeasured(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let mut spent = Value::Null;
    let compared = alone(rounds, "", || {
        let run = json(&["find", &url, "--json", "--budget"], FIND_BUDGET)?;
        let trust = &run["findings"]["trust"];
        spent = trust["spent"].clone();
        Ok(1.0 - trust["measured_share"].as_f64().context("the run does not say what it measured")?)
    })?;
    Ok(Compared { note: format!("the last one's seconds: {spent}"), ..compared })
}

/// Measures the duration of a clean build in seconds. The packages that the build needs are already downloaded.
pub(crate) fn build(_rounds: usize) -> Result<Compared> {
    let dir = TempDir::new()?;
    let began = Instant::now();
    let mut cargo = std::process::Command::new(programs::find("cargo")?);
    cargo.args(["build", "--release", "--locked", "--quiet", "--bin", "loadline", "--target-dir"]).arg(dir.path());
    output(&mut cargo)?;
    Ok(Compared::single(began.elapsed().as_secs_f64(), "s", ""))
}
