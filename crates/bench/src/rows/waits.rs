//! Cost of sampling the server's threads: throughput with the samples over throughput without them.

use anyhow::Result;

use super::generator::{CONNECTIONS, first_trial, json, number};
use crate::compare::{Compared, interleave};
use crate::programs;

/// Minimum number of turns. One turn scatters by some percent, and the limit is one percent.
const MIN_TURNS: usize = 20;
/// Length of a turn.
const DURATION: &str = "2s";

/// Measures the throughput of nginx with and without samples, in requests per second.
pub(crate) fn throughput(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let (url, connections) = (format!("http://{}/file", nginx.addr), CONNECTIONS.to_string());
    let rate = |more: &[&str]| {
        let args = ["load", &url, "--connections", &connections, "--threads", "1", "--at-rest", "0", "--json"];
        let run = json(&[&args[..], more, &["--duration"]].concat(), DURATION)?;
        number(first_trial(&run)?, "completed_rate")
    };
    interleave(rounds.max(MIN_TURNS), "/s", || rate(&[]), || rate(&["--no-waits"]))
}
