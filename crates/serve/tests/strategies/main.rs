//! Tests of strategies on running servers.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

mod limits;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use loadline_serve as serve;
use run::ServePlan;
use serve::{MODELS, Server};

fn start(service: &str, model: &str, strategy: &str, options: &[(&str, &str)]) -> Server {
    let options = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let (service, model, strategy) = (service.into(), model.into(), strategy.into());
    serve::start(&ServePlan { service, model, strategy, options, ..ServePlan::default() }).unwrap()
}

fn models(strategy: &str) -> impl Iterator<Item = &'static str> {
    MODELS.iter().filter(move |m| m.strategies.contains(&strategy)).map(|m| m.name)
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Returns true if the answer to one byte arrives before the timeout.
fn answers(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).unwrap();
    let mut buf = [0; 1];
    match stream.read(&mut buf) {
        Ok(n) => n == 1,
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => false,
        Err(e) => unreachable!("{e}"),
    }
}

const SOON: Duration = Duration::from_secs(30);

#[test]
fn high_throughput_serves_connections_in_order_of_arrival() {
    for model in models("high-throughput") {
        let options = [("active", "2"), ("active_idle_ms", "3600000")];
        let server = start("echo", model, "high-throughput", &options);
        let mut streams: Vec<TcpStream> = (0..4)
            .map(|n| {
                let stream = connect(&server);
                while server.stats().connections <= n {
                    std::thread::sleep(Duration::from_millis(1));
                }
                stream
            })
            .collect();
        // The third and the fourth client wait for worker slots, so their bytes are not read.
        streams[3].write_all(b"d").unwrap();
        streams[2].write_all(b"c").unwrap();
        assert!(!answers(&mut streams[2], Duration::from_millis(50)), "{model}");
        assert!(!answers(&mut streams[3], Duration::from_millis(10)), "{model}");
        // The first client now completes an exchange. The first client's worker slot goes to the third client, which is
        // the first client in the queue.
        streams[0].write_all(b"a").unwrap();
        assert!(answers(&mut streams[0], SOON) && answers(&mut streams[2], SOON), "{model}");
        // The third client has completed its exchange, so its worker slot goes to the fourth client.
        assert!(answers(&mut streams[3], SOON), "{model}");
        // The second client has sent nothing so far and keeps its worker slot. Finally, all four clients are served
        // once more.
        for stream in &mut streams {
            stream.write_all(b"x").unwrap();
            assert!(answers(stream, SOON), "{model}");
        }
    }
}

#[test]
fn high_throughput_takes_the_slots_of_silent_clients() {
    for model in models("high-throughput") {
        let server = start("echo", model, "high-throughput", &[("active", "1"), ("active_idle_ms", "50")]);
        let _silent = connect(&server);
        let mut second = connect(&server);
        second.write_all(b"x").unwrap();
        assert!(answers(&mut second, SOON), "{model}");
    }
}

#[test]
fn high_throughput_refuses_by_the_chosen_method() {
    for model in models("high-throughput").filter(|m| !m.ends_with("-groups")) {
        for (refuse, service) in [("busy", "http"), ("close", "http"), ("reset", "http")] {
            let options = [("active", "1"), ("waiting", "0"), ("refuse", refuse)];
            let server = start(service, model, "high-throughput", &options);
            let _first = connect(&server);
            while server.stats().connections == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // An early reset makes connect() itself fail with ECONNRESET. A connection whose connect() fails also
            // counts as refused.
            let mut text = String::new();
            let outcome = TcpStream::connect(server.local_addr()).and_then(|mut second| {
                second.set_read_timeout(Some(SOON))?;
                second.read_to_string(&mut text)
            });
            match refuse {
                "busy" => assert!(text.starts_with("HTTP/1.1 503 "), "{model}"),
                "close" => assert!(outcome.is_ok() && text.is_empty(), "{model}"),
                _ => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionReset, "{model}"),
            }
            let stats = server.stats();
            assert_eq!((stats.refused, stats.accepted), (1, 2), "{model}");
        }
    }
}

#[test]
fn a_client_that_never_stops_sending_starves_no_other() {
    for model in models("high-connections") {
        let server = start("discard", model, "high-connections", &[("drain", "65536")]);
        let floods: Vec<_> = (0..3)
            .map(|_| {
                let mut stream = connect(&server);
                std::thread::spawn(move || {
                    let bytes = vec![7; 1 << 16];
                    while stream.write_all(&bytes).is_ok() {}
                })
            })
            .collect();
        while server.stats().bytes_in < 1 << 20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut other = connect(&server);
        other.write_all(b"hello").unwrap();
        other.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(other.read(&mut [0; 1]).unwrap(), 0, "{model}");
        server.stop();
        drop(server);
        floods.into_iter().for_each(|f| f.join().unwrap());
    }
}

/// Returns true if the counts of the server are as expected before the timeout.
fn becomes(server: &Server, so: impl Fn(&serve::Stats) -> bool) -> bool {
    let deadline = Instant::now() + SOON;
    while !so(&server.stats()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    so(&server.stats())
}

/// A level-triggered poller reports a reset of a waiting client in every wait, until the server closes the connection.
#[test]
fn high_throughput_ends_waiting_clients_that_reset() {
    for model in ["epoll", "epoll-sharded", "poll"] {
        let server = start("echo", model, "high-throughput", &[("active", "1"), ("active_idle_ms", "3600000")]);
        let _first = connect(&server);
        assert!(becomes(&server, |stats| stats.connections == 1), "{model}");
        let waits = connect(&server);
        assert!(becomes(&server, |stats| stats.connections == 2), "{model}");
        sys::socket::set_reset_on_close(&waits).unwrap();
        drop(waits);
        assert!(becomes(&server, |stats| (stats.connections, stats.resets) == (1, 1)), "{model}");
    }
}

#[test]
fn group_models_have_exactly_the_published_number_of_threads() {
    for (model, capacity) in [("event-groups", 63), ("uring-groups", 62)] {
        let server = start("echo", model, "", &[]);
        let mut streams = Vec::new();
        for n in [1, capacity, capacity + 1, 3 * capacity] {
            while streams.len() < n {
                streams.push(connect(&server));
            }
            threads_are(&server, n.div_ceil(capacity) + 1, n);
        }
        streams.iter_mut().for_each(|s| s.write_all(b"x").unwrap());
        assert!(streams.iter_mut().all(|s| answers(s, SOON)), "{model}");
    }
    let server = start("echo", "blocking", "", &[]);
    let _streams: Vec<TcpStream> = (0..50).map(|_| connect(&server)).collect();
    threads_are(&server, 2 * 50 + 1, 50);
}

/// Waits until the server has at least the given numbers of connections and threads. The wait covers threads, because
/// the server counts a connection before its threads. If the server started too many threads, it would count the
/// surplus threads a moment later, so a short sleep follows.
fn threads_are(server: &Server, threads: usize, connections: usize) {
    let deadline = Instant::now() + SOON;
    let all = |stats: &serve::Stats| stats.connections >= connections as u64 && stats.threads >= threads as u64;
    while !all(&server.stats()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(20));
    let stats = server.stats();
    assert_eq!((stats.connections, stats.threads), (connections as u64, threads as u64), "{}", server.local_addr());
}
