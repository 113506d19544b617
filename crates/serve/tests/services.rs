//! Services and planted weaknesses on loopback. The tests check exact counts, or ratios of times within one run.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use loadline_serve as serve;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use run::ServePlan;

fn plan(service: &str, model: &str, options: &[(&str, &str)]) -> ServePlan {
    ServePlan {
        service: service.into(),
        model: model.into(),
        options: options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        ..ServePlan::default()
    }
}

fn get(stream: &mut TcpStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn connect(server: &serve::Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Requests the page on a kept connection, and reads the whole response.
fn exchange(stream: &mut TcpStream) {
    let (mut buf, mut n) = ([0; 4096], 0);
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    while !buf[..n].windows(4).any(|w| w == b"\r\n\r\n") || n < 1400 {
        n += stream.read(&mut buf[n..]).unwrap();
    }
}

#[test]
fn the_page_has_the_requested_length() {
    let server = serve::start(&ServePlan { body_bytes: 100_000, ..plan("http", "epoll", &[]) }).unwrap();
    let text = get(&mut connect(&server), "/any");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 100_000);
    server.stop();
    let stats = server.join();
    assert_eq!((stats.accepted, stats.requests, stats.connections, stats.threads), (1, 1, 0, 0));
    assert_eq!(stats.bytes_out as usize, text.len());
}

/// Returns the time for 8 clients with 2 requests each. The server has 4 workers, and each request lets its worker
/// sleep for the time `sleep`.
fn time_of_16_requests(sleep: Duration) -> Duration {
    let sleep_ms = sleep.as_millis().to_string();
    let server = serve::start(&plan("http", "auto", &[("workers", "4"), ("sleep_ms", &sleep_ms)])).unwrap();
    assert_eq!(server.model(), "workers");
    let mut streams: Vec<TcpStream> = (0..8).map(|_| connect(&server)).collect();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| (0..2).for_each(|_| exchange(stream)));
        }
    });
    let took = begin.elapsed();
    server.stop();
    assert_eq!(server.join().requests, 16);
    took
}

#[test]
fn four_sleeping_workers_serve_four_requests_at_once() {
    let sleep = Duration::from_millis(25);
    // A busy machine may delay threads, but a sleep never ends early, so one short attempt is enough.
    testkit::eventually(|| {
        let took = time_of_16_requests(sleep);
        assert!(took >= 4 * sleep, "{took:?}: more than four at once");
        (took < 16 * sleep).then_some(())
    });
}

#[test]
fn connections_are_accepted_in_batches_on_the_timer() {
    let options = [("accept_every_ms", "50"), ("accept_batch", "2")];
    let begin = Instant::now();
    let server = serve::start(&ServePlan { backlog: 16, ..plan("http", "epoll", &options) }).unwrap();
    let mut streams: Vec<_> = (0..8).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        assert!(get(stream, "/").starts_with("HTTP/1.1 200"));
    }
    // The first batch of connections may be accepted without a wait for the timer. The fourth batch is accepted three
    // timer periods after the first batch.
    assert!(begin.elapsed() >= Duration::from_millis(125), "{:?}", begin.elapsed());
}

/// Minimum time after which the kernel sends a delayed acknowledgement. Source: `TCP_DELACK_MIN` in the kernel's
/// include/net/tcp.h, which is 40 ms, less a tick of the slowest kernel timer (10 ms).
const DELAYED_ACKNOWLEDGEMENT: Duration = Duration::from_millis(30);

#[test]
fn with_nagle_a_separate_body_waits_for_the_delayed_acknowledgement() {
    let times = |split: &str| {
        let server = serve::start(&plan("http", "epoll", &[("split_head", split)])).unwrap();
        let mut stream = connect(&server);
        let mut timed = || {
            let begin = Instant::now();
            exchange(&mut stream);
            begin.elapsed()
        };
        let mut times: Vec<Duration> = (0..15).map(|_| timed()).collect();
        times.sort();
        times
    };
    // A busy machine makes exchanges longer, but never shorter. At the start of a connection, the kernel sends some
    // acknowledgements at once.
    let (together, apart) = (times("0")[0], times("1"));
    let median = apart[apart.len() / 2];
    assert!(together < DELAYED_ACKNOWLEDGEMENT && median >= DELAYED_ACKNOWLEDGEMENT, "{together:?}, {apart:?}");
}

#[test]
fn a_response_without_content_has_none() {
    for status in ["204", "304"] {
        let server = serve::start(&plan("http", "epoll", &[("status", status)])).unwrap();
        let text = get(&mut connect(&server), "/");
        assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length"), "{text}");
    }
    for (option, status) in [("status", "0"), ("status", "70"), ("status", "100"), ("reject_status", "600")] {
        let refused = serve::start(&plan("http", "epoll", &[(option, status), ("reject_over", "1")]));
        assert!(refused.is_err_and(|e| e.to_string().contains("200 to 599")), "{option}={status}");
    }
}

#[test]
fn a_port_that_two_servers_share_is_noted() {
    for (service, model) in [("echo", "epoll-sharded"), ("h3", "auto")] {
        let begin =
            |listen: String| serve::start(&ServePlan { listen, threads: 2, ..plan(service, model, &[]) }).unwrap();
        let shares = |server: &serve::Server| server.notes().iter().any(|note| note.contains("SO_REUSEPORT"));
        let first = begin("127.0.0.1:0".into());
        assert!(!shares(&first), "{service}: {:?}", first.notes());
        let second = begin(first.local_addr().to_string());
        assert!(shares(&second), "{service}: {:?}", second.notes());
        drop((first, second));
    }
}

#[test]
fn wrong_plans_are_refused_with_the_valid_values() {
    let error = |p: &ServePlan| serve::start(p).err().unwrap().to_string();
    assert!(error(&plan("htp", "epoll", &[])).contains("http, echo"));
    assert!(error(&plan("http", "kqueue", &[])).contains("epoll-sharded"));
    assert!(error(&plan("http", "epoll", &[("wrok_us", "1")])).contains("work_us"));
    assert!(error(&plan("http", "epoll", &[("work_us", "fast")])).contains("microseconds"));
    assert!(error(&ServePlan { listen: "nonsense".into(), ..ServePlan::default() }).contains("ADDRESS:PORT"));
    assert!(error(&ServePlan { root: Some("/nonexistent".into()), ..ServePlan::default() }).contains("/nonexistent"));
    assert!(error(&ServePlan { strategy: "limits".into(), ..plan("http", "workers", &[]) }).contains("cannot honour"));
}
