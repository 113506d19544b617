//! Cost of sampling where the server's threads wait. The figure is the throughput with sampling divided by the
//! throughput without sampling.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::generator::{CONNECTIONS, first_trial, json, number};
use crate::compare::{Compared, interleave};
use crate::programs;

/// Minimum number of rounds for a row of this file. The throughput of a single round varies by a few percent, but the
/// goal of the row allows a loss of only one percent.
const MIN_TURNS: usize = 20;
/// Duration of each measurement, as an option of `load`.
const DURATION: &str = "2s";
/// Number of connections to a server that starts one thread per connection.
const THREADS: &str = "16";
/// User ID and group ID of `nobody`, a user without special rights.
const NOBODY: &str = "65534";

/// Measures the throughput of nginx with and without sampling, in requests per second.
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

/// Measures the throughput of a server with one thread per connection, with and without sampling. A server with one
/// thread per connection has the most context switches per request. All programs run as a user without special rights,
/// for whom sampling costs the most.
pub(crate) fn throughput_of_threads(rounds: usize) -> Result<Compared> {
    let dir = tempfile::tempdir()?;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777))?;
    let program = dir.path().join("loadline");
    std::fs::copy(programs::loadline()?, &program)?;
    let addr = std::net::SocketAddr::from(([127, 0, 0, 1], programs::free_port()?));
    let mut server = without_rights(&program, dir.path());
    server.args(["serve", "http", "--model", "blocking", "--listen", &addr.to_string()]).stdout(Stdio::null());
    let _server = programs::await_listening(server.stderr(Stdio::null()).spawn()?, addr, None)?;
    let url = format!("http://{addr}/");
    let rate = |more: &[&str]| {
        let mut load = without_rights(&program, dir.path());
        load.args(["load", &url, "--connections", THREADS, "--at-rest", "0", "--json", "--duration", DURATION]);
        let run = serde_json::from_str(&programs::output(load.args(more))?)?;
        number(first_trial(&run)?, "completed_rate")
    };
    interleave(rounds.max(MIN_TURNS), "/s", || rate(&[]), || rate(&["--no-waits"]))
}

/// Returns a command for a program that runs in `dir` as a user without special rights. If the benchmark does not run
/// as root, its own user runs the program.
fn without_rights(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(program);
    }
    command.current_dir(dir);
    command
}
