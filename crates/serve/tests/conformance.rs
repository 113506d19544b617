//! Every model serves every service under every strategy without losing a byte, a descriptor or a thread.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loadline_serve as serve;
use run::ServePlan;
use serve::{MODELS, STRATEGIES, Server};

/// Descriptors and threads are counted for the whole process, so these tests run one after another.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Threads of servers, and those that io_uring keeps for us. Those of the test harness come and go.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|t| std::fs::read_to_string(t.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with("serve-") || name.starts_with("iou-")).count()
}

fn plan(service: &str, model: &str, strategy: &str, options: &[(&str, &str)]) -> ServePlan {
    ServePlan {
        service: service.into(),
        model: model.into(),
        strategy: strategy.into(),
        threads: 2,
        options: options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        ..ServePlan::default()
    }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut x = 88_172_645_463_325_252_u64;
    (0..bytes)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x as u8
        })
        .collect()
}

/// A model with the options of its variants.
#[derive(Clone, Copy, Debug)]
struct Variant {
    model: &'static str,
    option: Option<&'static str>,
}

const VARIANTS: [Variant; 2] = [
    Variant { model: "event-groups", option: Some("fair") },
    Variant { model: "uring-groups", option: Some("literal") },
];

impl Variant {
    fn plan(&self, service: &str, strategy: &str, options: &[(&str, &str)]) -> ServePlan {
        let mut plan = plan(service, self.model, strategy, options);
        self.option.iter().for_each(|name| drop(plan.options.insert((*name).into(), "1".into())));
        plan
    }
}

/// All combinations that exist.
fn each(mut check: impl FnMut(Variant, &'static str)) {
    let plain = MODELS.iter().map(|m| Variant { model: m.name, option: None });
    for variant in plain.chain(VARIANTS) {
        check(variant, "");
        let model = MODELS.iter().find(|m| m.name == variant.model).unwrap();
        for strategy in STRATEGIES.iter().filter(|s| model.strategies.contains(&s.name)) {
            check(variant, strategy.name);
        }
    }
}

/// Starts a server, uses it, stops it, and checks that nothing is left.
fn with_server(plan: &ServePlan, use_it: impl FnOnce(&Server)) -> serve::Stats {
    let (fds, none) = (descriptors(), 0);
    let server = serve::start(plan).unwrap();
    use_it(&server);
    assert_eq!(server.failures(), Vec::<String>::new(), "{} {}", plan.model, plan.strategy);
    server.stop();
    let stats = server.join();
    assert_eq!(stats.threads, 0, "{} {}", plan.model, plan.strategy);
    let deadline = Instant::now() + Duration::from_secs(5);
    while (descriptors(), threads()) != (fds, none) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((descriptors(), threads()), (fds, none), "descriptors, threads after {plan:?}");
    stats
}

/// Sends everything and reads everything at the same time, then ends both sides in order.
fn echo_all(stream: TcpStream, bytes: &[u8], piece: usize) {
    let mut reader = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut stream = stream;
            bytes.chunks(piece).for_each(|c| stream.write_all(c).unwrap());
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let mut back = Vec::with_capacity(bytes.len());
        reader.read_to_end(&mut back).unwrap();
        assert!(back == bytes, "{} of {} bytes came back, or changed", back.len(), bytes.len());
    });
}

#[test]
fn echo_loses_no_byte() {
    let _alone = alone();
    let (small, large) = (noise(64), noise(3_000_000));
    each(|model, strategy| {
        let stats = with_server(&model.plan("echo", strategy, &[]), |server| {
            echo_all(connect(server), &small, 1);
            echo_all(connect(server), &large, 100_000);
            // Ended before the answer is read: everything still arrives.
            let mut half = connect(server);
            half.write_all(&small).unwrap();
            half.shutdown(Shutdown::Write).unwrap();
            std::thread::sleep(Duration::from_millis(5));
            let mut back = Vec::new();
            half.read_to_end(&mut back).unwrap();
            assert_eq!(back, small);
        });
        let bytes = (2 * small.len() + large.len()) as u64;
        assert_eq!((stats.bytes_in, stats.bytes_out), (bytes, bytes), "{model:?} {strategy}");
        assert_eq!((stats.accepted, stats.connections, stats.resets), (3, 0, 0), "{model:?} {strategy}");
    });
}

#[test]
fn echo_of_16_mib_in_each_model() {
    let _alone = alone();
    let huge = noise(16 << 20);
    each(|model, strategy| {
        if strategy.is_empty() {
            with_server(&model.plan("echo", "", &[]), |server| echo_all(connect(server), &huge, 1 << 20));
        }
    });
}

#[test]
fn http_discard_and_source_are_exact() {
    let _alone = alone();
    each(|model, strategy| {
        let stats = with_server(&model.plan("http", strategy, &[]), |server| {
            let mut stream = connect(server);
            let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
            stream.write_all(&request.repeat(20)).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 21, "{model:?} {strategy}");
            let mut bad = connect(server);
            bad.write_all(b"NONSENSE\r\n\r\n").unwrap();
            bad.write_all(&[b'x'; 5000]).unwrap();
            let mut text = String::new();
            bad.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 400 "), "{model:?} {strategy}");
        });
        assert_eq!(stats.requests, 22, "{model:?} {strategy}");
        let bytes = noise(200_000);
        let stats = with_server(&model.plan("discard", strategy, &[]), |server| {
            let mut stream = connect(server);
            stream.write_all(&bytes).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        });
        assert_eq!(stats.bytes_in, 200_000, "{model:?} {strategy}");
        let stats = with_server(&model.plan("source", strategy, &[("source_bytes", "1000001")]), |server| {
            let mut all = Vec::new();
            connect(server).read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), 1_000_001, "{model:?} {strategy}");
        });
        assert_eq!(stats.bytes_out, 1_000_001, "{model:?} {strategy}");
    });
}

#[test]
fn a_reset_in_the_middle_and_a_peer_that_never_reads_harm_nobody_else() {
    let _alone = alone();
    let (bytes, small) = (noise(1 << 20), noise(1000));
    each(|model, strategy| {
        with_server(&model.plan("echo", strategy, &[]), |server| {
            let mut resets = connect(server);
            resets.write_all(&bytes[..100_000]).unwrap();
            // Closing with unread answers sends a reset.
            drop(resets);
            let mut flood = connect(server);
            flood.set_write_timeout(Some(Duration::from_millis(30))).unwrap();
            let mut sent = 0;
            while sent < 64 << 20 {
                match flood.write(&bytes) {
                    Ok(n) => sent += n,
                    Err(e) => {
                        assert!(matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{e}");
                        break;
                    }
                }
            }
            assert!(sent < 64 << 20, "{model:?} {strategy} takes everything from a peer that does not read");
            echo_all(connect(server), &small, 100);
        });
    });
}

#[test]
fn a_thousand_connections_in_a_burst() {
    let _alone = alone();
    each(|model, strategy| {
        let stats = with_server(&model.plan("echo", strategy, &[]), |server| {
            for round in 0..10 {
                let mut streams: Vec<TcpStream> = (0..100).map(|_| connect(server)).collect();
                if round % 2 == 0 {
                    streams.iter_mut().for_each(|s| s.write_all(b"x").unwrap());
                }
            }
            let deadline = Instant::now() + Duration::from_secs(10);
            while (server.stats().accepted, server.stats().connections) != (1000, 0) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        assert_eq!((stats.accepted, stats.connections), (1000, 0), "{model:?} {strategy}");
    });
}

#[test]
fn a_busy_server_stops_and_leaves_nothing() {
    let _alone = alone();
    each(|model, strategy| {
        let mut streams = Vec::new();
        with_server(&model.plan("source", strategy, &[]), |server| {
            for _ in 0..20 {
                let mut stream = connect(server);
                stream.read_exact(&mut [0; 1000]).unwrap();
                // The clients' descriptors are not the server's.
                drop(stream.try_clone());
                streams.push(stream);
            }
            streams.clear();
        });
    });
}
