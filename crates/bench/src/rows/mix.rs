//! The generator's CPU time per request with a mix of 100 weighted requests of 1 KiB, each in its own class. The CPU
//! time is compared with that of repeating a single request.

use std::fmt::Write as _;
use std::net::SocketAddr;

use anyhow::Result;

use super::generator::{CONNECTIONS, SECONDS, first_trial, json, number};
use crate::compare::{Compared, interleave};
use crate::{cpu, programs};

/// Number of requests in the mix.
const REQUESTS: usize = 100;
/// Size of a request in bytes, including its head.
const BYTES: usize = 1024;

/// Measures the generator's CPU microseconds per request.
pub(crate) fn cpu(rounds: usize) -> Result<Compared> {
    let (nginx, dir) = (programs::nginx()?, tempfile::tempdir()?);
    let (file, addr) = (dir.path().join("mix.toml"), nginx.addr);
    std::fs::write(&file, requests(addr))?;
    let (url, file) = (format!("http://{addr}"), file.display().to_string());
    let (one, header) = (format!("{url}{}", path(0)), format!("X-Fill: {}", fill(addr, 0)));
    let mix = || per_request(&["load", &url, "--requests", &file]);
    interleave(rounds, "us", mix, || per_request(&["load", &one, "--header", &header]))
}

fn path(item: usize) -> String {
    format!("/file?item={item:03}")
}

/// Returns the text that lengthens a request to [`BYTES`] bytes.
fn fill(addr: SocketAddr, item: usize) -> String {
    let agent = concat!("loadline/", env!("CARGO_PKG_VERSION"));
    let path = path(item);
    let bare = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nUser-Agent: {agent}\r\nX-Fill: \r\n\r\n");
    "x".repeat(BYTES - bare.len())
}

/// Builds the request mix that the load sends. The requests have different names and therefore different classes. The
/// weights of the requests are 1 to 7.
fn requests(addr: SocketAddr) -> String {
    (0..REQUESTS).fold(String::new(), |mut text, item| {
        let (path, fill, weight) = (path(item), fill(addr, item), 1 + item % 7);
        let head = format!("[[request]]\nname = \"item {item}\"\npath = \"{path}\"\nweight = {weight}");
        let _ = writeln!(text, "{head}\nheaders = {{ X-Fill = \"{fill}\" }}\n");
        text
    })
}

fn per_request(what: &[&str]) -> Result<f64> {
    let connections = CONNECTIONS.to_string();
    let how = ["--connections", &connections, "--threads", "1", "--json", "--duration"];
    let (run, cpu_us) = cpu::of_children(|| json(&[what, &how].concat(), &format!("{SECONDS}s")))?;
    Ok(cpu_us / number(first_trial(&run)?, "completed")?)
}
