//! Tests of HTTP over TLS with HAProxy. The requests and handshakes that loadline counts must equal HAProxy's counters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use serde_json::json as value;
use testkit::{Running, alone, binary, eventually, free_port, has, json, program, total};

fn haproxy(dir: &Path, port: u16) -> Running {
    testkit::self_signed(dir);
    let both = ["cert", "key"].map(|name| std::fs::read_to_string(dir.join(name)).unwrap()).concat();
    std::fs::write(dir.join("both"), both).unwrap();
    let d = dir.display();
    let config = format!(
        "global\n stats socket {d}/stats\n maxconn 500\n\
         defaults\n mode http\n timeout client 30s\n timeout server 30s\n timeout connect 5s\n\
         frontend front\n bind 127.0.0.1:{port} ssl crt {d}/both alpn h2,http/1.1\n\
         \x20http-request return status 200 content-type text/plain string hello\n"
    );
    std::fs::write(dir.join("conf"), config).unwrap();
    let mut command = Command::new(program("haproxy").unwrap());
    command.arg("-db").arg("-f").arg(dir.join("conf"));
    Running::start(command, port, tempfile::tempdir().unwrap())
}

/// Sends a command to HAProxy's control socket, and returns the answer.
fn said(dir: &Path, command: &str) -> String {
    let mut stats = UnixStream::connect(dir.join("stats")).unwrap();
    stats.write_all(format!("{command}\n").as_bytes()).unwrap();
    let mut said = String::new();
    stats.read_to_string(&mut said).unwrap();
    said
}

/// Returns two of HAProxy's counters since its start: requests of the frontend, and TLS connections.
fn counted(dir: &Path) -> (u64, u64) {
    let table = said(dir, "show stat");
    let mut lines = table.trim_start_matches("# ").lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "req_tot").unwrap();
    let front = lines.find(|line| line.starts_with("front,FRONTEND,")).unwrap();
    let requests = front.split(',').nth(column).unwrap().parse().unwrap();
    let info = said(dir, "show info");
    let handshakes = info.lines().find_map(|line| line.strip_prefix("CumSslConns: ")).unwrap().parse().unwrap();
    (requests, handshakes)
}

#[test]
fn counts_equal_those_of_haproxy() {
    let _alone = alone();
    if !has("https to HAProxy", "haproxy") || !has("https to HAProxy", "openssl") {
        return;
    }
    let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
    let _server = haproxy(dir.path(), port);
    let url = format!("https://127.0.0.1:{port}/");
    // HAProxy may be late in counting the connection with which the test checked that HAProxy listens.
    let (mut requests, mut handshakes) = eventually(|| Some(counted(dir.path())).filter(|seen| seen.1 > 0));
    let kinds: [&[&str]; 4] =
        [&["--tls", "1.3"], &["--tls", "1.2"], &["--new-connections"], &["--http2", "--streams", "5"]];
    for more in kinds {
        let load = ["load", &url, "--insecure", "--connections", "4", "--duration", "400ms", "--warmup", "0s"];
        // HAProxy counts a connection that the end of the preceding load cut only when HAProxy finds the cut. The test
        // waits until HAProxy's count of connections is stable.
        eventually(|| {
            let before = std::mem::replace(&mut handshakes, counted(dir.path()).1);
            std::thread::sleep(std::time::Duration::from_millis(200));
            (before == handshakes && counted(dir.path()).1 == handshakes).then_some(())
        });
        let run = json(binary!(), &[&load[..], more].concat());
        assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
        let completed = total(&run, "completed");
        assert!(completed > 5 && total(&run, "sent") == completed, "{more:?}: {completed}");
        requests += completed;
        let seen = eventually(|| Some(counted(dir.path())).filter(|seen| seen.0 >= requests));
        assert_eq!(seen.0, requests, "{more:?}");
        // HAProxy also counts connections that the end of the load cut off. loadline leaves out their handshakes if it
        // did not know that they were complete.
        let whole = total(&run, "handshakes")..=total(&run, "attempted");
        assert!(whole.contains(&(seen.1 - handshakes)), "{more:?}: {} is not in {whole:?}", seen.1 - handshakes);
    }
}
