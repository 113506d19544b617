//! Tests with servers that send data endlessly. With every protocol, the generator must keep only a limited amount of
//! received data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use testkit::{Watched, alone, binary, watched};

/// Maximum memory of any loadline process in these tests, KiB. With a normal server, a process needs only about a third
/// of this memory.
const MAX_MEMORY_KIB: u64 = 96 * 1024;
/// Maximum number of bytes that a server sends on each connection. loadline may close the connection earlier.
const FLOOD: usize = 64 << 20;

/// A malicious server. The fields are the bytes that the server sends first, a function that recognizes a request, and
/// the correct answer to the first request. To any request after the first, the server sends `begin`, and then `flood`
/// again and again.
struct Hostile {
    scheme: &'static str,
    hello: Vec<u8>,
    asked: fn(&[u8]) -> bool,
    answer: Vec<u8>,
    begin: Vec<u8>,
    flood: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Returns true if an HTTP/2 HEADERS frame follows the preface.
fn has_headers(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(24..).unwrap_or_default();
    while rest.len() >= 9 {
        if rest[3] == 1 {
            return true;
        }
        let length = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        rest = rest.get(9 + length..).unwrap_or_default();
    }
    false
}

fn h2(begin: Vec<u8>, flood: Vec<u8>) -> Hostile {
    let (hello, answer) = (frame(4, 0, 0, &[]), frame(1, 5, 1, &[0x88]));
    Hostile { scheme: "h2c", hello, asked: has_headers, answer, begin, flood }
}

fn all() -> Vec<(&'static str, Hostile)> {
    // The block begins by putting a header of 4,000 bytes into HPACK's header table. The rest of the HPACK block refers
    // 12,000 times to the header of 4,000 bytes.
    let long = [&[0x88, 0x40, 0x01, b'x', 0x7f, 0xa1, 0x1e][..], &[b'v'; 4000]].concat();
    let bomb = frame(1, 4, 1, &[&long[..], &[0xbe; 12_000]].concat());
    let redis = Hostile {
        scheme: "redis",
        hello: Vec::new(),
        asked: |bytes| !bytes.is_empty(),
        answer: b"+PONG\r\n".to_vec(),
        begin: Vec::new(),
        flood: b"*1\r\n".repeat(4096),
    };
    let asked = |bytes: &[u8]| bytes.ends_with(b"\r\n");
    // The following answers announce more data than fits into memory, or never end.
    let page = Hostile {
        scheme: "http",
        hello: Vec::new(),
        asked,
        answer: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(),
        begin: b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_vec(),
        flood: vec![b'x'; 65_536],
    };
    let value = Hostile {
        scheme: "redis",
        hello: Vec::new(),
        asked,
        answer: b"+PONG\r\n".to_vec(),
        begin: b"$1000000000000\r\n".to_vec(),
        flood: vec![b'x'; 65_536],
    };
    vec![
        ("a page longer than memory", page),
        ("a value longer than memory", value),
        ("CONTINUATION", h2(frame(1, 0, 1, &[0x88]), frame(9, 0, 1, &[0x88; 16_000]))),
        ("small CONTINUATION", h2(frame(1, 0, 1, &[0x88]), frame(9, 0, 1, &[0x88]).repeat(1000))),
        ("SETTINGS", h2(Vec::new(), frame(4, 0, 0, &[0, 3, 0, 0, 0, 9]).repeat(1000))),
        ("PING", h2(Vec::new(), frame(6, 0, 0, &[7; 8]).repeat(1000))),
        ("HPACK", h2(bomb.clone(), bomb)),
        ("RESP", redis),
    ]
}

/// Answers the first connection correctly. Sends data endlessly on any connection after the first.
fn serve(stream: &mut TcpStream, hostile: &Hostile, first: bool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    stream.write_all(&hostile.hello)?;
    while !(hostile.asked)(&seen) {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            n => seen.extend_from_slice(&piece[..n]),
        }
    }
    if first {
        stream.write_all(&hostile.answer)?;
        return std::io::copy(stream, &mut std::io::sink()).map(drop);
    }
    stream.write_all(&hostile.begin)?;
    (0..FLOOD / hostile.flood.len()).try_for_each(|_| stream.write_all(&hostile.flood))
}

/// Starts a server at a free port. The server runs until the test ends. Returns the server's URL.
fn start(hostile: Hostile) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{}://{}", hostile.scheme, listener.local_addr().unwrap());
    let (hostile, connections) = (Arc::new(hostile), Arc::new(AtomicU32::new(0)));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (hostile, first) = (hostile.clone(), connections.fetch_add(1, Ordering::Relaxed) == 0);
            // Errors are expected, because the client should close the connection while the server still sends.
            std::thread::spawn(move || drop(serve(&mut stream, &hostile, first)));
        }
    });
    url
}

#[test]
fn memory_is_bounded_during_a_flood() {
    let _alone = alone();
    for (what, hostile) in all() {
        let url = start(hostile);
        // The server runs in the test's own process, and the test limits loadline's memory. To sample stacks, loadline
        // would read the symbols of this process, which takes more memory than all received data. The command therefore
        // has `--no-stacks`.
        let args = ["load", &url, "--connections", "4", "--duration", "600ms", "--warmup", "0s", "--no-stacks"];
        let Watched { run, peak_kib: peak, generators } = watched(binary!(), &args);
        let run = run.unwrap_or_else(|e| panic!("{what}: no run: {e}"));
        let failed: u64 = run["trials"][0]["errors"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        // An answer that is incomplete when the load ends does not count as failed, but as unanswered.
        let missing = failed + run["trials"][0]["unanswered"].as_u64().unwrap_or(0);
        println!("{what}: {peak} KiB at most, {missing} failed");
        assert!(missing > 0 && generators > 0, "{what}: {}", run["trials"][0]["errors"]);
        assert!(peak > 0 && peak < MAX_MEMORY_KIB, "{what}: {peak} KiB");
    }
}
