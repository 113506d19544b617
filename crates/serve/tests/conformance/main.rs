//! Every model serves every service under every strategy without losing a byte, a descriptor, a thread or memory.

#![allow(clippy::unwrap_used)] // helpers of tests, too

mod harness;
mod streams;
mod talk;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use harness::{Variant, alone, connect, each, wait_until, with_server};
use loadline_serve::Server;
use talk::{Talk, talks};

/// Services that stand for all others under the strategies: one that is mirrored, one that answers, one that sends unasked.
const KINDS: [&str; 3] = ["echo", "http", "source"];

/// Checks every service under every model, and one service of each kind under every strategy too. Services and strategies
/// meet only in the state machine of a connection, which has its own tests.
fn all(check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    each_of(&KINDS, check);
}

/// Checks as [`all`] does, with these services under the strategies.
fn each_of(kinds: &[&str], check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    let (_alone, root, talks) = (alone(), tempfile::tempdir().unwrap(), talks());
    talk::write_files(root.path());
    each(|model, strategy| {
        let here = talks.iter().filter(|talk| strategy.is_empty() || kinds.contains(&talk.service));
        here.for_each(|talk| check(talk, model, strategy, root.path()));
    });
}

#[test]
fn bytes_one_by_one_and_a_half_close_arrive_whole() {
    all(|talk, model, strategy, root| {
        let moved = std::cell::Cell::new((0, 0));
        let stats = with_server(&talk.plan(model, strategy, root, false), |server| {
            let whole = talk.exchange(connect(server), &talk.ask, 20, 1 << 20);
            let pieces = talk.exchange(connect(server), &talk.ask, 1, 1);
            moved.set((whole.0 + pieces.0, whole.1 + pieces.1));
        });
        let what = format!("{} {model:?} {strategy}", talk.service);
        assert_eq!((stats.bytes_in, stats.bytes_out), moved.get(), "{what}");
        let ends = (stats.accepted, stats.connections, stats.resets, stats.faults);
        assert_eq!(ends, (2, 0, 0, 0), "{what}");
    });
}

#[test]
fn messages_of_16_mib_arrive_whole() {
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

/// Sends requests and reads no answers, until the server stops reading.
fn flood(server: &Server, talk: &Talk) -> TcpStream {
    let (mut flood, mut sent) = (connect(server), 0);
    if talk.ask.is_empty() || talk.service == "discard" {
        return flood;
    }
    sys::socket::set_recv_buffer(&flood, 1 << 16).unwrap();
    flood.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    let (asks, mut asked, mut bytes, mut at) = ((1 << 16) / talk.ask.len(), 0, talk.hello.clone(), 0);
    while sent < 64 << 20 {
        // The rest of a piece is sent next, so that every request is whole.
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

/// Resets the connection while an answer is on its way and half a request has arrived.
fn reset(server: &Server, talk: &Talk) {
    let mut stream = connect(server);
    stream.write_all(&talk.begin(50)).unwrap();
    if talk.service != "discard" {
        stream.read_exact(&mut [0; 10]).unwrap();
    }
    sys::socket::set_reset_on_close(&stream).unwrap();
}

#[test]
fn resets_and_peers_that_never_read_harm_nobody_and_a_busy_server_stops() {
    all(|talk, model, strategy, root| {
        with_server(&talk.plan(model, strategy, root, false), |server| {
            reset(server, talk);
            let _never_reads = flood(server, talk);
            talk.exchange(connect(server), &talk.ask, 3, 100);
            // The server stops while clients do not read, have sent half a request, or are idle.
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
fn a_source_that_is_read_stops_too() {
    let _alone = alone();
    each(|model, strategy| {
        with_server(&model.plan("source", strategy, &[]), |server| {
            let mut streams: Vec<TcpStream> = (0..10).map(|_| connect(server)).collect();
            streams.iter_mut().for_each(|s| s.read_exact(&mut [0; 1000]).unwrap());
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

#[test]
fn nonsense_is_answered_and_ends() {
    let _alone = alone();
    each(|model, strategy| {
        with_server(&model.plan("http", strategy, &[]), |server| {
            let mut bad = connect(server);
            bad.write_all(b"NONSENSE\r\n\r\n").unwrap();
            bad.write_all(&[b'x'; 5000]).unwrap();
            let mut text = String::new();
            bad.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 400 "), "{model:?} {strategy}");
            let mut last = connect(server);
            last.write_all(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
            let mut text = String::new();
            last.read_to_string(&mut text).unwrap();
            assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 1, "{model:?} {strategy}");
        });
    });
}
