//! Cost of a kept run: the size of its `run.json`, and the CPU time to read and to judge it. The run is a `find` of 30
//! s on nginx.

use anyhow::{Context, Result};
use run::{Run, parse_run};
use sys::clock::thread_cpu_ns;

use super::shared::Shared;
use crate::compare::{Compared, alone};
use crate::programs::{self, CLIENT_CPU};

/// Content of `run.json`, which all rows of this file share.
static KEPT_RUN: Shared<String> = Shared::new();

/// Returns the content of `run.json`. The first call of this function runs `find` on nginx.
pub(super) fn kept(rounds: usize) -> Result<String> {
    KEPT_RUN.get_or_measure(rounds, || {
        let (nginx, dir) = (programs::nginx()?, tempfile::tempdir()?);
        let (url, out) = (format!("http://{}/file", nginx.addr), dir.path().join("run"));
        let mut command = programs::pinned(CLIENT_CPU, &programs::loadline()?);
        command.args(["find", &url, "--json", "--budget", "30s", "--out"]).arg(&out);
        programs::output_of(&mut command, &[0, 1])?;
        std::fs::read_to_string(out.join("run.json")).context("find kept no run.json")
    })
}

/// Measures the size of `run.json`, kB.
pub(crate) fn size(rounds: usize) -> Result<Compared> {
    Ok(Compared::single(kept(rounds)?.len() as f64 / 1e3, "kB", ""))
}

/// Measures the CPU time to read `run.json`, ms.
pub(crate) fn reading(rounds: usize) -> Result<Compared> {
    let text = kept(rounds)?;
    alone(rounds, "ms", || ms(|| read(&text).map(drop)))
}

/// Measures the CPU time to judge the run, ms.
pub(crate) fn judging(rounds: usize) -> Result<Compared> {
    let text = kept(rounds)?;
    alone(rounds, "ms", || {
        let mut run = read(&text)?;
        ms(|| {
            judge::judge(&mut run);
            Ok(())
        })
    })
}

fn read(text: &str) -> Result<Run> {
    Ok(parse_run("run.json", text)?)
}

/// Returns the CPU time of this thread for `work`, ms.
fn ms(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let before_ns = thread_cpu_ns();
    work()?;
    Ok((thread_cpu_ns() - before_ns) as f64 / 1e6)
}
