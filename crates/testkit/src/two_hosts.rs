//! A testbed with two hosts, `server` and `client1`, joined by a simulated network. The testbed needs no root rights.

use std::cell::Cell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::need::testbed;
use crate::{SetupError, json_of, or_skip};

const SERVER: &str = "10.77.0.1";

/// The testbed with the two hosts. The testbed is removed when this value is dropped.
pub struct TwoHosts {
    binary: PathBuf,
    dir: tempfile::TempDir,
    /// Port of the next server. Each server gets a new port, because the port of the previous server may still be in
    /// use. The kernel closes an io_uring and its listening socket only some time after the process has ended.
    port: Cell<u16>,
}

impl TwoHosts {
    /// Creates the hosts, joined by `medium` (a simulated network). Skips the test if this machine cannot create a
    /// testbed.
    pub fn up(test: &str, binary: &Path, medium: &str) -> Option<Self> {
        or_skip(test, Self::where_possible(binary, medium))
    }

    /// Creates the hosts, for callers that are not tests. Returns an error if this machine cannot create a testbed.
    pub fn where_possible(binary: &Path, medium: &str) -> Result<Self, SetupError> {
        let way = Self { binary: binary.into(), dir: tempfile::tempdir().unwrap(), port: Cell::new(8080) };
        let output = way.testbed(&["up", "way", "--medium", medium]).output().unwrap();
        testbed(&said(&output))?;
        if output.status.success() { Ok(way) } else { Err(SetupError::Failed(said(&output))) }
    }

    fn testbed(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("testbed").args(arguments).env("XDG_RUNTIME_DIR", self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Returns a command that runs a program on a host.
    pub fn inside(&self, host: &str, program: &Path) -> Command {
        let mut command = self.testbed(&["exec", "way", host, "--"]);
        command.arg(program);
        command
    }

    /// Limits buffers to `bytes` bytes, for connections that a host opens or accepts from now on. `setting` is
    /// `tcp_rmem` or `tcp_wmem`.
    pub fn small_buffers(&self, host: &str, setting: &str, bytes: u32) {
        self.shell(host, &format!("echo 4096 {bytes} {bytes} >/proc/sys/net/ipv4/{setting}"));
    }

    /// Runs a shell command on a host. Fails the test if the command fails.
    #[track_caller]
    pub fn shell(&self, host: &str, line: &str) {
        let output = self.inside(host, Path::new("/bin/sh")).args(["-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {}", said(&output));
    }

    /// Returns the current rate of each wire of the simulated network, bytes per second.
    pub fn rates(&self) -> Vec<f64> {
        let output = self.testbed(&["status", "way", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        let columns = status[0]["medium_use"]["columns"].as_array().unwrap();
        let rates = columns.iter().filter(|column| column["counter"] == "medium.rate");
        rates.map(|column| column["values"][0].as_f64().unwrap()).collect()
    }

    /// Starts `loadline serve http` with `flags` on the host `server`.
    pub fn serve(&self, flags: &[&str]) -> Server {
        self.serve_as("http", flags)
    }

    /// Starts `loadline serve SERVICE` with `flags` on the host `server`.
    pub fn serve_as(&self, service: &str, flags: &[&str]) -> Server {
        let mut command = self.inside("server", Path::new("/bin/sh"));
        command.args(["-c", "echo $$; exec \"$@\"", "sh"]).arg(&self.binary);
        let addr = format!("{SERVER}:{}", self.port.replace(self.port.get() + 1));
        command.args(["serve", service, "--listen", &addr]).args(flags);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = lines.next().unwrap().unwrap();
        assert!(lines.next().unwrap().unwrap().contains("serving"), "the server did not start");
        Server { child, pid, addr }
    }

    /// Starts a server with the flags in `server` (options of `loadline serve http`). Runs the loadline command `what`
    /// on `client1` against the started server, and returns the run.
    #[track_caller]
    pub fn run(&self, what: &str, server: &[&str], more: &[&str]) -> Value {
        let server = self.serve(server);
        json_of(&mut self.client(what, &server, more))
    }

    /// Returns a command that runs the loadline command `what` on `client1`, with `server` as its target.
    pub fn client(&self, what: &str, server: &Server, more: &[&str]) -> Command {
        let mut command = self.inside("client1", &self.binary);
        let url = format!("http://{}/", server.addr);
        command.args([what, &url, "--server-pid", &server.pid]).args(more);
        command
    }
}

/// A server on the host `server`. The server ends when this value is dropped.
pub struct Server {
    child: Child,
    pid: String,
    /// Address and port on which the server listens.
    pub addr: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(&self.pid).status();
        let _ = self.child.wait();
    }
}

impl Drop for TwoHosts {
    fn drop(&mut self) {
        let _ = self.testbed(&["down", "way"]).output();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_string()
}
