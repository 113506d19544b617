//! More connections arrive at the same time than the server accepts in one wake-up, while the kernel cannot queue a
//! signal for each connection.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use loadline_serve as serve;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use run::ServePlan;
use rustix::process::{Resource, getrlimit, setrlimit};

#[test]
fn waiting_connections_are_accepted_after_the_signal_queue_was_full() {
    // With a limit of 0, the kernel cannot queue any signal. Instead of queuing signals, the kernel then sends plain
    // SIGIO for each change, and the server checks all of its sockets.
    let none = rustix::process::Rlimit { current: Some(0), ..getrlimit(Resource::Sigpending) };
    setrlimit(Resource::Sigpending, none).unwrap();
    let options = [("work_us".to_owned(), "300000".to_owned())].into();
    let plan = ServePlan { service: "http".into(), model: "sigio".into(), options, ..ServePlan::default() };
    let server = serve::start(&plan).unwrap();
    let mut busy = TcpStream::connect(server.local_addr()).unwrap();
    // The server's thread is busy with this request while the other clients connect.
    busy.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let waiting: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(server.local_addr()).unwrap()).collect();
    busy.read_exact(&mut [0; 15]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.stats().accepted < 301 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.stats().accepted, 301);
    drop(waiting);
}
