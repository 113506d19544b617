//! Cost of observing a server: the CPU time of loadline's probe with two samples per second, as a share of one CPU.

use anyhow::{Context, Result};

use super::generator::json;
use crate::compare::Compared;
use crate::programs;

/// Measures the probe's CPU time in percent of one CPU.
pub(crate) fn share(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let mut compared = Compared { unit: "%", ..Compared::default() };
    for _ in 0..rounds {
        let run = json(&["load", &url, "--connections", "16", "--json", "--duration"], "3s")?;
        let share = run["findings"]["trust"]["probe_share"].as_f64();
        compared.ours.push(100.0 * share.context("the run has no findings.trust.probe_share")?);
    }
    Ok(compared)
}
