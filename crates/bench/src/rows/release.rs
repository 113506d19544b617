//! Gain of the release build (`make release`: full optimization, linked as one) over the quick build. Both programs are
//! built from the same sources, and run alternately.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::generator::{CONNECTIONS, per_request_of};
use super::kept_run;
use super::shared::Shared;
use crate::compare::{Compared, interleave};
use crate::cpu;
use crate::programs::{self, CLIENT_CPU};

/// Path of the release build, which is built only once.
static RELEASE: Shared<PathBuf> = Shared::new();

fn release() -> Result<PathBuf> {
    RELEASE.get_or_measure(1, || {
        let quick = programs::loadline()?;
        let target = quick.parent().and_then(Path::parent).context("loadline is in no target folder")?;
        let mut cargo = Command::new(programs::find("cargo")?);
        cargo.args(["build", "--profile", "release-full", "--locked", "--quiet", "--bin", "loadline", "--target-dir"]);
        let built = cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
        ensure!(built.success(), "the release does not build");
        Ok(target.join("release-full/loadline"))
    })
}

/// Measures the generator's CPU time per request, microseconds, with the release build and with the quick build.
pub(crate) fn load_cpu(rounds: usize) -> Result<Compared> {
    let (release, quick, nginx) = (release()?, programs::loadline()?, programs::nginx()?);
    let cost = |program: &Path| per_request_of(program, nginx.addr, CONNECTIONS);
    interleave(rounds, "us", || cost(&release), || cost(&quick))
}

/// Measures the CPU time, milliseconds, that each of the two builds takes to read and judge a stored run again.
pub(crate) fn judging_cpu(rounds: usize) -> Result<Compared> {
    let (release, quick, dir) = (release()?, programs::loadline()?, tempfile::tempdir()?);
    let run = dir.path().join("run.json");
    std::fs::write(&run, kept_run::kept(rounds)?)?;
    let cost = |program: &Path| {
        let judged = || programs::output_of(programs::pinned(CLIENT_CPU, program).arg("judge").arg(&run), &[0, 1]);
        Ok(cpu::of_children(judged)?.1 / 1e3)
    };
    interleave(rounds, "ms", || cost(&release), || cost(&quick))
}
