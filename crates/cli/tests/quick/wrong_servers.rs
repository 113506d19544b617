//! Tests of servers that speak another protocol than the URL says, and of malicious servers. For each of these servers,
//! loadline must print one clear sentence and must end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use testkit::{Running, binary, loadline, served};

/// Maximum number of bytes that a malicious server sends on one connection. loadline accepts answers only up to certain
/// sizes, which are all far below `FLOOD`.
const FLOOD: usize = 64 << 20;

fn serve(args: &[&str]) -> Running {
    let mut command = Command::new(binary!());
    command.arg("serve").args(args);
    served(command)
}

/// Runs `load` against a target that loadline must refuse, and returns the error.
fn said(url: &str, more: &[&str]) -> String {
    let output = loadline(binary!(), &[&["load", url, "--duration", "100ms", "--timeout", "20s"], more].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{url} {more:?}: {text}");
    text
}

/// Starts a malicious server. On each connection, the server reads once and sends `greeting` (unless empty), reads
/// again and sends `begin`, then sends `again` endlessly.
fn flood(greeting: Vec<u8>, begin: Vec<u8>, again: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut sent) = (stream.unwrap(), 0);
            let _ = stream.read(&mut [0; 4096]);
            if !greeting.is_empty() {
                let _ = stream.write_all(&greeting);
                let _ = stream.read(&mut [0; 4096]);
            }
            let _ = stream.write_all(&begin);
            while sent < FLOOD && stream.write_all(&again).is_ok() {
                sent += again.len();
            }
        }
    });
    addr
}

/// Builds an HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

#[test]
fn servers_with_another_protocol_are_named() {
    let (http, tls, h2, redis) = (serve(&["http"]), serve(&["http", "--tls"]), serve(&["h2"]), serve(&["redis"]));
    let cases: [(&str, &Running, &[&str], &str); 11] = [
        ("https", &http, &["--insecure"], "TLS"),
        ("wss", &http, &["--insecure"], "TLS"),
        ("http", &tls, &[], "with https://"),
        ("http", &tls, &["--http2"], "with https://"),
        ("ws", &tls, &[], "with wss://"),
        ("https", &tls, &["--http2", "--insecure"], "ALPN"),
        ("http", &http, &["--http2"], "HTTP/1.1"),
        ("grpc", &http, &[], "HTTP/1.1"),
        ("http", &h2, &[], "does it speak http "),
        ("redis", &http, &[], "speak redis"),
        ("memcached", &redis, &[], "memcached"),
    ];
    for (scheme, server, more, words) in cases {
        let path = if scheme == "grpc" { "/a.B/C" } else { "" };
        let text = said(&format!("{scheme}://localhost:{}{path}", server.addr.port()), more);
        assert!(text.contains(words) && text.lines().count() <= 4, "{scheme} {more:?}: {text}");
    }
}

#[test]
fn floods_are_refused_with_a_sentence() {
    let settings = frame(4, 0, 0, &[]);
    // The header block puts a field of 4 KiB into the header table of HPACK, and then refers to this field many times.
    let large = [&[0x40, 1, b'x', 0x7f, 0xa1, 0x1e][..], &[b'v'; 4000]].concat();
    let bomb = frame(1, 4, 1, &[&[0x88], &large[..], &[0xbe; 12_000]].concat());
    let cases = [
        ("http", true, frame(1, 0, 1, &[0x88]), frame(9, 0, 1, &[0; 1000]), "64 KiB"),
        ("http", true, frame(1, 0, 1, &[0x88]), frame(9, 0, 1, &[]), "empty frames"),
        ("http", true, Vec::new(), settings.repeat(1000), "without end"),
        ("http", true, Vec::new(), frame(6, 0, 0, &[0; 8]).repeat(1000), "without end"),
        ("http", true, Vec::new(), frame(8, 0, 0, &[0x7f, 255, 255, 255]), "2^31-1"),
        ("http", true, Vec::new(), bomb, "256 KiB"),
        ("redis", false, Vec::new(), b"*1\r\n".repeat(100), "deeper than 32"),
        ("redis", false, b"+".to_vec(), vec![b'a'; 4096], "1 MiB"),
        ("memcached", false, Vec::new(), vec![b'a'; 4096], "2 KiB"),
        ("ws", false, b"HTTP/1.1 101 ".to_vec(), vec![b'a'; 4096], "64 KiB"),
    ];
    for (scheme, http2, begin, again, words) in cases {
        let addr = flood(if http2 { settings.clone() } else { Vec::new() }, begin, again);
        let text = said(&format!("{scheme}://{addr}/"), if http2 { &["--http2"] } else { &[] });
        assert!(text.contains(words) && text.lines().count() <= 4, "{scheme} {words}: {text}");
    }
}

/// Starts a server that sends `answer` after each read, and on all connections but the first one once more 100 ms
/// later. The first connection is that of the test request.
fn twice(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) && stream.write_all(answer).is_ok() {
                    if number > 0 {
                        std::thread::sleep(std::time::Duration::from_millis(100));
                        let _ = stream.write_all(answer);
                    }
                }
            });
        }
    });
    addr
}

/// After the test request, loadline listens only for a short time, so a server's second answer may come later. Only the
/// load then reveals the second answer.
#[test]
fn servers_that_answer_twice_have_no_rate() {
    let ask = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ask.path(), b"ask\n").unwrap();
    let ask = ask.path().display().to_string();
    let raw = ["--send-file", &ask, "--expect-bytes", "5"];
    let cases: [(&str, &'static [u8], &[&str]); 5] = [
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &[]),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", &["--rate", "20"]),
        ("redis", b"+PONG\r\n", &[]),
        ("memcached", b"END\r\n", &[]),
        ("tcp", b"told\n", &raw),
    ];
    for (scheme, answer, more) in cases {
        let url = format!("{scheme}://{}", twice(answer));
        let more = [more, &["--duration", "400ms", "--warmup", "0s", "--at-rest", "0s"]].concat();
        let output = loadline(binary!(), &[&["load", &url], &more[..]].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{scheme}: {text}");
        assert!(text.contains("that no request asked for") && text.contains("no rate"), "{scheme}: {text}");
        assert!(output.stdout.is_empty(), "{scheme}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
