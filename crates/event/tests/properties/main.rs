//! Tests that need waiting, many descriptors, or descriptors that are closed without a call of `forget`.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod threads;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use common::{descriptors, every};
use loadline_event::{Backend, Event, EventQueue, Mask};

const LONG: Option<Duration> = Some(Duration::from_secs(30));

#[test]
fn a_wait_ends_after_its_timeout_or_at_an_event() {
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let (a, mut b) = UnixStream::pair().unwrap();
        queue.declare_interest(a.as_raw_fd(), Mask::READ, false).unwrap();
        let mut events = [Event::default(); 4];
        let begin = Instant::now();
        assert_eq!(queue.get_next_event(&mut events, Some(Duration::from_millis(20))).unwrap(), 0, "{name}");
        assert!(begin.elapsed() >= Duration::from_millis(20), "{name}: {:?}", begin.elapsed());
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            b.write_all(b"x").unwrap();
            b
        });
        assert_eq!(queue.get_next_event(&mut events, LONG).unwrap(), 1, "{name}");
        assert_eq!((events[0].fd, events[0].mask), (a.as_raw_fd(), Mask::READ), "{name}");
        drop(writer.join().unwrap());
        assert_eq!(queue.get_next_event(&mut [], None).unwrap(), 0);
    }
}

#[test]
fn no_data_is_missed_between_accept_and_declare() {
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let client = std::thread::spawn(move || {
            for _ in 0..200 {
                let mut stream = TcpStream::connect(addr).unwrap();
                stream.write_all(b"x").unwrap();
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            }
        });
        let mut events = [Event::default(); 1];
        for round in 0..200 {
            let (mut stream, _) = listener.accept().unwrap();
            let state = queue.declare_interest(stream.as_raw_fd(), Mask::READ, true).unwrap().unwrap();
            if !state.is_read() {
                assert_eq!(queue.get_next_event(&mut events, LONG).unwrap(), 1, "{name} round {round}");
                assert_eq!(events[0].fd, stream.as_raw_fd());
            }
            assert_eq!(stream.read(&mut [0]).unwrap(), 1);
            queue.forget(stream.as_raw_fd());
            // With io_uring, the kernel releases the socket's file only when collected requests are submitted.
            queue.flush().unwrap();
        }
        client.join().unwrap();
    }
}

#[test]
fn a_queue_takes_the_maximum_number_of_descriptors() {
    // The test leaves some descriptors for other uses in the program, such as concurrent tests.
    let pairs = (descriptors().min(20_000) - 1_500) / 2;
    let streams: Vec<_> = (0..pairs).map(|_| UnixStream::pair().unwrap()).collect();
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let mut of_fd = std::collections::BTreeSet::new();
        for (a, b) in &streams {
            queue.declare_interest(a.as_raw_fd(), Mask::READ, false).unwrap();
            queue.declare_interest(b.as_raw_fd(), Mask::READ, false).unwrap();
        }
        for (_, b) in streams.iter().step_by(37) {
            let mut writer = b;
            writer.write_all(b"x").unwrap();
        }
        let (mut events, wanted) = ([Event::default(); 100], pairs.div_ceil(37));
        while of_fd.len() < wanted {
            let count = queue.get_next_event(&mut events, LONG).unwrap();
            assert!(count > 0, "{name}: {} of {wanted}", of_fd.len());
            of_fd.extend(events[..count].iter().map(|e| e.fd));
        }
        let right: std::collections::BTreeSet<_> = streams.iter().step_by(37).map(|(a, _)| a.as_raw_fd()).collect();
        assert_eq!(of_fd, right, "{name}");
        for (a, _) in streams.iter().step_by(37) {
            let mut reader = a;
            reader.read_exact(&mut [0]).unwrap();
        }
    }
}

#[test]
fn declaring_again_after_a_revocation_reports_the_state() {
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let (a, mut b) = UnixStream::pair().unwrap();
        let fd = a.as_raw_fd();
        let mut events = [Event::default(); 2];
        for want_state in [false, true, false] {
            queue.declare_interest(fd, Mask::READ, false).unwrap();
            queue.declare_interest(fd, Mask::NONE, false).unwrap();
            b.write_all(b"x").unwrap();
            let none = queue.get_next_event(&mut events, Some(Duration::from_millis(5))).unwrap();
            assert_eq!(none, 0, "{name}: an event after revocation");
            let state = queue.declare_interest(fd, Mask::READ, want_state).unwrap();
            if want_state {
                assert!(state.unwrap().is_read(), "{name}");
            } else {
                assert_eq!(queue.get_next_event(&mut events, LONG).unwrap(), 1, "{name}");
            }
        }
    }
}

#[test]
fn epoll_copes_with_a_close_without_forget() {
    let mut queue = EventQueue::new(Backend::Epoll).unwrap();
    let mut events = [Event::default(); 4];
    for round in 0..50 {
        let (a, mut b) = UnixStream::pair().unwrap();
        let state = queue.declare_interest(a.as_raw_fd(), Mask::READ, true).unwrap().unwrap();
        assert!(!state.is_read());
        b.write_all(b"x").unwrap();
        if round % 2 == 0 {
            assert_eq!(queue.get_next_event(&mut events, LONG).unwrap(), 1, "round {round}");
            assert_eq!(events[0].fd, a.as_raw_fd());
        }
    }
    assert_eq!(queue.get_next_event(&mut events, Some(Duration::ZERO)).unwrap(), 0);
}

#[test]
fn a_copy_of_a_closed_descriptor_reports_no_events() {
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let (a, mut b) = UnixStream::pair().unwrap();
        let fd = a.as_raw_fd();
        let copy = a.try_clone().unwrap();
        queue.declare_interest(fd, Mask::READ, false).unwrap();
        queue.forget(fd);
        drop(a);
        let (c, _d) = UnixStream::pair().unwrap();
        queue.declare_interest(c.as_raw_fd(), Mask::READ, false).unwrap();
        b.write_all(b"x").unwrap();
        let mut events = [Event::default(); 4];
        let count = queue.get_next_event(&mut events, Some(Duration::from_millis(10))).unwrap();
        assert_eq!(count, 0, "{name}: {:?}", events[0]);
        drop(copy);
    }
}

#[test]
fn a_number_that_is_not_open_is_refused_or_reported() {
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        assert!(queue.declare_interest(-1, Mask::READ, false).is_err(), "{name}");
        let error = queue.declare_interest(1_000_000, Mask::READ, false).unwrap_err();
        assert_eq!(error.errno(), 9, "{name}: {error}");
        assert!(queue.declare_interest(1_000_000, Mask::READ, true).is_err(), "{name}");
    }
}
