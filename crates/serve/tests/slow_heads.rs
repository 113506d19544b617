//! Slowloris: clients that send the head of a request one byte at a time and never complete it. With every strategy,
//! every I/O model must close the connections of these clients after the header timeout. While the slow clients send,
//! other clients must be served.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use loadline_serve::{MODELS, Server, start};
use run::ServePlan;

const HEAD_MS: &str = "200";
/// Maximum time until an ordinary client must be served.
const PATIENCE: Duration = Duration::from_secs(30);

fn plan(service: &str, model: &str, strategy: &str, options: &[(&str, &str)]) -> ServePlan {
    let mut options: std::collections::BTreeMap<String, String> =
        options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    options.insert("header_timeout_ms".into(), HEAD_MS.into());
    let (service, model, strategy) = (service.into(), model.into(), strategy.into());
    ServePlan { service, model, strategy, options, ..ServePlan::default() }
}

/// Clients that send slowly until the server closes their connections or `stop` is set.
struct Trickle {
    stop: Arc<AtomicBool>,
    /// The sending thread, which returns the number of clients that got status 408.
    thread: JoinHandle<usize>,
}

fn trickle(to: SocketAddr, count: usize) -> Trickle {
    let mut streams: Vec<TcpStream> = (0..count).map(|_| TcpStream::connect(to).unwrap()).collect();
    streams.iter_mut().for_each(|stream| {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX: ").unwrap();
        stream.set_nonblocking(true).unwrap();
    });
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let thread = std::thread::spawn(move || {
        let (mut refused, mut buf) = (0, [0; 512]);
        while !streams.is_empty() && !told.load(Ordering::Relaxed) {
            streams.retain_mut(|stream| match stream.read(&mut buf) {
                Ok(n) => {
                    refused += usize::from(buf[..n].starts_with(b"HTTP/1.1 408 "));
                    false
                }
                Err(e) => e.kind() == ErrorKind::WouldBlock && stream.write(b"x").is_ok(),
            });
            std::thread::sleep(Duration::from_millis(20));
        }
        refused
    });
    Trickle { stop, thread }
}

/// Makes exchanges as an ordinary client would, until one of them gets status 200. On a busy machine, an ordinary
/// client may be late, too, so that it gets status 408. Returns the number of exchanges that were late, or an error if
/// the client is not served.
fn exchange(to: SocketAddr) -> std::io::Result<u64> {
    let (begin, mut late) = (Instant::now(), 0);
    loop {
        let mut stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        if text.starts_with("HTTP/1.1 200 ") {
            return Ok(late);
        }
        if !text.starts_with("HTTP/1.1 408 ") || begin.elapsed() > PATIENCE {
            return Err(std::io::Error::other(text));
        }
        late += 1;
    }
}

/// Checks that ordinary clients are served, while `count` slow clients are counted and their connections are closed
/// with status 408.
fn holds(server: &Server, count: usize, what: &str) {
    let to = server.local_addr();
    let trickle = trickle(to, count);
    let served: Vec<_> = (0..5).map(|_| exchange(to)).collect();
    if served.iter().any(Result::is_err) {
        trickle.stop.store(true, Ordering::Relaxed);
    }
    let refused = trickle.thread.join().unwrap();
    assert!(served.iter().all(Result::is_ok), "{what}: {served:?}");
    let stats = server.stats();
    let late: u64 = served.into_iter().flatten().sum();
    // A client may miss the response 408 if its next byte arrives while the server closes. The server also counts a
    // client that misses the response.
    assert_eq!(stats.closed_slow, count as u64 + late, "{what}: {stats:?}");
    assert!(refused > 0, "{what}: nobody was told 408");
}

#[test]
fn every_model_and_strategy_closes_slow_heads_and_serves_other_clients() {
    let every: Vec<(&str, &str)> = MODELS
        .iter()
        .flat_map(|m| std::iter::once("").chain(m.strategies.iter().copied()).map(|s| (m.name, s)))
        .collect();
    std::thread::scope(|scope| {
        for (model, strategy) in every {
            scope.spawn(move || {
                let options = [("active", "4"), ("active_idle_ms", "100")];
                let server = start(&plan("http", model, strategy, &options)).unwrap();
                holds(&server, 20, &format!("{model} {strategy}"));
            });
        }
    });
}

#[test]
fn five_hundred_slow_heads_starve_no_client_with_high_throughput() {
    at_once(["epoll", "uring"], |model| {
        let server = start(&plan("http", model, "high-throughput", &[])).unwrap();
        holds(&server, 500, model);
    });
}

#[test]
fn the_proxy_closes_slow_heads() {
    let back = start(&plan("http", "epoll", "", &[])).unwrap();
    let upstream = back.local_addr().to_string();
    at_once(["epoll", "uring", "poll", "select"], |events| {
        let options = [("upstream", upstream.as_str()), ("events", events)];
        holds(&start(&plan("proxy", "", "", &options)).unwrap(), 20, events);
    });
}

/// Runs `check` for all names in parallel, because each check waits for deadlines.
fn at_once<const N: usize>(names: [&'static str; N], check: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for name in names {
            let check = &check;
            scope.spawn(move || check(name));
        }
    });
}
