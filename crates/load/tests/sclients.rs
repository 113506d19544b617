//! S-Clients live: the offered rate against a listener that takes nobody, and the two-process form against the one-process
//! form.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::{Manner, Server, drive, drivers, plan};
use loadline_load as _;
use run::{ErrorKind, Intensity, Io, LoadPart, LoadPlan, ThinkTime};

fn sclients(descriptors: u32, timeout_ms: f64, mean_ms: f64) -> Intensity {
    let think = ThinkTime { mean_ms, exponential: false };
    Intensity::SClients { descriptors, connect_timeout_ms: timeout_ms, think, pace: None }
}

/// A listener whose accept queue holds one connection, and that connection.
fn full_listener() -> (std::os::fd::OwnedFd, std::net::SocketAddr, std::net::TcpStream) {
    let any = "127.0.0.1:0".parse().unwrap();
    let fd = sys::socket::tcp(any).unwrap();
    sys::socket::bind(&fd, any).unwrap();
    sys::socket::listen(&fd, 0).unwrap();
    let addr = sys::socket::local_addr(&fd).unwrap();
    let one = std::net::TcpStream::connect(addr).unwrap();
    (fd, addr, one)
}

#[test]
fn the_offered_rate_is_d_over_t_whatever_the_server_does() {
    for io in drivers() {
        let (_listener, addr, _one) = full_listener();
        let mut plan = plan(io, sclients(100, 50.0, 0.0));
        plan.drain_s = 0.05;
        let part = drive(&plan, addr, 400);
        let (m, expected) = (&part.measured, 100.0 / 0.05 * part.measured_s);
        // A generator that was kept from its processor is late with some and never makes up for them by a burst.
        assert!(m.attempted as f64 > 0.8 * expected && m.attempted as f64 <= 1.02 * expected + 1.0, "{io:?} {m:?}");
        assert_eq!(part.total.connected, 0, "{io:?}");
        assert!(part.total.errors.0.keys().all(|&k| k == ErrorKind::ConnectTimeout), "{io:?} {:?}", part.total);
        assert!(part.notes.iter().any(|n| n.contains("T = 50")), "{:?}", part.notes);
    }
}

#[test]
fn a_refused_connect_keeps_its_descriptor_until_t_is_over() {
    let addr = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for io in drivers() {
        let part = drive(&plan(io, sclients(10, 50.0, 0.0)), addr, 300);
        let (m, expected) = (&part.measured, 10.0 / 0.05 * part.measured_s);
        assert!(m.attempted as f64 <= 1.1 * expected + 10.0, "{io:?} {m:?}");
        assert!(part.total.errors.0[&ErrorKind::ConnectRefused] > 20, "{io:?} {:?}", part.total);
    }
}

fn in_processes(two_process: bool) -> (LoadPart, u64, u64) {
    let server = Server::start(Manner::Proper);
    let plan = LoadPlan { two_process, threads: 2, ..plan(Io::Epoll, sclients(8, 500.0, 10.0)) };
    let part = drive(&plan, server.addr, 300);
    (part, server.requests(), server.connections())
}

#[test]
fn two_processes_count_what_one_counts() {
    for two_process in [false, true] {
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
        assert!(part.measured_s > 0.25 && part.measured_s < 1.0);
    }
}

#[test]
fn two_processes_see_the_same_phantoms() {
    for two_process in [false, true] {
        let server = Server::start(Manner::Silent);
        let mut plan = LoadPlan { two_process, ..plan(Io::Epoll, sclients(4, 500.0, 20.0)) };
        (plan.timeout_s, plan.drain_s) = (0.1, 0.05);
        let t = drive(&plan, server.addr, 250).total;
        assert!(t.sent > 10, "{two_process} {t:?}");
        assert_eq!(t.errors.0[&ErrorKind::ResponseTimeout] + t.unanswered, t.sent, "{two_process} {t:?}");
        assert_eq!(t.phantom, t.sent, "{two_process} {t:?}");
    }
}
