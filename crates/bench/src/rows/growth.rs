//! CPU time per request for different numbers of connections. In the first curve, all connections carry requests (hot).
//! In the second curve, the benchmark holds idle connections (cold) in addition to 64 active connections. Each curve
//! shows the CPU time per request of loadline, of wrk and of the server.
//!
//! Many machines limit a process to 20,000 descriptors. nginx therefore has several workers, which share one CPU. Above
//! 14,000 connections, wrk runs in several processes, each of which connects to a different address of the server.
//! loadline uses eight source addresses. With only one source address and one server address, the kernel's search for a
//! free port would take most of the CPU time.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::generator::{self, CONNECTIONS, SECONDS};
use crate::compare::{Compared, median};
use crate::programs::{self, CLIENT_CPU, Server, pinned};
use crate::{cpu, curve};

/// Numbers of connections that all carry requests.
const HOT: [u32; 6] = [1, 64, 1024, 4096, 12_000, 100_000];
/// Numbers of idle connections that are held in addition to 64 active connections.
const COLD: [u32; 4] = [0, 1000, 10_000, 100_000];
/// Points with at least this many connections are measured only in the first round, because each measurement takes a
/// minute.
const MEASURED_ONCE_FROM: u32 = 100_000;
/// Index of 64 connections in [`HOT`]: the point from which growth is computed.
const GROWTH_FROM: usize = 1;
/// Index of 12,000 connections in [`HOT`]: the point up to which growth is computed.
const GROWTH_TO: usize = 4;
/// Maximum number of connections of one wrk process. For more connections, the benchmark runs several wrk processes,
/// which use different addresses of the server.
const CONNECTIONS_PER_WRK: u32 = 14_000;
const ADDRESSES: u8 = 8;
/// Assumed number of connections that a load generator opens per second. Each run is longer by the time for opening its
/// connections at this rate.
const CONNECTS_PER_S: u32 = 10_000;
/// Number of cold connections that are opened per second.
const COLD_RATE: u32 = 10_000;
/// Maximum time to wait until the sockets of a previous run are closed. The cold connections may take the same time to
/// open, plus the time that they need at [`COLD_RATE`].
const COLD_TIMEOUT: Duration = Duration::from_secs(90);

/// CPU microseconds per request of loadline, of wrk, and of the server under loadline's load.
type Point = [f64; 3];

/// Measures the growth of loadline's cost per request from 64 to 12,000 connections, and the growth of wrk's cost for
/// comparison. Prints the curves of the cost per request.
pub(crate) fn ratio(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx_of_many(ADDRESSES)?;
    let mut compared = Compared { unit: "x", ..Compared::default() };
    let (mut hot, mut cold) = ([const { Vec::new() }; HOT.len()], [const { Vec::new() }; COLD.len()]);
    let mut missing = Vec::new();
    for round in 0..rounds {
        let now = |connections: &u32| round == 0 || *connections < MEASURED_ONCE_FROM;
        for (connections, points) in HOT.into_iter().zip(&mut hot).filter(|(n, _)| now(n)) {
            keep(points, &mut missing, point(&nginx, connections), &format!("{connections} hot"));
        }
        for (connections, points) in COLD.into_iter().zip(&mut cold).filter(|(n, _)| now(n)) {
            let seen = HeldConnections::open(&nginx, connections).and_then(|_held| point(&nginx, CONNECTIONS));
            keep(points, &mut missing, seen, &format!("{connections} cold"));
        }
        let last = |at: usize| hot[at].last().copied().unwrap_or_default();
        let (few, many): (Point, Point) = (last(GROWTH_FROM), last(GROWTH_TO));
        compared.ours.push(many[0] / few[0]);
        compared.peer.push(many[1] / few[1]);
        eprintln!("  round {} of {rounds}: {:.2} x, wrk's {:.2} x", round + 1, many[0] / few[0], many[1] / few[1]);
    }
    println!("{}", curve::table("hot", &middles(&HOT, &hot)));
    println!("{}", curve::table("cold beside 64 hot", &middles(&COLD, &cold)));
    ensure!(compared.ours.iter().chain(&compared.peer).all(|growth| growth.is_finite()), "{}", missing.join("; "));
    compared.note = ["the curves stand above".to_string()].into_iter().chain(missing).collect::<Vec<_>>().join("; ");
    Ok(compared)
}

/// Compares the cost of loadline's own code with 100,000 busy connections and with 64. The cost is the CPU time in user
/// mode per request. The note also shows the CPU time in the kernel, most of which the sockets take.
pub(crate) fn own(rounds: usize) -> Result<Compared> {
    const MANY_CONNECTIONS: u32 = HOT[HOT.len() - 1];
    let nginx = programs::nginx_of_many(ADDRESSES)?;
    let mut compared = Compared { unit: "us", ..Compared::default() };
    let mut kernel_us = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let few = user_and_kernel_us(nginx.addr, CONNECTIONS)?;
        let many = user_and_kernel_us(nginx.addr, MANY_CONNECTIONS)?;
        compared.ours.push(many.0);
        compared.peer.push(few.0);
        kernel_us[0].push(many.1);
        kernel_us[1].push(few.1);
    }
    let [many_us, few_us] = kernel_us.map(|us| median(&us));
    compared.note = format!("the kernel's part: {many_us:.1} over {few_us:.1} us");
    Ok(compared)
}

/// Returns loadline's CPU time per request within the measured window, microseconds: in user mode, and in the kernel.
fn user_and_kernel_us(addr: SocketAddr, connections: u32) -> Result<(f64, f64)> {
    let run = load(addr, connections, SECONDS + connections / CONNECTS_PER_S)?;
    let costs = &generator::first_trial(&run)?["client"]["costs"];
    let cost = |name: &str| generator::number(&costs[name], "per_request");
    Ok((cost("process_user_us")?, cost("process_system_us")?))
}

/// Stores the measurement of a point in `points`. If the measurement failed, stores the error in `missing`, so that
/// only one point is missing from the curve.
fn keep(points: &mut Vec<Point>, missing: &mut Vec<String>, seen: Result<Point>, what: &str) {
    match seen {
        Ok(point) => points.push(point),
        Err(e) => missing.push(format!("{what}: {e:#}")),
    }
}

/// Returns the median costs for each number of connections. A median is NaN if no measurement succeeded, or if no
/// request was answered.
fn middles(connections: &[u32], points: &[Vec<Point>]) -> Vec<(u32, Point)> {
    let middle =
        |points: &Vec<Point>| std::array::from_fn(|i| median(&points.iter().map(|p| p[i]).collect::<Vec<_>>()));
    connections.iter().copied().zip(points.iter().map(middle)).collect()
}

fn point(nginx: &Server, connections: u32) -> Result<Point> {
    let seconds = SECONDS + connections / CONNECTS_PER_S;
    let before_us = cpu::tree_us(nginx.pid())?;
    let (ours_us, answers) = ours(nginx.addr, connections, seconds)?;
    let server_us = (cpu::tree_us(nginx.pid())? - before_us) / answers;
    Ok([ours_us, wrk(nginx.addr, connections, seconds)?, server_us])
}

/// Returns loadline's CPU microseconds per request, and the number of answers.
fn ours(addr: SocketAddr, connections: u32, seconds: u32) -> Result<(f64, f64)> {
    let (run, cpu_us) = cpu::of_children(|| load(addr, connections, seconds))?;
    let completed = generator::number(generator::first_trial(&run)?, "completed")?;
    ensure!(completed > 0.0, "nothing was completed with {connections} connections");
    Ok((cpu_us / completed, completed))
}

/// Runs a load whose connections come from several source addresses.
fn load(addr: SocketAddr, connections: u32, seconds: u32) -> Result<Value> {
    let (url, connections) = (format!("http://{addr}/file"), connections.to_string());
    let args =
        ["load", &url, "--connections", &connections, "--source", "127.0.0.11-127.0.0.18", "--json", "--duration"];
    generator::json(&args, &format!("{seconds}s"))
}

/// Returns wrk's CPU microseconds per request. Uses several processes if there are many connections. Each process
/// connects to another address of the server, because wrk cannot choose its source address.
fn wrk(addr: SocketAddr, connections: u32, seconds: u32) -> Result<f64> {
    let processes = connections.div_ceil(CONNECTIONS_PER_WRK).max(1);
    let (texts, cpu_us) = cpu::of_children(|| {
        let started: Result<Vec<Child>> = (0..processes)
            .map(|i| {
                let own = connections / processes + u32::from(i < connections % processes);
                let to = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 1 + i as u8), addr.port()));
                Ok(generator::wrk_command(to, "/file", seconds, own)?
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()?)
            })
            .collect();
        let ended = started?.into_iter().map(|child| Ok(child.wait_with_output()?));
        ended.collect::<Result<Vec<_>>>()
    })?;
    let completed = texts.iter().map(|o| generator::number_in_line(&String::from_utf8_lossy(&o.stdout), "requests in"));
    let completed: f64 = completed.collect::<Result<Vec<f64>>>()?.iter().sum();
    // Without answers, no cost per answer can be computed, so the cost is NaN.
    Ok(if completed > 0.0 { cpu_us / completed } else { f64::NAN })
}

/// Idle connections that a loadline process holds until this value is dropped.
struct HeldConnections(Option<Child>);

impl HeldConnections {
    fn open(nginx: &Server, connections: u32) -> Result<Self> {
        if connections == 0 {
            return Ok(Self(None));
        }
        let url = format!("http://{}/file", nginx.addr);
        let (n, rate) = (connections.to_string(), COLD_RATE.to_string());
        let mut command: Command = pinned(CLIENT_CPU, &programs::loadline()?);
        command.args(["load", &url, "--connections", "1", "--think", "1s", "--duration", "10m", "--cold", &n]);
        command.args(["--cold-rate", &rate, "--json"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let before = settled()?;
        let held = Self(Some(command.spawn()?));
        let deadline = Instant::now() + COLD_TIMEOUT + Duration::from_secs(u64::from(connections / COLD_RATE));
        // Both ends of each connection are on this machine, so each connection adds two sockets.
        while sockets()? < before + 2 * u64::from(connections) {
            ensure!(Instant::now() < deadline, "{connections} cold connections were not up in time");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(held)
    }
}

impl Drop for HeldConnections {
    fn drop(&mut self) {
        // On SIGTERM, the loadline process also ends its child processes, which hold the connections.
        if let Some(child) = &mut self.0 {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Waits until the number of TCP sockets no longer falls, because the kernel may still be closing sockets of the
/// previous run. Returns the number of TCP sockets that remain.
fn settled() -> Result<u64> {
    let deadline = Instant::now() + COLD_TIMEOUT;
    let mut last = sockets()?;
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(500));
        let now = sockets()?;
        if now >= last {
            return Ok(now);
        }
        last = now;
    }
    anyhow::bail!("connections of the run before did not go away in time")
}

/// Returns the number of TCP sockets in use on this machine.
fn sockets() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/net/sockstat")?;
    let line = text.lines().find(|line| line.starts_with("TCP:")).context("/proc/net/sockstat has no line of TCP")?;
    line.split_whitespace().nth(2).and_then(|n| n.parse().ok()).context("no number of TCP sockets in use")
}
