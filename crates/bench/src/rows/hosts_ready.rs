//! Time until twelve agents (generator processes) start a load together, for each engine of `--via`. The time includes
//! opening connections (if the engine has no open connection), starting processes, assigning tasks, comparing clocks,
//! and the start command. The agents' host is this machine, or a container or a namespace on it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::{ChildProcess, Container, SetupError, Slurm, SshHosts, static_program};

use super::generator::{first_trial, number};
use super::hosts::{AGENTS, LOCAL_ENGINE, load_of};
use crate::compare::{Compared, alone};
use crate::programs;
use crate::sshd::Sshd;

fn ready(rounds: usize, via: &str, host: &str) -> Result<Compared> {
    ready_of(rounds, (via, &programs::loadline()?.display().to_string()), host)
}

/// Measures the time until twelve agents (generator processes) on `host` start a load together. `engine` contains the
/// value of `--via`, and the path of the loadline program on the host.
fn ready_of(rounds: usize, engine: (&str, &str), host: &str) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let more = ["--client-hosts", host, "--warmup", "0", "--agents-per-host", AGENTS];
    timed(rounds, || load_of(&nginx, engine, &more, "300ms"))
}

/// Runs a load once per round, and collects the times until the load starts, seconds.
fn timed(rounds: usize, mut run: impl FnMut() -> Result<Value>) -> Result<Compared> {
    alone(rounds, "s", || number(&first_trial(&run()?)?["measured"]["around"], "start_s"))
}

/// Measures the time until a load starts, if the engine only starts loadline.
pub(crate) fn local(rounds: usize) -> Result<Compared> {
    ready(rounds, LOCAL_ENGINE, "h")
}

/// Measures the time until a load starts, if the engine is ssh. loadline first opens a master connection, which all
/// agents (generator processes) share.
pub(crate) fn ssh(rounds: usize) -> Result<Compared> {
    let sshd = Sshd::start()?;
    ready(rounds, &format!("{} {{host}}", sshd.words), "h")
}

/// Measures the time until a load starts, with the engine `env`, which starts ssh. loadline does not see this ssh, so
/// each agent (generator process) opens its own connection.
pub(crate) fn ssh_cold(rounds: usize) -> Result<Compared> {
    let sshd = Sshd::start()?;
    ready(rounds, &format!("env {} -T -o BatchMode=yes {{host}}", sshd.words), "h")
}

/// Measures the time until a load starts in a container, if the engine is podman. The container contains only the
/// static loadline program.
pub(crate) fn podman(rounds: usize) -> Result<Compared> {
    within(rounds, Container::of_podman)
}

/// Measures the time until a load starts in a container, if the engine is `runc exec`, which docker and kubectl use.
/// The container contains only the static loadline program.
pub(crate) fn runc(rounds: usize) -> Result<Compared> {
    within(rounds, |program| Container::of_runtime("runc", program))
}

/// Measures the time until a load starts in a container, if the engine is crun. The container contains only the static
/// loadline program.
pub(crate) fn crun(rounds: usize) -> Result<Compared> {
    within(rounds, |program| Container::of_runtime("crun", program))
}

fn within(rounds: usize, start: impl FnOnce(&Path) -> Result<Container, SetupError>) -> Result<Compared> {
    let container = start(&static_program(&std::env::current_exe()?)?)?;
    ready_of(rounds, (&container.via_alone(), "/loadline"), &container.name)
}

/// Measures the time until a load starts on the first node of the current Slurm allocation, if the engine is srun.
/// Without an allocation, starts a Slurm cluster and uses a node of this cluster.
pub(crate) fn slurm(rounds: usize) -> Result<Compared> {
    let Ok(nodes) = std::env::var("SLURM_JOB_NODELIST") else { return own_slurm(rounds) };
    let out = programs::output(Command::new("scontrol").args(["show", "hostnames", &nodes]))?;
    ready(rounds, "slurm", out.lines().next().context("the allocation has no node")?)
}

/// Measures the time until a load starts through Slurm. Each round gets its own Slurm allocation. The time does not
/// include the wait for the Slurm allocation.
fn own_slurm(rounds: usize) -> Result<Compared> {
    let (program, names) = (programs::loadline()?, ["conductor", "server", "node"]);
    let hosts = SshHosts::bare_where_possible(&program, "switch:1G", &names)?;
    let listen = format!("{}:8080", hosts.address("server"));
    let mut serve = hosts.inside("server", &program);
    serve.args(["serve", "http", "--listen", &listen]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = ChildProcess::start(&mut serve);
    hosts.await_listening("server", 8080);
    let slurm = Slurm::where_possible(hosts, names[0], &names[2..])?;
    let (url, path) = (format!("http://{listen}/"), program.display().to_string());
    let mut load = vec!["load", &url, "--connections", "24", "--at-rest", "0", "--warmup", "0", "--duration", "300ms"];
    load.extend(["--client-hosts", "slurm", "--agents-per-host", AGENTS, "--agent-path", &path]);
    let compared = timed(rounds, || {
        slurm.idle(1)?;
        let (run, output) = slurm.run(1, &load, |_| {});
        ensure!(output.status.success(), "in an allocation: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(run)
    });
    drop(server);
    compared
}

/// Measures the time until a load starts with the user's own engine and host, from the environment variables
/// `BENCH_VIA` and `BENCH_HOST`.
pub(crate) fn own(rounds: usize) -> Result<Compared> {
    let variable = |name: &str| std::env::var(name).map_err(|_| SetupError::Missing(format!("{name} is not set")));
    ready(rounds, &variable("BENCH_VIA")?, &variable("BENCH_HOST")?)
}
