//! Pacing at a high rate: one thread on one CPU sends 100,000 messages per second in an open loop. On the other CPU, a
//! server echoes the messages of 64 bytes. loadline and a minimal paced loop in C take turns.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::generator::{CONNECTIONS, SECONDS, first_trial, json, number};
use super::shared::Shared;
use crate::compare::{Compared, interleave, median};
use crate::programs::{self, CLIENT_CPU, compile, output, pinned};
use crate::show;

/// Source code of the paced loop in C.
const PACE_C: &str = include_str!("pace.c");
/// Planned messages per second.
const RATE: u32 = 100_000;

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Number of messages sent per second, divided by the planned number ([`RATE`]).
    rate_ratio: f64,
    /// 99th percentile of the delay between the planned and the actual time of sending, microseconds.
    lag_us: f64,
}

/// Figures of all rounds: first loadline's, then those of the loop in C.
type Paces = (Vec<Pace>, Vec<Pace>);

static PACES: Shared<Paces> = Shared::new();

/// Measures the actual rate of sending, divided by the planned rate.
pub(crate) fn rate(rounds: usize) -> Result<Compared> {
    figure(rounds, "", |pace| pace.rate_ratio)
}

/// Measures the 99th percentile of the delay between the planned and the actual time of sending, microseconds.
pub(crate) fn lag(rounds: usize) -> Result<Compared> {
    figure(rounds, "us", |pace| pace.lag_us)
}

/// Returns loadline's figure of each round. `of` selects the figure. The goals apply only to loadline, so the figure of
/// the loop in C is in the note.
fn figure(rounds: usize, unit: &'static str, of: fn(&Pace) -> f64) -> Result<Compared> {
    let (ours, loop_in_c) = PACES.get_or_measure(rounds, || measure(rounds))?;
    let in_c = median(&loop_in_c.iter().map(of).collect::<Vec<_>>());
    let note = format!("a busy-polling paced loop in C: {} {unit}", show::figure(in_c)).trim_end().to_owned();
    Ok(Compared { ours: ours.iter().map(of).collect(), unit, note, ..Compared::default() })
}

fn measure(rounds: usize) -> Result<Paces> {
    let (dir, server) = (TempDir::new()?, programs::serve("echo", &["--threads", "1"])?);
    let program = compile(PACE_C, &dir, "pace")?;
    let (mut ours, mut in_c) = (Vec::new(), Vec::new());
    interleave(
        rounds,
        "",
        || kept(&mut ours, loadline(server.addr)?),
        || kept(&mut in_c, paced_loop(&program, server.addr)?),
    )?;
    // The first run of each program only warms caches, so its figures are dropped.
    Ok((ours.split_off(1), in_c.split_off(1)))
}

fn kept(paces: &mut Vec<Pace>, pace: Pace) -> Result<f64> {
    paces.push(pace);
    Ok(pace.lag_us)
}

fn loadline(addr: SocketAddr) -> Result<Pace> {
    let (url, rate, connections) = (format!("echo://{addr}"), RATE.to_string(), CONNECTIONS.to_string());
    let load = ["load", &url, "--message-bytes", "64", "--rate", &rate, "--max-connections", &connections];
    let args = [&load[..], &["--threads", "1", "--json", "--duration"]].concat();
    let run = json(&args, &format!("{SECONDS}s"))?;
    let trial = first_trial(&run)?;
    let rate_ratio = number(trial, "sent_rate")? / f64::from(RATE);
    Ok(Pace { rate_ratio, lag_us: number(&trial["start_error_us"], "p99")? })
}

fn paced_loop(program: &Path, addr: SocketAddr) -> Result<Pace> {
    let args = [addr.port().into(), CONNECTIONS, RATE, SECONDS].map(|n| n.to_string());
    let text = output(pinned(CLIENT_CPU, program).args(args))?;
    pace_of(&text).context("the paced loop did not print two numbers")
}

fn pace_of(text: &str) -> Option<Pace> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    Some(Pace { rate_ratio: numbers.next()?.ok()?, lag_us: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop in C must reach its planned rate if this rate is low. The echo server has one thread per connection. On
    /// a busy machine, the loop may send its last message a little late.
    #[test]
    fn the_loop_in_c_keeps_a_low_rate() {
        let dir = TempDir::new().unwrap();
        let Ok(program) = compile(PACE_C, &dir, "pace") else { return testkit::skip("pacing", "no C compiler") };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
        let args = [port.to_string(), "2".into(), "1000".into(), "0.5".into()];
        let text = output(std::process::Command::new(program).args(args)).unwrap();
        let pace = pace_of(&text).unwrap();
        assert!((0.6..1.01).contains(&pace.rate_ratio) && pace.lag_us > 0.0, "{text}");
    }
}
