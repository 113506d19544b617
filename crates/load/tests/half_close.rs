//! Tests how the connections of a block (connections that send one after another) end. If the load plan sets `compat`,
//! connections end as in the article of Jones and Deshpande (2000). The client first ends its own side, and closes the
//! socket once the server has ended the other side.

#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use common::{closed, drive, drivers, plan};
use loadline_load as _;
use run::{Blocks, LoadPlan, Protocol};

/// Number of connections on which the client has ended its side. `held` is the number of connections for which the
/// client still had a socket after it had ended its side.
#[derive(Default)]
struct HalfCloseCounts {
    ended: AtomicU64,
    held: AtomicU64,
}

/// Returns true if the client's socket with the port of `peer` still belongs to a process, and waits for the end of the
/// other side.
fn held(peer: SocketAddr) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", peer.port());
    table.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Both FIN_WAIT1 and FIN_WAIT2 are accepted, because the acknowledgement of the client's FIN may be late.
        fields.len() > 9 && fields[1].ends_with(&port) && ["04", "05"].contains(&fields[3]) && fields[9] != "0"
    })
}

fn echo(mut stream: TcpStream, seen: &HalfCloseCounts, compat: bool) {
    let mut bytes = [0; 4096];
    while let Ok(n) = stream.read(&mut bytes) {
        if n == 0 {
            let peer = stream.peer_addr().unwrap();
            // When the client closes a connection, the server sees the close before the kernel has removed the client's
            // socket. The test waits until the kernel has removed the socket.
            if !compat {
                testkit::eventually(|| (!held(peer)).then_some(()));
            }
            let is_held = held(peer);
            seen.held.fetch_add(u64::from(is_held), Relaxed);
            seen.ended.fetch_add(1, Relaxed);
            return;
        }
        stream.write_all(&bytes[..n]).unwrap();
    }
}

#[test]
fn a_block_ends_its_own_side_first_where_asked() {
    for io in drivers() {
        for compat in [true, false] {
            let (listener, seen) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(HalfCloseCounts::default()));
            let (addr, counted) = (listener.local_addr().unwrap(), seen.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let counted = counted.clone();
                    std::thread::spawn(move || echo(stream, &counted, compat));
                }
            });
            let blocks = Blocks { block: 4, sends_per_connection: 2, compat, ..Blocks::default() };
            let protocol = Protocol::Echo { message_bytes: 64 };
            let part = drive(&LoadPlan { protocol, blocks: Some(blocks), ..plan(io, closed(4, 1)) }, addr, 400);
            let t = &part.total;
            assert_eq!((t.connected, t.completed, t.error_count()), (4, 12, 0), "{io:?} {t:?}");
            // All answers have arrived, but on a busy machine, the ends of the connections may come late.
            for _ in 0..1000 {
                if seen.ended.load(Relaxed) == 4 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let expected = if compat { 4 } else { 0 };
            assert_eq!((seen.ended.load(Relaxed), seen.held.load(Relaxed)), (4, expected), "{io:?} {compat}");
        }
    }
}
