//! The echo service of loadline, compared with echo servers that are built in the usual way with well-known libraries.
//! The figure is the server's CPU time per message. loadline's generator sends the messages over 64 connections.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::generator::{first_trial, json, number};
use crate::compare::Compared;
use crate::cpu;
use crate::programs::{self, Server};

/// Measures the echo server's CPU time per message of 64 bytes.
pub(crate) fn small(rounds: usize) -> Result<Compared> {
    against_all(rounds, 64)
}

/// Measures the echo server's CPU time per message of 16 KiB.
pub(crate) fn large(rounds: usize) -> Result<Compared> {
    against_all(rounds, 16 * 1024)
}

/// Measures each echo server once per round. Compares loadline's best server of the round with the best peer. The best
/// server is the server with the lowest CPU time per message.
fn against_all(rounds: usize, message_bytes: u32) -> Result<Compared> {
    let ours = [serve("uring-sharded")?, serve("epoll-sharded")?];
    let peers = peers()?;
    let mut compared = Compared { unit: "us", ..Compared::default() };
    for round in 0..=rounds {
        let best = |servers: &[Server]| -> Result<f64> {
            servers.iter().map(|s| cost(s, message_bytes)).try_fold(f64::INFINITY, |a, b| Ok(a.min(b?)))
        };
        let (a, b) = (best(&ours)?, best(&peers)?);
        if round > 0 {
            compared.ours.push(a);
            compared.peer.push(b);
        }
    }
    compared.note = format!("best of {} peers in each round", peers.len());
    Ok(compared)
}

fn cost(server: &Server, message_bytes: u32) -> Result<f64> {
    let (url, size) = (format!("echo://{}", server.addr), message_bytes.to_string());
    let before = cpu::tree_us(server.pid())?;
    let run = json(&["load", &url, "--connections", "64", "--message-bytes", &size, "--json", "--duration"], "2s")?;
    Ok((cpu::tree_us(server.pid())? - before) / number(first_trial(&run)?, "completed")?)
}

fn serve(model: &str) -> Result<Server> {
    programs::serve("echo", &["--model", model, "--threads", "1"])
}

fn peers() -> Result<Vec<Server>> {
    let mut servers = vec![start(&tokio_echo()?, &[])?];
    if let Ok(go) = go_peer("go-echo") {
        servers.push(start(&go, &[])?);
    }
    if let Ok(socat) = programs::find("socat") {
        servers.push(socat_echo(&socat)?);
    }
    Ok(servers)
}

fn start(program: &Path, args: &[&str]) -> Result<Server> {
    let addr = SocketAddr::from(([127, 0, 0, 1], programs::free_port()?));
    let mut command = programs::pinned(programs::SERVER_CPU, program);
    command.arg(addr.to_string()).args(args).env("GOMAXPROCS", "1");
    programs::await_listening(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?, addr, None)
}

fn socat_echo(socat: &Path) -> Result<Server> {
    let addr = SocketAddr::from(([127, 0, 0, 1], programs::free_port()?));
    let mut command = programs::pinned(programs::SERVER_CPU, socat);
    command.args([&format!("TCP-LISTEN:{},fork,reuseaddr,nodelay,backlog=128", addr.port()), "PIPE"]);
    programs::await_listening(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?, addr, None)
}

fn peer_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

fn tokio_echo() -> Result<PathBuf> {
    let source = peer_source("tokio-echo");
    let built = Command::new("cargo").args(["build", "--release", "--quiet"]).current_dir(&source).status()?;
    ensure!(built.success(), "the tokio echo server does not build");
    Ok(source.join("target/release/tokio-echo"))
}

/// Builds the Go program in the folder `name` of the benchmark's peers, and returns the path of the executable.
pub(super) fn go_peer(name: &str) -> Result<PathBuf> {
    let (source, go) = (peer_source(name), programs::find("go").context("no Go")?);
    let target = source.join("target").join(name);
    let built = Command::new(go).args(["build", "-o"]).arg(&target).arg(".").current_dir(&source).status()?;
    ensure!(built.success(), "the Go program {name} does not build");
    Ok(target)
}
