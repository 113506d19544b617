//! Throughput of HTTP/3 over a long line that loses packets: loadline against clients made with quic-go, and against
//! oha. The line is a testbed: two network namespaces, joined by a forwarder that delays and drops packets. The server
//! is `loadline serve h3`, for all clients alike.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use testkit::{Server, TwoHosts};

use super::echo::go_peer;
use super::generator::{first_trial, number, number_in_line};
use crate::compare::{Compared, interleave};
use crate::programs;

/// Line between the two hosts. A round trip takes twice the delay, 40 ms.
const LINE: &str = "wan:delay=20ms,loss=1%";
const CONNECTIONS: &str = "16";
/// Size of a page, bytes. A page takes several round trips.
const PAGE_BYTES: &str = "100000";
const WARM_UP_S: u32 = 2;
const SECONDS: u32 = 10;

/// Compares loadline's throughput with that of a client made with quic-go.
pub(crate) fn quic_go(rounds: usize) -> Result<Compared> {
    let client = go_peer("go-h3")?;
    let line = Line::up()?;
    let url = format!("https://{}/", line.server.addr);
    let peer = || {
        let mut command = line.hosts.inside("client1", &client);
        command.args([&url, CONNECTIONS, &WARM_UP_S.to_string(), &SECONDS.to_string()]);
        let text = programs::output(&mut command)?;
        ensure!(number_in_line(&text, "failures")? == 0.0, "requests of quic-go failed: {text}");
        Ok(number_in_line(&text, "pages")? / f64::from(SECONDS))
    };
    interleave(rounds, "1/s", || line.ours(), peer)
}

/// Compares loadline's throughput with oha's. oha has no warm-up, and does not count the requests in flight at the end.
/// The figure of oha is therefore slightly too low.
pub(crate) fn oha(rounds: usize) -> Result<Compared> {
    let oha = programs::find("oha")?;
    let line = Line::up()?;
    let (url, length) = (format!("https://{}/", line.server.addr), format!("{}s", 2 * SECONDS));
    let peer = || {
        let mut command = line.hosts.inside("client1", &oha);
        command.args(["--no-tui", "--insecure", "--http-version", "3", "-c", CONNECTIONS, "-z", &length, &url]);
        number_in_line(&programs::output(&mut command)?, "Requests/sec:")
    };
    interleave(rounds, "1/s", || line.ours(), peer)
}

/// A testbed of two hosts with a server. The server ends before the testbed, so it is the earlier field.
struct Line {
    loadline: PathBuf,
    server: Server,
    hosts: TwoHosts,
}

impl Line {
    /// Creates the testbed, and starts the server.
    fn up() -> Result<Self> {
        let loadline = programs::loadline()?;
        let hosts = TwoHosts::where_possible(&loadline, LINE)?;
        let server = hosts.serve_as("h3", &["--body-bytes", PAGE_BYTES]);
        Ok(Self { loadline, server, hosts })
    }

    /// Returns loadline's throughput, pages per second.
    fn ours(&self) -> Result<f64> {
        let mut command = self.hosts.inside("client1", &self.loadline);
        let (url, length) = (format!("h3://{}/", self.server.addr), format!("{SECONDS}s"));
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
