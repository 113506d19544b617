//! Throughput of HTTP/3 over a long line that loses packets: loadline against clients made with quic-go, and against
//! oha. The line is a testbed: two network namespaces, joined by a forwarder that delays and drops packets. The server
//! is `loadline serve h3`, for all clients alike.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use testkit::SetupError;

use super::echo::go_peer;
use super::generator::{first_trial, number, number_in_line};
use crate::compare::{Compared, interleave};
use crate::programs;

/// Line between the two hosts. A round trip takes twice the delay, 40 ms.
const LINE: &str = "wan:delay=20ms,loss=1%";
const NAME: &str = "lossy";
/// Address of the host `server` of a testbed, and a port.
const LISTEN: &str = "10.77.0.1:8443";
const CONNECTIONS: &str = "16";
/// Size of a page, bytes. A page takes several round trips.
const PAGE_BYTES: &str = "100000";
const WARM_UP_S: u32 = 2;
const SECONDS: u32 = 10;

/// Compares loadline's throughput with that of a client made with quic-go.
pub(crate) fn quic_go(rounds: usize) -> Result<Compared> {
    let client = go_peer("go-h3")?;
    let line = Line::up()?;
    let url = format!("https://{LISTEN}/");
    let peer = || {
        let mut command = line.command("client1", &client);
        command.args([&url, CONNECTIONS, &WARM_UP_S.to_string(), &SECONDS.to_string()]);
        let text = programs::output(&mut command)?;
        ensure!(number_after(&text, "failures")? == 0.0, "requests of quic-go failed: {text}");
        Ok(number_after(&text, "pages")? / f64::from(SECONDS))
    };
    interleave(rounds, "1/s", || line.ours(), peer)
}

/// Compares loadline's throughput with oha's. oha has no warm-up, and does not count the requests in flight at the end.
/// Its figure is therefore slightly too low.
pub(crate) fn oha(rounds: usize) -> Result<Compared> {
    let oha = programs::find("oha")?;
    let line = Line::up()?;
    let (url, length) = (format!("https://{LISTEN}/"), format!("{}s", 2 * SECONDS));
    let peer = || {
        let mut command = line.command("client1", &oha);
        command.args(["--no-tui", "--insecure", "--http-version", "3", "-c", CONNECTIONS, "-z", &length, &url]);
        number_in_line(&programs::output(&mut command)?, "Requests/sec:")
    };
    interleave(rounds, "1/s", || line.ours(), peer)
}

/// Returns the number behind a word.
fn number_after(text: &str, word: &str) -> Result<f64> {
    let mut words = text.split_whitespace().skip_while(|other| *other != word);
    let number = words.nth(1).and_then(|number| number.parse().ok());
    number.with_context(|| format!("no {word} in {text:?}"))
}

/// A testbed of two hosts with a server, which ends when this value is dropped.
struct Line {
    loadline: PathBuf,
    dir: TempDir,
    server: Option<Child>,
}

impl Line {
    /// Creates the testbed, and starts the server.
    fn up() -> Result<Self> {
        let mut line = Self { loadline: programs::loadline()?, dir: TempDir::new()?, server: None };
        let made = line.testbed(&["up", NAME, "--medium", LINE]).stdout(Stdio::null()).status()?;
        ensure!(made.success(), SetupError::Missing("this machine cannot make a testbed".into()));
        let mut command = line.command("server", &line.loadline);
        command.args(["serve", "h3", "--listen", LISTEN, "--body-bytes", PAGE_BYTES]);
        let server = line.server.insert(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
        let mut said = String::new();
        BufReader::new(server.stdout.take().context("no output")?).read_line(&mut said)?;
        ensure!(said.contains("serving"), "the server did not start: {said:?}");
        Ok(line)
    }

    fn testbed(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.loadline);
        command.arg("testbed").args(arguments).env("XDG_RUNTIME_DIR", self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Returns a command that runs a program on a host.
    fn command(&self, host: &str, program: &Path) -> Command {
        let mut command = self.testbed(&["exec", NAME, host, "--"]);
        command.arg(program);
        command
    }

    /// Returns loadline's throughput, pages per second.
    fn ours(&self) -> Result<f64> {
        let mut command = self.command("client1", &self.loadline);
        let (url, length) = (format!("h3://{LISTEN}/"), format!("{SECONDS}s"));
        command.args([
            "load",
            &url,
            "--insecure",
            "--threads",
            "1",
            "--connections",
            CONNECTIONS,
            "--duration",
            &length,
        ]);
        let run = serde_json::from_str(&programs::output(command.arg("--json"))?)?;
        number(first_trial(&run)?, "completed_rate")
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = self.testbed(&["down", NAME]).output();
    }
}
