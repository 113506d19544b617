//! HAProxy and nginx in front of and behind loadline's servers. The back-end server must not execute a request that the
//! front-end server did not recognize as a request.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{Running, free_port, program, skip};

use super::common::{proxy, text};
use super::{credulous, http, right, say, wrong};

/// Returns the requests that nginx or HAProxy has logged, one per line. A request is logged when it ends, possibly
/// after the client got the response.
fn log(peer: &Running) -> String {
    std::fs::read(peer.dir.path().join("log")).map(|bytes| text(&bytes)).unwrap_or_default()
}

/// Starts nginx as a proxy of `to`, or as a server if `to` is `None`.
fn nginx(to: Option<SocketAddr>) -> Option<Running> {
    let (program, port, dir) = (program("nginx")?, free_port(), tempfile::tempdir().unwrap());
    let d = dir.path().display().to_string();
    let (pool, place) = match to {
        Some(to) => (
            format!("upstream back {{ server {to}; keepalive 4; }}"),
            "proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_request_buffering off; proxy_ignore_client_abort on;",
        ),
        None => (String::new(), "return 200 ok;"),
    };
    let config = format!(
        "daemon off; master_process off; pid {d}/pid; error_log {d}/error; events {{ worker_connections 400; }}
         http {{ log_format path '$request'; access_log {d}/log path; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s; {pool}
           server {{ listen 127.0.0.1:{port}; location / {{ {place} }} }} }}"
    );
    std::fs::write(dir.path().join("conf"), config).unwrap();
    let mut command = Command::new(program);
    command.args(["-c", &format!("{d}/conf"), "-e", &format!("{d}/error")]);
    Some(Running::start(command, port, dir))
}

/// Starts HAProxy as a proxy of `to`, or as a server if `to` is `None`.
fn haproxy(to: Option<SocketAddr>) -> Option<Running> {
    let (program, port, dir) = (program("haproxy")?, free_port(), tempfile::tempdir().unwrap());
    let place = match to {
        Some(to) => format!("default_backend back\nbackend back\n  http-reuse always\n  server s {to}\n"),
        None => "http-request return status 200 content-type text/plain string ok\n".into(),
    };
    let config = format!(
        "global\n  log stdout format raw local0\ndefaults\n  mode http\n  log global\n  log-format \"%{{+Q}}r\"\n  timeout connect 5s
  timeout client 5s\n  timeout server 5s\nfrontend front\n  bind 127.0.0.1:{port}\n  {place}"
    );
    std::fs::write(dir.path().join("conf"), config).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" -db -f conf >log"]).arg(program).current_dir(dir.path());
    Some(Running::start(command, port, dir))
}

type Start = fn(Option<SocketAddr>) -> Option<Running>;
const PEERS: [(&str, Start); 2] = [("nginx", nginx), ("haproxy", haproxy)];

/// Sends two requests in one write, and reads until both are answered or the server closes the connection. The sending
/// side stays open, because HAProxy may ignore the second request of a client that has closed its sending side.
fn two_answers(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = std::net::TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    while text(&all).matches("HTTP/1.1 200 ").count() < 2 {
        match stream.read(&mut piece) {
            Ok(n @ 1..) => all.extend_from_slice(&piece[..n]),
            _ => break,
        }
    }
    text(&all)
}

/// Sends every malformed request through a front end (a proxy). After each request, waits until the back-end server has
/// counted no more requests than the front end has logged.
fn no_more_than(front: &Running, name: &str, logged: impl Fn(&str) -> usize, behind: impl Fn() -> usize) {
    for (shape, _, bytes, _) in wrong() {
        say(front.addr, &bytes);
        let until = Instant::now() + Duration::from_secs(20);
        while behind() > logged(&log(front)) {
            assert!(Instant::now() < until, "{name}, {shape}: {} behind it, its log: {}", behind(), log(front));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let answer = two_answers(front.addr, &right().next().unwrap());
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{name} passes on what is right: {answer}");
    assert!(behind() >= 1, "{name}: something was counted");
}

#[test]
fn our_server_sees_no_request_that_another_front_end_did_not_see() {
    const NAME: &str = "our_server_sees_no_request_that_another_front_end_did_not_see";
    for (name, start) in PEERS {
        let back = http();
        let Some(front) = start(Some(back.local_addr())) else {
            skip(NAME, format!("{name} is not installed"));
            continue;
        };
        no_more_than(&front, name, |log| log.lines().count(), || back.stats().requests as usize);
        let (addr, seen) = credulous();
        let back = proxy(addr, "epoll", &[]);
        let Some(front) = start(Some(back.local_addr())) else { unreachable!("{name} was there") };
        let hidden = || text(&seen.lock().unwrap()).matches("GET /hidden").count();
        no_more_than(&front, name, |log| log.matches("/hidden").count(), hidden);
    }
}

#[test]
fn our_proxy_forwards_no_malformed_request_to_other_servers() {
    const NAME: &str = "our_proxy_forwards_no_malformed_request_to_other_servers";
    for (name, start) in PEERS {
        let Some(back) = start(None) else {
            skip(NAME, format!("{name} is not installed"));
            continue;
        };
        let server = proxy(back.addr, "epoll", &[]);
        for (shape, _, bytes, _) in wrong() {
            let answer = say(server.local_addr(), &bytes);
            assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{name}, {shape}: {answer}");
        }
        for bytes in right() {
            let answer = say(server.local_addr(), &bytes);
            assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{name}: {} gave {answer}", text(&bytes));
        }
        // The log must contain the hidden request once for each valid message, and never for a malformed message.
        let hidden = || log(&back).matches("/hidden").count();
        let until = Instant::now() + Duration::from_secs(20);
        while hidden() < right().count() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(hidden(), right().count(), "{name}: {}", log(&back));
    }
}
