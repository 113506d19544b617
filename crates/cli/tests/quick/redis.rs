//! Tests with redis-server: loadline's counts must equal the server's own counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{Running, alone, binary, free_port, json, program, refused, skip, total};

/// Starts redis-server without persistence, optionally with a password.
fn server(test: &str, password: Option<&str>) -> Option<Running> {
    let Some(redis) = program("redis-server") else {
        skip(test, "redis-server is not installed");
        return None;
    };
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    let mut command = Command::new(redis);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(dir.path());
    command.args(password.map(|p| ["--requirepass", p]).into_iter().flatten());
    Some(Running::start(command, port, dir))
}

/// Returns two of the server's counts for a command: the number of calls, and the number of failed calls.
fn calls(server: &Running, command: &str) -> (u64, u64) {
    let mut stream = TcpStream::connect(server.addr).unwrap();
    stream.write_all(b"INFO commandstats\r\nECHO end\r\n").unwrap();
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    while !said.ends_with("$3\r\nend\r\n") {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "{said}");
        said.push_str(&String::from_utf8_lossy(&piece[..n]));
    }
    let line = said.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:"))).unwrap_or_default();
    let of =
        |name: &str| line.split([':', ',']).find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    (of("calls").unwrap_or(0), of("failed_calls").unwrap_or(0))
}

fn load(server: &Running, more: &[&str]) -> Value {
    let url = format!("redis://{}", server.addr);
    let mut args = vec!["load", &url, "--connections", "8", "--duration", "500ms", "--warmup", "0s", "--at-rest", "0s"];
    args.extend(more);
    let run = json(binary!(), &args);
    assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
    run
}

#[test]
fn command_counts_equal_those_of_the_server() {
    let _alone = alone();
    let Some(server) = server("redis", None) else { return };
    for (io, pipeline) in [("epoll", "1"), ("auto", "1"), ("auto", "16")] {
        let before = calls(&server, "ping").0;
        let run = load(&server, &["--io", io, "--pipeline", pipeline]);
        let completed = total(&run, "completed");
        assert!(completed > 50);
        assert_eq!(calls(&server, "ping").0 - before, completed, "{io} {pipeline}");
    }
    let file = server.dir.path().join("commands");
    std::fs::write(&file, "SET k \"some value\"\nGET k\nLPUSH k x\nLRANGE none 0 -1\n").unwrap();
    let run = load(&server, &["--commands", &file.display().to_string(), "--database", "3", "--resp", "3"]);
    let wrong = total(&run, "unexpected_status");
    assert_eq!(calls(&server, "lpush"), (wrong, wrong), "a push to what is no list is an error");
    assert!(total(&run, "completed") > 3 * wrong && wrong > 10);
    assert!(total(&run, "handshakes") >= 8);
}

#[test]
fn a_password_is_sent_and_a_missing_one_is_named() {
    let Some(server) = server("redis AUTH", Some("secret-of-the-test")) else { return };
    let file = server.dir.path().join("password");
    std::fs::write(&file, "secret-of-the-test\n").unwrap();
    let run = load(&server, &["--auth-file", &file.display().to_string()]);
    assert!(total(&run, "completed") > 100 && !run.to_string().contains("secret-of-the-test"));
    std::fs::write(&file, "wrong").unwrap();
    let url = format!("redis://{}", server.addr);
    let said = refused(binary!(), &["load", &url, "--auth-file", &file.display().to_string()]);
    assert!(said.contains("WRONGPASS") && said.contains("--auth-file"), "{said}");
}

#[test]
fn within_tls_command_counts_equal_those_of_the_server() {
    let _alone = alone();
    let Some(redis) = program("redis-server") else { return skip("redis within TLS", "redis-server is not installed") };
    if !testkit::has("redis within TLS", "openssl") {
        return;
    }
    let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
    testkit::self_signed(dir.path());
    let path = |name: &str| dir.path().join(name).display().to_string();
    let mut command = Command::new(redis);
    command.args([
        "--port",
        "0",
        "--tls-port",
        &port.to_string(),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
    ]);
    command.args([
        "--tls-cert-file",
        &path("cert"),
        "--tls-key-file",
        &path("key"),
        "--tls-auth-clients",
        "no",
        "--dir",
    ]);
    command.arg(dir.path());
    let server = Running::start(command, port, dir);
    let url = format!("rediss://localhost:{port}");
    let args = ["load", &url, "--insecure", "--connections", "4", "--duration", "500ms", "--warmup", "0s"];
    let run = json(binary!(), &[&args[..], &["--at-rest", "0s"]].concat());
    assert_eq!(run["trials"][0]["errors"], value!({}));
    let completed = total(&run, "completed");
    assert!(completed > 100 && total(&run, "handshakes") >= 4, "{completed}");
    let asks = ["--tls", "--insecure", "-p", &port.to_string(), "INFO", "commandstats"];
    let Some(cli) = program("redis-cli") else { return skip("redis within TLS", "redis-cli is not installed") };
    let said = Command::new(cli).args(asks).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains(&format!("cmdstat_ping:calls={completed},")), "{completed}: {said}");
    drop(server);
}
