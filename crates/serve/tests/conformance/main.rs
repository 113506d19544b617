//! Every I/O model must serve each of its services, and some services with every strategy. No bytes may be lost, and no
//! descriptors, threads or memory may leak.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

mod cases;
mod harness;
mod streams;
#[allow(dead_code, reason = "the target `pressure` uses the rest")]
mod talk;

use std::io::{Read, Write};
use std::net::TcpStream;

use cases::all;
use harness::{alone, connect, each, with_server};

#[test]
fn single_bytes_and_a_half_close_get_all_answers() {
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
fn a_server_that_sends_to_a_reader_can_be_stopped() {
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
fn invalid_input_is_answered_and_ends_the_connection() {
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
