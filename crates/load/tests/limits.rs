//! Tests in which descriptors or local ports run out. The failed connects must be counted by kind and reported with
//! advice, and the load must continue on the other connections. Each limit is set in a separate process, because the
//! change cannot be undone.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::process::Command;

use common::{Behaviour, Server, closed, drive, drivers, plan};
use loadline_load as _;
use run::{ErrorKind, LoadPlan};

/// Runs one ignored test of this test binary in a child process. If `prepare` is given, `prepare` first runs in a new
/// network namespace.
fn child(test: &str, prepare: Option<&str>) {
    let me = std::env::current_exe().unwrap();
    let me = format!("'{}' --ignored --exact {test} --nocapture", me.display());
    let mut command = match prepare {
        None => Command::new("sh"),
        Some(_) => {
            let mut unshare = Command::new("unshare");
            unshare.args(["-r", "-n", "sh"]);
            unshare
        }
    };
    let script = format!("{}exec {me}", prepare.map(|p| format!("{p} || exit 77; ")).unwrap_or_default());
    let output = command.arg("-c").arg(script).output();
    let refused = output
        .as_ref()
        .map_or(true, |o| o.status.code() == Some(77) || String::from_utf8_lossy(&o.stderr).contains("unshare:"));
    if refused {
        return testkit::skip(test, format!("no network namespace can be made here (unshare -rn): {output:?}"));
    }
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn descriptors_run_out() {
    child("descriptors_run_out_child", None);
}

#[test]
fn ports_run_out() {
    let narrow = "ip link set lo up && echo '33000 33032' > /proc/sys/net/ipv4/ip_local_port_range";
    child("ports_run_out_child", Some(narrow));
}

#[test]
#[ignore = "run by descriptors_run_out in its own process"]
fn descriptors_run_out_child() {
    sys::limits::lower_descriptors(150).unwrap();
    for io in drivers() {
        // The listener accepts no connection, so the server uses none of this process's descriptors.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut plan = plan(io, closed(300, 1));
        plan.drain_s = 0.1;
        let part = drive(&plan, listener.local_addr().unwrap(), 100);
        let t = &part.total;
        assert!(t.errors.0[&ErrorKind::ClientFds] >= 150 && t.errors.0.len() == 1, "{io:?} {t:?}");
        assert!(t.connected >= 80 && t.connected < 150, "{io:?} {t:?}");
        assert!(part.notes.iter().filter(|n| n.contains("ulimit")).count() >= 1, "{:?}", part.notes);
    }
}

#[test]
#[ignore = "run by ports_run_out in a network namespace of its own"]
fn ports_run_out_child() {
    for (io, port) in drivers().into_iter().zip([20_000, 20_002]) {
        let server = Server::start_at(&format!("127.0.0.1:{port}"), Behaviour::Proper);
        let part = drive(&plan(io, closed(50, 1)), server.addr, 100);
        let t = &part.total;
        assert!(t.connected <= 33 && t.connected >= 30, "{io:?} {t:?}");
        assert!(t.errors.0[&ErrorKind::ClientPorts] >= 17 && t.errors.0.len() == 1, "{io:?} {t:?}");
        assert_eq!(part.notes.iter().filter(|n| n.contains("ip_local_port_range")).count(), 1, "{:?}", part.notes);
        let sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let server = Server::start_at(&format!("127.0.0.1:{}", port + 1), Behaviour::Proper);
        let part = drive(&LoadPlan { sources, ..plan(io, closed(50, 1)) }, server.addr, 100);
        let t = &part.total;
        assert_eq!((t.connected, t.error_count(), t.completed), (50, 0, server.requests()), "{io:?} {t:?}");
    }
}
