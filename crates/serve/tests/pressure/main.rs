//! Every I/O model must serve each of its services under difficult conditions: long messages, peers that reset or never
//! read, and bursts of connections.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

#[path = "../conformance/cases.rs"]
mod cases;
#[path = "../conformance/harness.rs"]
mod harness;
#[path = "../conformance/streams.rs"]
mod streams;
#[path = "../conformance/talk.rs"]
mod talk;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use cases::{all, each_of};
use harness::{connect, with_server};
use loadline_serve::{Server, Stats};
use talk::Talk;

#[test]
fn messages_of_16_mib_arrive_completely() {
    all(|talk, model, strategy, root| {
        if talk.long_asks == 0 {
            return;
        }
        let moved = std::cell::Cell::new((0, 0));
        let stats = with_server(&talk.plan(model, strategy, root, true), |server| {
            moved.set(talk.exchange(connect(server), &talk.long_ask, talk.long_asks, 1 << 20));
        });
        assert_eq!((stats.bytes_in, stats.bytes_out), moved.get(), "{} {model:?} {strategy}", talk.service);
        assert!(moved.get().0.max(moved.get().1) >= talk::LONG as u64, "{} {model:?} {strategy}", talk.service);
    });
}

/// Sends requests without reading answers, until the server stops reading.
fn flood(server: &Server, talk: &Talk) -> TcpStream {
    let (mut flood, mut sent) = (connect(server), 0);
    if talk.ask.is_empty() || talk.service == "discard" {
        return flood;
    }
    sys::socket::set_recv_buffer(&flood, 1 << 16).unwrap();
    flood.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    let (asks, mut asked, mut bytes, mut at) = ((1 << 16) / talk.ask.len(), 0, talk.hello.clone(), 0);
    while sent < 64 << 20 {
        // The server accepted all bytes, so the client sends further requests. Each request is sent completely before
        // the next request begins.
        if at == bytes.len() {
            (bytes, asked, at) = (talk.asks(asked, asks), asked + asks, 0);
        }
        match flood.write(&bytes[at..]) {
            Ok(n) => (sent, at) = (sent + n, at + n),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return flood,
            Err(e) => unreachable!("{}: {e}", talk.service),
        }
    }
    unreachable!("{}: everything is taken from a peer that does not read", talk.service)
}

/// Resets a connection while the server sends an answer and has received half of a request.
fn reset(server: &Server, talk: &Talk) {
    let mut stream = connect(server);
    stream.write_all(&talk.begin(50)).unwrap();
    if talk.service != "discard" {
        stream.read_exact(&mut [0; 10]).unwrap();
    }
    sys::socket::set_reset_on_close(&stream).unwrap();
}

#[test]
fn resets_and_peers_that_never_read_affect_no_others_and_a_busy_server_stops() {
    all(|talk, model, strategy, root| {
        with_server(&talk.plan(model, strategy, root, false), |server| {
            reset(server, talk);
            let _never_reads = flood(server, talk);
            talk.exchange(connect(server), &talk.ask, 3, 100);
            // The server stops while clients do not read, are idle, or have sent only half of a request.
            let _busy: Vec<TcpStream> = (0..5)
                .map(|_| {
                    let mut stream = connect(server);
                    stream.write_all(&talk.begin(0)).unwrap();
                    stream
                })
                .collect();
            wait_until(server, |stats| stats.accepted >= 8);
            server.stop();
        });
    });
}

#[test]
fn a_thousand_connections_in_a_burst() {
    each_of(&["echo"], |talk, model, strategy, root| {
        let stats = with_server(&talk.plan(model, strategy, root, false), |server| {
            for round in 0..10 {
                let mut streams: Vec<TcpStream> = (0..100).map(|_| connect(server)).collect();
                if round % 2 == 0 {
                    streams.iter_mut().for_each(|s| s.write_all(&talk.begin(1)).unwrap());
                }
            }
            wait_until(server, |stats| (stats.accepted, stats.connections) == (1000, 0));
        });
        assert_eq!((stats.accepted, stats.connections), (1000, 0), "{} {model:?} {strategy}", talk.service);
    });
}

/// Waits for at most a minute until the counts of a server are as expected. The wait may end although the counts are
/// not as expected, so the caller must check them.
fn wait_until(server: &Server, so: impl Fn(&Stats) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !so(&server.stats()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}
