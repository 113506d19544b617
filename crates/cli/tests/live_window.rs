//! Small buffers behind a long way, named by `find`: a window a round trip is the limit, whichever end's buffer makes it.
//! Needs no root: the hosts are a testbed's. Takes the release binary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use testkit::{binary, bottleneck, has_testbed, json_of, num, release_binary, verdict};

/// Much longer than what a busy machine adds, so that the round trip stays that of the way.
const MEDIUM: &str = "wan:delay=15ms";
const SERVER: &str = "10.77.0.1";

/// Two hosts on a long way; they end with this value.
struct Way {
    binary: PathBuf,
    dir: tempfile::TempDir,
    /// The next server's. Never the last one's: the kernel ends an io_uring, and the listener that it holds, only a little
    /// after its process.
    port: Cell<u16>,
}

impl Way {
    /// Says that the test is left out where this machine has no testbed.
    fn up(test: &str, binary: PathBuf) -> Option<Self> {
        let way = Self { binary, dir: tempfile::tempdir().unwrap(), port: Cell::new(8080) };
        let output = way.testbed(&["up", "way", "--medium", MEDIUM]).output().unwrap();
        let there = has_testbed(test, &said(&output));
        assert!(output.status.success() || !there, "{}", said(&output));
        there.then_some(way)
    }

    fn testbed(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("testbed").args(arguments).env("XDG_RUNTIME_DIR", self.dir.path()).stdin(Stdio::null());
        command
    }

    fn inside(&self, host: &str, program: &Path) -> Command {
        let mut command = self.testbed(&["exec", "way", host, "--"]);
        command.arg(program);
        command
    }

    /// Buffers of at most `bytes` for the connections that a host opens or accepts from now on.
    fn small_buffers(&self, host: &str, setting: &str, bytes: u32) {
        let set = format!("echo 4096 {bytes} {bytes} >/proc/sys/net/ipv4/{setting}");
        let output = self.inside(host, Path::new("/bin/sh")).args(["-c", &set]).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }

    /// A server of answers of so many bytes.
    fn serve(&self, body: u32) -> Server {
        let mut command = self.inside("server", Path::new("/bin/sh"));
        command.args(["-c", "echo $$; exec \"$@\"", "sh"]).arg(&self.binary);
        let addr = format!("{SERVER}:{}", self.port.replace(self.port.get() + 1));
        command.args(["serve", "http", "--listen", &addr, "--body-bytes", &body.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = lines.next().unwrap().unwrap();
        assert!(lines.next().unwrap().unwrap().contains("serving"), "the server did not start");
        Server { child, pid, addr }
    }

    fn find(&self, body: u32) -> Value {
        self.run("find", body, &["--budget", "16s", "--connections", "8"])
    }

    fn run(&self, what: &str, body: u32, more: &[&str]) -> Value {
        let server = self.serve(body);
        let mut command = self.inside("client1", &self.binary);
        let url = format!("http://{}/", server.addr);
        command.args([what, &url, "--server-pid", &server.pid]).args(more);
        json_of(&mut command)
    }
}

/// A server in a host; it ends with this value.
struct Server {
    child: Child,
    pid: String,
    addr: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(&self.pid).status();
        let _ = self.child.wait();
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        let _ = self.testbed(&["down", "way"]).output();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_string()
}

/// The figure of the verdict's evidence from this counter.
fn evidence(run: &Value, counter: &str) -> f64 {
    let lines = run["findings"]["bottleneck"]["evidence"].as_array().into_iter().flatten();
    lines.filter(|e| e["counter"] == counter).map(|e| num(&e["value"])).next().unwrap_or(f64::NAN)
}

#[test]
fn a_small_buffer_at_either_end_of_a_long_way_is_a_window() {
    let Some(binary) = release_binary("tcp-window", binary!()) else { return };
    let Some(way) = Way::up("tcp-window", binary) else { return };
    let free = way.find(131_072);
    assert_ne!(bottleneck(&free), "tcp-window", "nothing is small yet: {}", verdict(&free));

    way.small_buffers("client1", "tcp_rmem", 32768);
    let run = way.find(131_072);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.peer_window") < 65536.0, "{}", verdict(&run));

    // Half of the window, half of the throughput: that is what a window does and a full link does not.
    let run = way.run("prove", 131_072, &["--connections", "8", "--budget", "48s"]);
    let proof = &run["findings"]["proof"];
    assert_eq!((bottleneck(&run), &proof["outcome"]), ("tcp-window", &"proven".into()), "{}\n{proof:#}", verdict(&run));

    way.small_buffers("client1", "tcp_rmem", 4 << 20);
    way.small_buffers("server", "tcp_wmem", 65536);
    // Many buffers, whether a segment of its bytes takes 2 KiB of it (no offloads) or the kernel's pieces are larger.
    let run = way.find(524_288);
    assert_eq!(bottleneck(&run), "tcp-window", "{}", verdict(&run));
    assert!(evidence(&run, "connection.write_full") >= 0.5, "{}", verdict(&run));
}
