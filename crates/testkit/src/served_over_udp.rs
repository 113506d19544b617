//! A loadline server on a UDP port; tests cannot see from outside whether a UDP port is ready.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{ChildProcess, eventually, signal};

/// A running loadline server on a UDP port.
pub struct ServedOverUdp {
    held: ChildProcess,
    /// Address of the server.
    pub addr: SocketAddr,
    dir: TempDir,
}

impl ServedOverUdp {
    /// Starts the server that `command` describes, with the additional option `--listen` and a free address.
    pub fn start(mut command: Command) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let said = std::fs::File::create(dir.path().join("said")).unwrap();
        command.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(said).stderr(Stdio::null());
        let held = ChildProcess::start(&mut command);
        let addr = eventually(|| {
            let said = std::fs::read_to_string(dir.path().join("said")).ok()?;
            said.split_whitespace().find_map(|word| word.parse().ok())
        });
        Self { held, addr, dir }
    }

    /// Stops the server, and returns the numbers of connections and of requests that it counted.
    pub fn stop(self) -> (u64, u64) {
        signal(self.held.pid(), "TERM");
        eventually(|| {
            let said = std::fs::read_to_string(self.dir.path().join("said")).ok()?;
            let line = said.lines().find(|line| line.starts_with("accepted "))?;
            let number = |word: &str| word.replace(',', "").parse().ok();
            let mut numbers = line.split_whitespace().filter_map(number);
            Some((numbers.next()?, numbers.next()?))
        })
    }
}
