//! A medium that is full is proven by slowing it, and is as fast as it was afterwards, also when loadline was killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{
    Held, alone, binary, bottleneck, eventually, eventually_within, has_testbed, json_of, num, signal, verdict,
};

const PORT: u16 = 8080;

/// A named testbed with a server in it. It ends with this value.
struct Lan {
    dir: tempfile::TempDir,
    _server: Held,
}

impl Lan {
    /// Nothing where this machine cannot make one.
    fn up(test: &str, medium: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let output = testbed(dir.path(), &["up", "lan", "--medium", medium]).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if !has_testbed(test, &words) {
            return None;
        }
        assert!(output.status.success(), "{words}");
        let listen = format!("10.77.0.1:{PORT}");
        let mut serve = inside(dir.path(), "server", &["serve", "http", "--listen", &listen, "--body-bytes", "20000"]);
        let server = Held::start(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        let lan = Self { dir, _server: server };
        let listens = format!(":{PORT:04X} 00000000:0000 0A");
        let table = format!("/proc/{}/net/tcp", lan.status()["hosts"][0]["netns_pid"]);
        eventually(|| std::fs::read_to_string(&table).unwrap().contains(&listens).then_some(()));
        Some(lan)
    }

    /// loadline in the client's host.
    fn client(&self, args: &[&str]) -> Command {
        inside(self.dir.path(), "client1", args)
    }

    fn status(&self) -> Value {
        let output = testbed(self.dir.path(), &["status", "lan", "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()[0].clone()
    }

    /// Bytes per second that each wire has at this moment.
    fn rates(&self) -> Vec<f64> {
        let status = self.status();
        let columns = status["medium_use"]["columns"].as_array().unwrap();
        columns.iter().filter(|c| c["counter"] == "medium.rate").map(|c| num(&c["values"][0])).collect()
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        let _ = testbed(self.dir.path(), &["down", "lan"]).output();
    }
}

fn testbed(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary!());
    command.arg("testbed").args(args).env("XDG_RUNTIME_DIR", dir);
    command
}

fn inside(dir: &Path, host: &str, args: &[&str]) -> Command {
    let mut command = testbed(dir, &["exec", "lan", host, "--"]);
    command.arg(binary!()).args(args);
    command
}

fn url() -> String {
    format!("http://10.77.0.1:{PORT}/")
}

/// Proves the verdict on a full medium, and says how throughput followed it.
fn proven(test: &str, medium: &str) {
    let _alone = alone();
    let Some(lan) = Lan::up(test, medium) else { return };
    let before = lan.rates();
    let run = json_of(&mut lan.client(&["prove", &url(), "--connections", "8", "--budget", "40s"]));
    let proof = &run["findings"]["proof"];
    assert_eq!(
        (bottleneck(&run), &proof["outcome"]),
        ("network-medium", &"proven".into()),
        "{}\n{proof:#}",
        verdict(&run)
    );
    assert_eq!(
        (&proof["prediction"]["lever"], &proof["measured"]["lever"]),
        (&"link".into(), &"link".into()),
        "{proof:#}"
    );
    let shares = proof["elasticities"].as_array().unwrap();
    let link = shares.iter().find(|share| share["lever"] == "link").unwrap();
    println!("{medium}: {}, elasticity {link}", proof["why"]);
    assert!(num(&link["value"]) > 0.7, "{proof:#}");
    assert_eq!(lan.rates(), before);
}

#[test]
fn a_full_shared_wire_is_proven() {
    proven("a_full_shared_wire_is_proven", "ethernet10");
}

#[test]
fn a_full_switch_is_proven() {
    proven("a_full_switch_is_proven", "switch:20M");
}

#[test]
fn a_medium_is_as_fast_as_before_once_whoever_slowed_it_was_killed() {
    let _alone = alone();
    let Some(lan) = Lan::up("a kill while a medium is slow", "switch:20M") else { return };
    let full = lan.rates();
    let out = lan.dir.path().join("out");
    let mut command = lan.client(&["prove", &url(), "--connections", "8", "--budget", "40s", "--out"]);
    let proving = Held::start(command.arg(out).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    eventually_within(Duration::from_secs(40), || (lan.rates() != full).then_some(()));
    signal(proving.pid(), "KILL");
    eventually(|| (lan.rates() == full).then_some(()));
}
