//! Live checks of services and stated weaknesses on loopback: exact counts, or ratios of one run.

#![allow(clippy::unwrap_used)] // helpers of tests, too

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
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// One exchange that was held up changes no median.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[test]
fn the_page_has_the_length_asked_for() {
    let server = serve::start(&ServePlan { body_bytes: 100_000, ..plan("http", "epoll", &[]) }).unwrap();
    let text = get(&mut connect(&server), "/any");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 100_000);
    server.stop();
    let stats = server.join();
    assert_eq!((stats.accepted, stats.requests, stats.connections, stats.threads), (1, 1, 0, 0));
    assert_eq!(stats.bytes_out as usize, text.len());
}

#[test]
fn four_workers_that_sleep_20_ms_complete_200_a_second() {
    let server = serve::start(&plan("http", "auto", &[("workers", "4"), ("sleep_ms", "20")])).unwrap();
    assert_eq!(server.model(), "workers");
    let begin = Instant::now();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(&server);
            std::thread::spawn(move || {
                let mut buf = [0; 4096];
                let mut timed = || {
                    let begin = Instant::now();
                    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
                    let mut n = 0;
                    while !buf[..n].windows(4).any(|w| w == b"\r\n\r\n") || n < 1400 {
                        n += stream.read(&mut buf[n..]).unwrap();
                    }
                    begin.elapsed()
                };
                (0..10).map(|_| timed()).collect::<Vec<_>>()
            })
        })
        .collect();
    let times: Vec<Duration> = clients.into_iter().flat_map(|c| c.join().unwrap()).collect();
    // 80 requests, 4 at a time, 20 ms each: 400 ms if the workers are never idle, and 40 ms each for 8 clients.
    let (took, middle) = (begin.elapsed(), median(times));
    assert!(took >= Duration::from_millis(400), "{took:?}");
    assert!(middle < Duration::from_millis(80), "{middle:?}");
    server.stop();
    assert_eq!(server.join().requests, 80);
}

#[test]
fn auto_takes_a_model_that_can() {
    let model = |options| serve::start(&plan("http", "auto", options)).unwrap().model();
    assert_eq!(model(&[]), serve::default_model());
    assert_eq!(model(&[("accept_every_ms", "50")]), "epoll-sharded");
    assert_eq!(model(&[("workers", "2")]), "workers");
}

#[test]
fn a_capacity_is_kept_by_work_and_by_sleep() {
    for by in ["work", "sleep"] {
        let options = [("capacity", "500"), ("capacity_by", by)];
        let server = serve::start(&plan("echo", "epoll", &options)).unwrap();
        let mut stream = connect(&server);
        let begin = Instant::now();
        let mut buf = [0; 1];
        let mut timed = || {
            let begin = Instant::now();
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut buf).unwrap();
            begin.elapsed()
        };
        let middle = median((0..100).map(|_| timed()).collect());
        let took = begin.elapsed();
        // Never faster; slower only where other programs take the processor that work needs.
        let most = Duration::from_millis(if by == "sleep" { 6 } else { 40 });
        assert!(took >= Duration::from_millis(195) && middle < most, "{by}: {took:?}, {middle:?} one");
    }
}

#[test]
fn a_rate_is_limited_with_the_status_asked_for() {
    let options = [("reject_over", "5"), ("reject_status", "429")];
    let server = serve::start(&plan("http", "epoll", &options)).unwrap();
    let statuses: Vec<bool> = (0..40).map(|_| get(&mut connect(&server), "/").starts_with("HTTP/1.1 429 ")).collect();
    let refused = statuses.iter().filter(|refused| **refused).count();
    // One passes at once (a tenth of a second), later ones at 5 a second.
    assert!(!statuses[0] && (1..=39).contains(&refused), "{refused} of 40 refused");
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
    // The first batch may be due at once; the fourth is three ticks later.
    assert!(begin.elapsed() >= Duration::from_millis(125), "{:?}", begin.elapsed());
}

#[test]
fn head_and_body_apart_with_nagle_wait_for_the_delayed_acknowledgement() {
    let usual = |split: &str| {
        let server = serve::start(&plan("http", "epoll", &[("split_head", split)])).unwrap();
        let mut stream = connect(&server);
        let mut buf = [0; 4096];
        let mut timed = || {
            let begin = Instant::now();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut n = 0;
            while n < 1400 {
                n += stream.read(&mut buf[n..]).unwrap();
            }
            begin.elapsed()
        };
        median((0..31).map(|_| timed()).collect())
    };
    // A delayed acknowledgement takes 40 ms.
    let (together, apart) = (usual("0"), usual("1"));
    let limit = Duration::from_millis(30);
    assert!(apart > limit && together < limit, "{apart:?} against {together:?}");
}

#[test]
fn wrong_plans_are_refused_with_what_would_be_right() {
    let error = |p: &ServePlan| serve::start(p).err().unwrap().to_string();
    assert!(error(&plan("htp", "epoll", &[])).contains("http, echo"));
    assert!(error(&plan("http", "kqueue", &[])).contains("epoll-sharded"));
    assert!(error(&plan("http", "epoll", &[("wrok_us", "1")])).contains("work_us"));
    assert!(error(&plan("http", "epoll", &[("work_us", "fast")])).contains("microseconds"));
    assert!(error(&ServePlan { listen: "nonsense".into(), ..ServePlan::default() }).contains("ADDRESS:PORT"));
    assert!(error(&ServePlan { root: Some("/nonexistent".into()), ..ServePlan::default() }).contains("/nonexistent"));
    assert!(error(&ServePlan { strategy: "limits".into(), ..plan("http", "workers", &[]) }).contains("cannot honour"));
}
