//! Tests of server models that divide connections into groups, with one thread per group. In each test, the server's
//! file descriptors do not suffice to start its next group of connections, or to serve this group. The server must
//! reset and report the connections of this group, and must not leave them open without an answer. All groups that
//! already serve connections must continue.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{Running, binary, free_port, has};

/// Model, option, connections per group, and number of descriptors left for the next group, without the connection's
/// own descriptor. In the first case, no descriptor is left for the group. In the second case, one descriptor is left,
/// for the waker of the group's thread. In the third case, the descriptors suffice for the group's waker and its ring,
/// but not for all events.
const CASES: [(&str, &str, usize, u64); 3] =
    [("event-groups", "fair=0", 63, 0), ("uring-groups", "literal=0", 62, 1), ("uring-groups", "literal=1", 62, 10)];
const PATIENCE: Duration = Duration::from_secs(20);

fn serve(model: &str, option: &str) -> Running {
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>\"$0\""]).arg(dir.path().join("said"));
    command.arg(binary!());
    command.args(["serve", "echo", "--model", model, "--option", option, "--listen", &format!("127.0.0.1:{port}")]);
    Running::start(command, port, dir)
}

/// Sends a byte to an echo server, and reads one byte. Returns `Ok` if the sent byte comes back, otherwise the kind of
/// error with which the connection ended.
fn exchange(stream: &mut TcpStream) -> Result<(), ErrorKind> {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"x").map_err(|e| e.kind())?;
    stream.read_exact(&mut [0]).map_err(|e| e.kind())
}

fn connected(server: &Running) -> TcpStream {
    TcpStream::connect(server.addr).unwrap()
}

/// Returns the number of the server's threads that each serve a group of connections. The number may be two if the
/// connection that waited for the server's start is still in the first group.
fn groups(pid: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "serve-group").count()
}

/// Lowers the descriptor limit of a process so that `free` more descriptors can be opened.
fn leave(pid: u32, free: u64) {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut numbers: Vec<u64> = open.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    let mut limit = 0;
    let mut left = free;
    while left > 0 || numbers.binary_search(&limit).is_ok() {
        left -= u64::from(numbers.binary_search(&limit).is_err());
        limit += 1;
    }
    let status =
        Command::new("prlimit").args(["--pid", &pid.to_string(), &format!("--nofile={limit}:{limit}")]).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_group_without_descriptors_resets_its_connections_and_others_serve() {
    if !has("groups without descriptors", "prlimit") {
        return;
    }
    for (model, option, capacity, spare) in CASES {
        let server = serve(model, option);
        let mut first = Vec::new();
        while first.is_empty() || first.len() < groups(server.pid()) * capacity {
            let mut stream = connected(&server);
            assert_eq!(exchange(&mut stream), Ok(()), "{model} {option}");
            first.push(stream);
        }
        leave(server.pid(), 1 + spare);
        for _ in 0..3 {
            let ended =
                exchange(&mut connected(&server)).expect_err(&format!("{model} {option}: there is no group for it"));
            let told = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof].contains(&ended);
            assert!(told, "{model} {option}: {ended:?}, not left without a word");
        }
        // When a connection of a working group closes, the group must accept a new connection.
        assert_eq!(exchange(&mut first[0]), Ok(()), "{model} {option}");
        first.pop();
        let again = Instant::now();
        while exchange(&mut connected(&server)).is_err() {
            assert!(again.elapsed() < PATIENCE, "{model} {option}: the group that lives takes nobody");
        }
        let said = || std::fs::read_to_string(server.dir.path().join("said")).unwrap();
        let asked = Instant::now();
        while !said().contains("Too many open files") {
            assert!(asked.elapsed() < PATIENCE, "{model} {option}: {}", said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
