//! Tests of S-Clients (clients that connect again and again, whatever the server does) on this machine. The tests check
//! the offered rate with a listener whose accept queue is full, and compare two processes with one.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{Behaviour, Server, drive, drive_until, drivers, plan};
use loadline_load as _;
use run::{ErrorKind, Intensity, Io, LoadPart, LoadPlan, ThinkTime};

fn sclients(descriptors: u32, timeout_ms: f64, mean_ms: f64) -> Intensity {
    let think = ThinkTime { mean_ms, exponential: false };
    Intensity::SClients { descriptors, connect_timeout_ms: timeout_ms, think, pace: None }
}

/// Opens a listener whose accept queue has space for one connection, and fills the queue. Returns the listener, its
/// address, and the connection.
fn full_listener() -> (std::os::fd::OwnedFd, std::net::SocketAddr, std::net::TcpStream) {
    let any = "127.0.0.1:0".parse().unwrap();
    let fd = sys::socket::tcp(any).unwrap();
    sys::socket::bind(&fd, any).unwrap();
    sys::socket::listen(&fd, 0).unwrap();
    let addr = sys::socket::local_addr(&fd).unwrap();
    let one = std::net::TcpStream::connect(addr).unwrap();
    (fd, addr, one)
}

/// Runs the function `what`, and returns its result. Also returns the seconds for which a thread of the load waited for
/// a CPU, or the whole machine stood still.
fn kept_from_its_processor<T>(what: impl FnOnce() -> T) -> (T, f64) {
    let (over, meter) = (AtomicBool::new(false), sys::hiccups::HiccupMeter::start().unwrap());
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut waited = BTreeMap::new();
            while !over.load(Ordering::Relaxed) {
                waited.extend(waits());
                std::thread::sleep(Duration::from_millis(5));
            }
            waited.values().sum::<u64>()
        });
        let value = what();
        over.store(true, Ordering::Relaxed);
        let stood: u64 = meter.end().iter().map(|pause| pause.ns()).sum();
        (value, watch.join().unwrap().max(stood) as f64 / 1e9)
    })
}

/// Returns the time for which each thread of the load has waited for a CPU so far, nanoseconds.
fn waits() -> Vec<(std::path::PathBuf, u64)> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
    let is_load =
        |at: &std::path::PathBuf| std::fs::read_to_string(at.join("comm")).is_ok_and(|n| n.starts_with("load-"));
    let waited = |at: std::path::PathBuf| {
        let text = std::fs::read_to_string(at.join("schedstat")).ok()?;
        let ns = text.split_whitespace().nth(1)?.parse().ok()?;
        Some((at, ns))
    };
    tasks.filter(is_load).filter_map(waited).collect()
}

#[test]
fn the_offered_rate_is_d_over_t_whatever_the_server_does() {
    let _alone = testkit::alone();
    for io in drivers() {
        let (_listener, addr, _one) = full_listener();
        let mut plan = plan(io, sclients(100, 50.0, 0.0));
        plan.drain_s = 0.05;
        let (part, kept_s) = kept_from_its_processor(|| drive(&plan, addr, 400));
        let (m, expected) = (&part.measured, 100.0 / 0.05 * part.measured_s);
        // A generator that gets no CPU is late, and never sends a burst to make up for the lost time.
        let least = 0.8 * (expected - 100.0 / 0.05 * kept_s);
        assert!(m.attempted as f64 > least, "{io:?}, kept from its processor {kept_s} s: {m:?}");
        // Connects that were due before the measured window, but started within it, count in the window.
        assert!(m.attempted as f64 <= 1.02 * expected + 1.0 + 100.0 / 0.05 * kept_s, "{io:?}, {kept_s} s: {m:?}");
        assert_eq!(part.total.connected, 0, "{io:?}");
        assert!(part.total.errors.0.keys().all(|&k| k == ErrorKind::ConnectTimeout), "{io:?} {:?}", part.total);
        assert!(part.notes.iter().any(|n| n.contains("T = 50")), "{:?}", part.notes);
    }
}

#[test]
fn a_refused_connect_keeps_its_descriptor_until_t_is_over() {
    let _alone = testkit::alone();
    let (_bound, addr) = testkit::refusing();
    for io in drivers() {
        let part = drive_until(&plan(io, sclients(10, 50.0, 0.0)), addr, 300, |_, now| now.errors > 20);
        let (m, expected) = (&part.measured, 10.0 / 0.05 * part.measured_s);
        assert!(m.attempted as f64 <= 1.1 * expected + 10.0, "{io:?} {m:?}");
        assert!(part.total.errors.0[&ErrorKind::ConnectRefused] > 20, "{io:?} {:?}", part.total);
    }
}

fn in_processes(two_process: bool) -> (LoadPart, u64, u64) {
    let server = Server::start(Behaviour::Proper);
    let plan = LoadPlan { two_process, threads: 2, ..plan(Io::Epoll, sclients(8, 500.0, 10.0)) };
    let part = drive_until(&plan, server.addr, 300, |_, now| now.completed > 40);
    (part, server.requests(), server.connections())
}

#[test]
fn two_processes_count_what_one_counts() {
    let _alone = testkit::alone();
    for two_process in [false, true] {
        let begin = Instant::now();
        let (part, requests, connections) = in_processes(two_process);
        let t = &part.total;
        assert_eq!(
            (t.sent, t.completed, t.error_count(), t.unanswered),
            (requests, requests, 0, 0),
            "{two_process} {t:?}"
        );
        assert_eq!((t.connected, t.due), (connections, t.sent), "{two_process} {t:?}");
        assert_eq!(part.notes.iter().any(|n| n.contains("passed on")), two_process, "{:?}", part.notes);
        assert!(t.completed > 40, "{two_process} {t:?}");
        assert_eq!(part.measured.completed, part.histograms["response"].len());
        assert_eq!(part.measured.connected, part.histograms["connect"].len());
        assert!(part.measured_s > 0.25 && part.measured_s < begin.elapsed().as_secs_f64());
    }
}

#[test]
fn two_processes_see_the_same_phantoms() {
    let _alone = testkit::alone();
    for two_process in [false, true] {
        let server = Server::start(Behaviour::Silent);
        let mut plan = LoadPlan { two_process, ..plan(Io::Epoll, sclients(4, 500.0, 20.0)) };
        (plan.timeout_s, plan.drain_s) = (0.1, 0.05);
        let t = drive_until(&plan, server.addr, 250, |_, now| now.sent > 10).total;
        assert!(t.sent > 10, "{two_process} {t:?}");
        assert_eq!(t.errors.0[&ErrorKind::ResponseTimeout] + t.unanswered, t.sent, "{two_process} {t:?}");
        assert_eq!(t.phantom, t.sent, "{two_process} {t:?}");
    }
}
