//! Tests with memcached: loadline's counts must equal memcached's own counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::json as value;
use testkit::{Running, alone, binary, free_port, json, program, skip, total};

fn server() -> Option<Running> {
    let Some(memcached) = program("memcached") else {
        skip("memcached", "memcached is not installed");
        return None;
    };
    let port = free_port();
    let mut command = Command::new(memcached);
    command.args(["-u", "nobody", "-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "1"]);
    Some(Running::start(command, port, tempfile::tempdir().unwrap()))
}

/// Returns memcached's counts by name.
fn stats(server: &Running) -> BTreeMap<String, u64> {
    let mut stream = TcpStream::connect(server.addr).unwrap();
    stream.write_all(b"stats\r\n").unwrap();
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    while !said.ends_with("END\r\n") {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&piece[..n]));
    }
    let pair = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    };
    said.lines().filter_map(pair).collect()
}

#[test]
fn command_counts_equal_those_of_the_server() {
    let _alone = alone();
    let Some(server) = server() else { return };
    let file = server.dir.path().join("commands");
    std::fs::write(&file, format!("set key {}\nget key\nget none\nincr key 1\n", "v".repeat(5000))).unwrap();
    let (url, file) = (format!("memcached://{}", server.addr), file.display().to_string());
    for (io, pipeline) in [("epoll", "1"), ("auto", "8")] {
        let before = stats(&server);
        let args = ["load", &url, "--commands", &file, "--io", io, "--pipeline", pipeline, "--connections", "4"];
        let run = json(binary!(), &[&args[..], &["--duration", "1s", "--warmup", "0s"]].concat());
        assert_eq!(run["trials"][0]["errors"], value!({}), "{io}");
        let (completed, wrong) = (total(&run, "completed"), total(&run, "unexpected_status"));
        let after = stats(&server);
        let counted = |name: &str| after[name] - before[name];
        // The stored value is not a number, so the command `incr` fails. Of the commands in the load, only `get` and
        // `set` succeed.
        let (sets, gets) = (counted("cmd_set"), counted("cmd_get"));
        assert_eq!(sets + gets + wrong, completed, "{io}");
        assert!(sets > 20 && wrong > 20 && gets >= 2 * wrong, "{sets} {gets} {wrong}");
        assert!(counted("get_hits") > 20 && counted("get_misses") > 20);
    }
}
