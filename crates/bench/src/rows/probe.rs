//! Cost of observing, as shares of one CPU. One row measures loadline's probe. Another row measures the probe together
//! with the conductor, which is the loadline process that the user starts. The CPU time of the generator, which is a
//! separate process, does not count.

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::generator::json;
use crate::compare::{Compared, alone};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU, pinned};

/// Time from the start of the load until the load is steady.
const SETTLED_AFTER: Duration = Duration::from_millis(2500);
/// Time over which the laboratory's CPU time is counted.
const WATCHED: Duration = Duration::from_secs(4);
/// Duration of the load. The load must last longer than [`SETTLED_AFTER`] and [`WATCHED`] together.
const LOAD: &str = "7s";

/// Measures the probe's CPU time in percent of one CPU.
pub(crate) fn share(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    alone(rounds, "%", || {
        let run = json(&["load", &url, "--connections", "16", "--json", "--duration"], "3s")?;
        let share = run["findings"]["trust"]["probe_share"].as_f64();
        Ok(100.0 * share.context("the run has no findings.trust.probe_share")?)
    })
}

/// Measures the CPU time of conductor and probe together, in percent of one CPU, within the measured window of a load.
pub(crate) fn laboratory(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    alone(rounds, "%", || {
        let mut command = pinned(CLIENT_CPU, &programs::loadline()?);
        command.args(["load", &url, "--connections", "16", "--at-rest", "0", "--json", "--duration", LOAD]);
        let mut conductor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let share = watched(&mut conductor);
        conductor.wait()?;
        Ok(100.0 * share?)
    })
}

/// Returns the CPU time of the laboratory during [`WATCHED`], as a share of this time.
fn watched(conductor: &mut Child) -> Result<f64> {
    thread::sleep(SETTLED_AFTER);
    let (begun, before) = (Instant::now(), cpu::each_of_tree_us(conductor.id())?);
    thread::sleep(WATCHED);
    let (elapsed_us, after) = (begun.elapsed().as_secs_f64() * 1e6, cpu::each_of_tree_us(conductor.id())?);
    ensure!(conductor.try_wait()?.is_none(), "the load ended early");
    laboratory_us(&before, &after).map(|us| us / elapsed_us)
}

/// Returns the CPU time that all processes except the generator used between two readings. The first process is the
/// conductor. Of the other processes, the generator is the busiest one.
fn laboratory_us(before: &[(u32, f64)], after: &[(u32, f64)]) -> Result<f64> {
    let earlier = |pid: u32| before.iter().find(|(of, _)| *of == pid).map_or(0.0, |(_, us)| *us);
    let grown: Vec<f64> = after.iter().map(|(pid, us)| us - earlier(*pid)).collect();
    let (conductor, children) = grown.split_first().context("the load has ended")?;
    let generator = children.iter().copied().reduce(f64::max).context("the load has no generator")?;
    Ok(conductor + children.iter().sum::<f64>() - generator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_no_part_of_the_laboratory() {
        let before = [(1, 10.0), (2, 500.0), (3, 1.0)];
        assert_eq!(laboratory_us(&before, &[(1, 30.0), (2, 900.0), (3, 6.0), (4, 2.0)]).unwrap(), 27.0);
        assert!(laboratory_us(&before, &[(1, 30.0)]).is_err());
    }
}
