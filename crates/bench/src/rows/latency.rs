//! Accuracy of the generator's timing in an open loop with 5,000 requests per second to nginx.

use std::net::SocketAddr;

use anyhow::Result;

use super::generator::{first_trial, json, number};
use crate::compare::{Compared, interleave};
use crate::programs;

/// Measures the 99th percentile of the start error, which is the time by which a request is sent later than planned.
pub(crate) fn start_error(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let mut compared = Compared { unit: "us", ..Compared::default() };
    for _ in 0..rounds {
        compared.ours.push(measure(nginx.addr, "auto", "start_error_us", "p99")?);
    }
    Ok(compared)
}

/// Compares the median response time with io_uring and with epoll.
pub(crate) fn uring_p50(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let side = |io| move || measure(nginx.addr, io, "latency_us", "p50");
    interleave(rounds, "us", side("uring"), side("epoll"))
}

fn measure(addr: SocketAddr, io: &str, summary: &str, figure: &str) -> Result<f64> {
    let url = format!("http://{addr}/file");
    let run = json(&["load", &url, "--rate", "5000", "--io", io, "--json", "--duration"], "2s")?;
    number(&first_trial(&run)?[summary], figure)
}
