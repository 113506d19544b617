//! How long twelve agents take until they begin a load together, by the engine that starts them: connections (where the engine
//! has none that are up), processes, tasks, clocks and the order to begin. The host is this machine.

use anyhow::{Context, Result};

use super::generator::{first_trial, number};
use super::hosts::{AGENTS, HERE, load};
use crate::compare::Compared;
use crate::programs;
use crate::sshd::Sshd;

fn ready(rounds: usize, via: &str, host: &str) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let mut compared = Compared { unit: "s", ..Compared::default() };
    for _ in 0..rounds {
        let more = ["--client-hosts", host, "--warmup", "0", "--agents-per-host", AGENTS];
        let run = load(&nginx, via, &more, "300ms")?;
        compared.ours.push(number(&first_trial(&run)?["measured"]["around"], "start_s")?);
    }
    Ok(compared)
}

/// An engine that only starts the program.
pub(crate) fn local(rounds: usize) -> Result<Compared> {
    ready(rounds, HERE, "h")
}

/// ssh over the master connection that loadline makes first.
pub(crate) fn ssh(rounds: usize) -> Result<Compared> {
    let sshd = Sshd::start()?;
    ready(rounds, &format!("{} {{host}}", sshd.words), "h")
}

/// ssh behind another program, where loadline does not know that it could share a connection.
pub(crate) fn ssh_cold(rounds: usize) -> Result<Compared> {
    let sshd = Sshd::start()?;
    ready(rounds, &format!("env {} -T -o BatchMode=yes {{host}}", sshd.words), "h")
}

/// srun, on the first node of the allocation.
pub(crate) fn slurm(rounds: usize) -> Result<Compared> {
    programs::find("srun")?;
    let nodes = std::env::var("SLURM_JOB_NODELIST").context("this is no allocation: salloc -N 1 make bench")?;
    let out = programs::output(std::process::Command::new("scontrol").args(["show", "hostnames", &nodes]))?;
    ready(rounds, "slurm", out.lines().next().context("the allocation has no node")?)
}

/// What the environment names.
pub(crate) fn own(rounds: usize) -> Result<Compared> {
    let of = |name: &str| std::env::var(name).with_context(|| format!("{name} is not set"));
    ready(rounds, &of("BENCH_VIA")?, &of("BENCH_HOST")?)
}
