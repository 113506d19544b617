//! Request smuggling: a table of malformed requests is sent to the parser, the reference server and the proxy. HAProxy
//! and nginx are used as front ends and back ends. Each malformed request in the table names the section of the RFC
//! that it violates. A further source of malformed requests is RFC 9112, section 11.2.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)]

#[path = "../proxy/common.rs"]
mod common;
mod live;
mod shapes;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loadline_serve::{Server, start};
use proto::http1::{Chunked, Framing, empty_lines, request};
use run::ServePlan;

use common::{proxy, text, upstream};
use shapes::{CHUNKED, CHUNKS, HEADS, HIDDEN, RIGHT};

/// Returns the name, the expected status and the bytes of every malformed message, and a flag. The flag of a message is
/// true if the error is in the message's head.
pub(crate) fn wrong() -> impl Iterator<Item = (String, u16, Vec<u8>, bool)> {
    let heads = HEADS.iter().map(|s| (s, s.bytes.to_owned(), true));
    let chunks = CHUNKS.iter().map(|s| (s, [CHUNKED, s.bytes].concat(), false));
    heads.chain(chunks).map(|(s, bytes, head)| {
        (format!("{} (RFC {})", s.name, s.section), s.status, [&bytes, HIDDEN].concat().into_bytes(), head)
    })
}

pub(crate) fn right() -> impl Iterator<Item = Vec<u8>> {
    RIGHT.iter().map(|bytes| [bytes, HIDDEN].concat().into_bytes())
}

pub(crate) fn http() -> Server {
    start(&ServePlan { service: "http".into(), model: "epoll".into(), body_bytes: 3, ..ServePlan::default() }).unwrap()
}

/// Sends the bytes, closes the sending side, and returns all bytes that arrive until the connection ends or is reset.
pub(crate) fn say(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.shutdown(Shutdown::Write);
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return text(&all),
            Ok(n) => all.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return text(&all),
            Err(e) => panic!("{e} after {:?}", text(&all)),
        }
    }
}

/// Parses consecutive messages in `bytes`. Returns the number of messages, or the status with which a message is
/// refused.
fn parse(mut bytes: &[u8]) -> Result<u32, u16> {
    let mut count = 0;
    while !bytes.is_empty() {
        bytes = &bytes[empty_lines(bytes)..];
        let head = request(bytes).map_err(|refused| refused.status)?.ok_or(0_u16)?;
        bytes = &bytes[head.length..];
        let body = match head.framing {
            Framing::Length(n) => n as usize,
            Framing::Chunked => Chunked::new().skip(bytes).map_err(|_| 400_u16)?.0,
            Framing::Undeclared | Framing::OtherCoding => 0,
        };
        bytes = &bytes[body..];
        count += 1;
    }
    Ok(count)
}

#[test]
fn the_parser_refuses_malformed_messages_and_accepts_valid_ones() {
    wrong().for_each(|(name, status, bytes, _)| assert_eq!(parse(&bytes), Err(status), "{name}"));
    right().for_each(|bytes| assert_eq!(parse(&bytes), Ok(2), "{}", text(&bytes)));
}

#[test]
fn the_server_refuses_malformed_messages_and_ends_the_connection() {
    let server = http();
    for (name, status, bytes, _) in wrong() {
        let answer = say(server.local_addr(), &bytes);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: {answer}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{name}: {answer}");
    }
    for bytes in right() {
        let answer = say(server.local_addr(), &bytes);
        assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{}: {answer}", text(&bytes));
    }
}

/// Starts an upstream server that accepts anything: it answers any bytes that end like a head, and records all bytes.
fn credulous() -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let remembers = seen.clone();
    let addr = upstream(move |mut stream| {
        let (mut piece, mut last) = ([0; 4096], Vec::new());
        while let Ok(n @ 1..) = stream.read(&mut piece) {
            remembers.lock().unwrap().extend_from_slice(&piece[..n]);
            last.extend_from_slice(&piece[..n]);
            if last.ends_with(b"\n\n") || last.ends_with(b"\r\n\r\n") || last.ends_with(b"hello") {
                last.clear();
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        }
    });
    (addr, seen)
}

#[test]
fn the_proxy_forwards_no_malformed_message() {
    for (name, status, bytes, head) in wrong() {
        let (addr, seen) = credulous();
        let server = proxy(addr, "epoll", &[]);
        let answer = say(server.local_addr(), &bytes);
        let seen = text(&seen.lock().unwrap());
        if head {
            assert_eq!(seen, "", "{name}");
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
        }
        // The proxy has already forwarded the head before the malformed chunks, so the upstream server may have sent an
        // answer.
        let passed = seen.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        assert!(!seen.contains("/hidden") && passed.is_empty(), "{name}: {seen}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: {answer}");
    }
}

#[test]
fn the_proxy_forwards_valid_messages() {
    let back = http();
    for bytes in right() {
        let server = proxy(back.local_addr(), "epoll", &[]);
        let answer = say(server.local_addr(), &bytes);
        assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{}: {answer}", text(&bytes));
    }
}

#[test]
fn the_proxy_adds_via_and_answers_a_trace_with_no_forwards_left() {
    let (addr, seen) = credulous();
    let server = proxy(addr, "epoll", &[]);
    say(server.local_addr(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(text(&seen.lock().unwrap()), "GET / HTTP/1.1\r\nHost: x\r\nVia: 1.1 loadline\r\n\r\n", "RFC 9110 7.6.3");
    seen.lock().unwrap().clear();
    let answer = say(server.local_addr(), b"TRACE / HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\r\n\r\nTRACE / HTTP/1.1\r\n"), "{answer}");
    assert_eq!(text(&seen.lock().unwrap()), "", "RFC 9110 7.6.2");
}

/// The proxy must not forward an ambiguous response of an upstream server.
#[test]
fn the_proxy_refuses_ambiguous_responses() {
    for (answer, section) in [
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "9112 2.2"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "9112 6.3"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "9112 6.3"),
        ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", "9112 5.1"),
        ("HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 2\r\n\r\nok", "9112 5.2"),
    ] {
        let addr = upstream(move |mut stream| {
            let _ = common::head(&mut stream);
            let _ = stream.write_all(answer.as_bytes());
        });
        let server = proxy(addr, "epoll", &[]);
        let told = say(server.local_addr(), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(told.starts_with("HTTP/1.1 502 "), "RFC {section}: {told}");
    }
}
