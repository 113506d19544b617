//! Where the generator's cost stands: against the floor, against its number of connections and threads; and what of a `find`
//! and of a build is waited for.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::generator::{self, SECONDS, json};
use crate::compare::{Compared, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU, SERVER_CPU, output, pinned};

/// The bare loop, compiled when its row runs.
const FLOOR_C: &str = include_str!("floor.c");
/// `find` is short here, seconds.
const FIND: &str = "10s";

/// CPU microseconds per request over those of a bare loop in C.
pub(crate) fn floor(rounds: usize) -> Result<Compared> {
    let (nginx, dir) = (programs::nginx()?, TempDir::new()?);
    let (source, bare) = (dir.path().join("floor.c"), dir.path().join("floor"));
    std::fs::write(&source, FLOOR_C)?;
    output(std::process::Command::new(programs::find("cc")?).arg("-O2").arg("-o").arg(&bare).arg(&source))?;
    let (port, connections) = (nginx.addr.port().to_string(), generator::CONNECTIONS.to_string());
    let run = || {
        let (text, cpu_us) =
            cpu::of_children(|| output(pinned(CLIENT_CPU, &bare).args([&port, &connections, &SECONDS.to_string()])))?;
        Ok(cpu_us / text.trim().parse::<f64>().context("the bare loop printed no number")?)
    };
    interleave(rounds, "us", || generator::ours_per_request(nginx.addr, generator::CONNECTIONS), run)
}

/// Rate of two generator threads over that of one, without a network.
pub(crate) fn threads(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &[])?;
    let rate = |threads: &str| generator::number(&without_network(server.addr, threads)?, "completed_rate");
    interleave(rounds, "1/s", || rate("2"), || rate("1"))
}

/// Threads whose figures are merged.
const MANY: u32 = 16;

/// Seconds a thread from the end of a window until all is collected, of many threads over one.
pub(crate) fn merge(rounds: usize) -> Result<Compared> {
    let server = programs::serve("http", &[])?;
    let a_thread = |threads: u32| -> Result<f64> {
        let trial = without_network(server.addr, &threads.to_string())?;
        Ok(generator::number(&trial["measured"]["around"], "drain_s")? / f64::from(threads))
    };
    interleave(rounds, "s", || a_thread(MANY), || a_thread(1))
}

/// A trial of the null driver.
fn without_network(addr: SocketAddr, threads: &str) -> Result<Value> {
    // Somebody must answer the first request, which is made before any load.
    let url = format!("http://{addr}/");
    // Where the server is known, the generator would leave its CPU alone.
    let cpus = format!("{CLIENT_CPU},{SERVER_CPU}");
    let args = ["load", &url, "--io", "null", "--connections", "64", "--threads", threads, "--cpus", &cpus, "--json"];
    let mut command = std::process::Command::new(programs::loadline()?);
    command.args(args).args(["--duration", "2s"]).stderr(Stdio::null());
    let run: Value = serde_json::from_str(&programs::output_of(&mut command, &[0, 1])?)?;
    generator::first_trial(&run).cloned()
}

/// Share of a short `find` in which nothing is measured.
pub(crate) fn unmeasured(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let mut compared = Compared { unit: "", ..Compared::default() };
    let mut spent = Value::Null;
    for _ in 0..rounds {
        let run = json(&["find", &url, "--json", "--budget"], FIND)?;
        let trust = &run["findings"]["trust"];
        compared.ours.push(1.0 - trust["measured_share"].as_f64().context("the run does not say what it measured")?);
        spent = trust["spent"].clone();
    }
    compared.note = format!("the last one's seconds: {spent}");
    Ok(compared)
}

/// Seconds of a build from nothing, packages being there.
pub(crate) fn build(_rounds: usize) -> Result<Compared> {
    let dir = TempDir::new()?;
    let began = Instant::now();
    let mut cargo = std::process::Command::new(programs::find("cargo")?);
    cargo.args(["build", "--release", "--locked", "--quiet", "--bin", "loadline", "--target-dir"]).arg(dir.path());
    output(&mut cargo)?;
    Ok(Compared { ours: vec![began.elapsed().as_secs_f64()], unit: "s", ..Compared::default() })
}
