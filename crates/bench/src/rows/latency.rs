//! Latency that the generator itself adds. The open-loop row measures how late requests are sent at 5,000 requests per
//! second. The closed-loop rows compare the response times with io_uring and with epoll, with few connections. The
//! server is nginx.

use anyhow::Result;

use super::generator::{first_trial, json, number};
use crate::compare::{Compared, alone, interleave};
use crate::programs;

/// Measures the 99th percentile of the start error, which is the time by which a request is sent later than planned.
pub(crate) fn start_error(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    alone(rounds, "us", || measure(&["load", &url, "--rate", "5000"], "start_error_us", "p99"))
}

/// Compares the median response times with io_uring and with epoll on one connection.
pub(crate) fn uring_p50_1(rounds: usize) -> Result<Compared> {
    uring_p50(rounds, "1")
}

/// Compares the median response times with io_uring and with epoll on eight connections.
pub(crate) fn uring_p50_8(rounds: usize) -> Result<Compared> {
    uring_p50(rounds, "8")
}

fn uring_p50(rounds: usize, connections: &str) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let p50 =
        |io| measure(&["load", &url, "--connections", connections, "--threads", "1", "--io", io], "latency_us", "p50");
    interleave(rounds, "us", || p50("uring"), || p50("epoll"))
}

/// Runs a load of two seconds. Returns the field `figure` of the trial's summary named `summary`.
fn measure(load: &[&str], summary: &str, figure: &str) -> Result<f64> {
    let run = json(&[load, &["--json", "--duration"]].concat(), "2s")?;
    number(&first_trial(&run)?[summary], figure)
}
