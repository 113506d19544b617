//! Compares loadline's reference server with nginx. Both servers serve one page, and wrk puts equal loads on them. The
//! figure is the server's CPU time per request.

use std::net::SocketAddr;

use anyhow::Result;

use super::generator::{SECONDS, wrk_for};
use crate::compare::{Compared, interleave};
use crate::{cpu, programs};

/// Measures the server's CPU microseconds per request.
pub(crate) fn cpu(rounds: usize) -> Result<Compared> {
    let (nginx, serve) = (programs::nginx()?, programs::serve("http", &["--threads", "1"])?);
    interleave(rounds, "us", || cost(serve.pid(), serve.addr), || cost(nginx.pid(), nginx.addr))
}

/// Returns the CPU microseconds per request of the server `pid` under load from wrk.
pub(crate) fn cost(pid: u32, addr: SocketAddr) -> Result<f64> {
    cost_in(pid, addr, SECONDS)
}

/// Returns the CPU microseconds per request of the server `pid` under load from wrk for `seconds` seconds.
pub(crate) fn cost_in(pid: u32, addr: SocketAddr, seconds: u32) -> Result<f64> {
    let before = cpu::tree_us(pid)?;
    let completed = wrk_for(addr, "/file", seconds)?.completed;
    Ok((cpu::tree_us(pid)? - before) / completed)
}
