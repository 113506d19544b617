//! S-Clients (clients that open connections at a constant rate), compared with httperf: connection attempts per second
//! from one CPU. The accept queue of the listening socket is full: its backlog is 8, and no program accepts.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result};

use super::generator::{first_trial, json, number};
use super::shared::Shared;
use crate::compare::{Compared, alone, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU};

/// Number of socket descriptors that the load uses. The goal of the row `connects` is the rate that a minimal loop in C
/// reaches with [`DESCRIPTORS`] descriptors and with the source addresses [`SOURCES`].
const DESCRIPTORS: &str = "10000";
/// Range of source addresses of the load.
const SOURCES: &str = "127.0.0.2-127.0.0.65";
/// Rates that httperf tries one after another, connections per second. httperf's result is the highest of these rates
/// that it reaches.
const HTTPERF_RATES: [u32; 3] = [5_000, 20_000, 60_000];

/// Connection attempts of each round: the attempts per second, and the number of CPUs that loadline used.
static ATTEMPTS: Shared<Vec<(f64, f64)>> = Shared::new();

fn all_attempts(rounds: usize) -> Result<Vec<(f64, f64)>> {
    ATTEMPTS.get_or_measure(rounds, || {
        let target = Overloaded::new()?;
        (0..rounds).map(|_| attempts(target.addr)).collect()
    })
}

/// Measures how many connection attempts per second loadline makes.
pub(crate) fn rate(rounds: usize) -> Result<Compared> {
    let ours = all_attempts(rounds)?.into_iter().map(|(rate, _)| rate).collect();
    Ok(Compared { ours, unit: "1/s", ..Compared::default() })
}

/// Measures loadline's rate divided by the highest rate of httperf.
pub(crate) fn over_httperf(rounds: usize) -> Result<Compared> {
    let target = Overloaded::new()?;
    let httperf = programs::find("httperf")?;
    let best = || {
        let offered = HTTPERF_RATES.iter().map(|rate| httperf_rate(&httperf, target.addr, *rate));
        offered.collect::<Result<Vec<_>>>().map(|all| all.into_iter().fold(0.0, f64::max))
    };
    interleave(rounds, "1/s", || Ok(attempts(target.addr)?.0), best)
}

/// Measures the share of one CPU that the generator used. A share near 1 shows that the generator's CPU limits the
/// rate.
pub(crate) fn share(rounds: usize) -> Result<Compared> {
    let ours = all_attempts(rounds)?.into_iter().map(|(_, cpus)| cpus).collect();
    Ok(Compared { ours, unit: "cpus", ..Compared::default() })
}

/// Measures the resident memory of the load generator per descriptor, bytes. The result is the difference between two
/// processes, one with many and one with few descriptors, divided by the difference of their numbers of descriptors.
/// Both processes need fewer descriptors than 20,000, the usual limit.
pub(crate) fn memory(rounds: usize) -> Result<Compared> {
    const MANY_DESCRIPTORS: u32 = 16_000;
    const FEW_DESCRIPTORS: u32 = 160;
    let target = Overloaded::new()?;
    alone(rounds, "B", || {
        let (many, few) = (resident(target.addr, MANY_DESCRIPTORS)?, resident(target.addr, FEW_DESCRIPTORS)?);
        Ok((many - few) / f64::from(MANY_DESCRIPTORS - FEW_DESCRIPTORS))
    })
}

/// Returns the resident memory, in bytes, of a generator with `descriptors` descriptors. All descriptors have connected
/// at least once.
fn resident(addr: SocketAddr, descriptors: u32) -> Result<f64> {
    let (url, descriptors) = (format!("http://{addr}/"), descriptors.to_string());
    let flags = ["load", &url, "--s-clients", &descriptors, "--connect-timeout", "500ms", "--source", SOURCES];
    let args = [&flags[..], &["--at-rest", "0", "--warmup", "1s", "--json", "--duration"]].concat();
    let run = json(&args, "2s")?;
    let client = first_trial(&run)?.get("client").context("the trial has no client's side")?;
    let processes = client.get("processes").and_then(|p| p.as_array()).context("no processes of the client")?;
    anyhow::ensure!(processes.len() == 1, "the load was made by {} processes, not one", processes.len());
    number(client.get("counters").context("no counters of the client")?, "process.rss")
}

/// Returns loadline's connection attempts per second, and the number of CPUs that loadline used.
fn attempts(addr: SocketAddr) -> Result<(f64, f64)> {
    let url = format!("http://{addr}/");
    let flags = ["load", &url, "--s-clients", DESCRIPTORS, "--connect-timeout", "50ms", "--source", SOURCES];
    let args = [&flags[..], &["--at-rest", "0", "--warmup", "500ms", "--json", "--duration"]].concat();
    let begun = std::time::Instant::now();
    let (run, cpu_us) = cpu::of_children(|| json(&args, "3s"))?;
    let rate = number(first_trial(&run)?, "sent_rate")?;
    Ok((rate, cpu_us / begun.elapsed().as_secs_f64() / 1e6))
}

fn httperf_rate(httperf: &std::path::Path, addr: SocketAddr, rate: u32) -> Result<f64> {
    let mut command = programs::pinned(CLIENT_CPU, httperf);
    command.args(["--hog", "--server", &addr.ip().to_string(), "--port", &addr.port().to_string()]);
    command.args(["--rate", &rate.to_string(), "--num-conns", &(rate * 2).to_string(), "--timeout", "0.05"]);
    let text = programs::output(&mut command)?;
    let line = text.lines().find(|l| l.starts_with("Total: connections")).context("httperf printed no total")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let number_after = |word: &str| {
        let at = words.iter().position(|w| *w == word).context("httperf's line has another form")?;
        words.get(at + 1).and_then(|w| w.parse::<f64>().ok()).context("httperf's line has another form")
    };
    Ok(number_after("connections")? / number_after("test-duration")?)
}

/// A listening socket with a full accept queue.
struct Overloaded {
    addr: SocketAddr,
    _listener: TcpListener,
    _waiting: Vec<std::net::TcpStream>,
}

impl Overloaded {
    fn new() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // The standard library cannot set the backlog, so the code calls listen() a second time with the backlog.
        sys::socket::listen(&listener, 8)?;
        let addr = listener.local_addr()?;
        let waiting = (0..9).map(|_| std::net::TcpStream::connect(addr)).collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self { addr, _listener: listener, _waiting: waiting })
    }
}
