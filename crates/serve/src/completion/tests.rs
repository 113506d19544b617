//! Tests of the event loop with few receive buffers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::*;
use crate::control::Control;
use crate::services::tests::service;
use crate::shard::Inbox;
use crate::strategies::Policy;
use crate::{Server, listener};

const SETUP: Setup = Setup {
    receive: Receive::Multishot,
    sends: 64,
    send_bytes: 4096,
    buffers: 16,
    buffer_bytes: 4096,
    direct: false,
    entries: 64,
    literal: false,
};

/// Starts an echo server with one thread. The server's send buffers are small, so that a send soon waits for a peer
/// that does not read.
fn start() -> Server {
    let control = Control::new(&[], None);
    let (mut listeners, addr) = listener::open("127.0.0.1:0", 64, 1, false, false, &control).unwrap();
    sys::socket::set_send_buffer(&*listeners[0], 4096).unwrap();
    let (inbox, cell) = (Inbox::new(control.waker().unwrap()), control.cell());
    let (service, listener) = (service("echo", &[]), Some(listeners.remove(0)));
    let (policy, pace, on_close) = (Policy::NONE, None, None);
    let shard = ShardSetup { control: control.clone(), service, policy, listener, pace, inbox, cell, on_close };
    control.spawn("uring", || Worker::new(shard, SETUP)?.run()).unwrap();
    Server::new(addr, "uring-sharded", control)
}

/// Sends until the server reads no more, and reads no answer.
fn fill(addr: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(addr).unwrap();
    sys::socket::set_send_buffer(&stream, 1 << 16).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let full = (0..100_000).any(|_| stream.write(&[1; 4096]).is_err());
    assert!(full, "the server takes everything from a peer that does not read");
    stream
}

#[test]
fn peers_that_do_not_read_leave_receive_buffers_for_others() {
    let server = start();
    // Each of the peers could hold a buffer for its echo and four buffers in its backlog.
    let _never_read: Vec<TcpStream> = (0..10).map(|_| fill(server.local_addr())).collect();
    let mut reads = TcpStream::connect(server.local_addr()).unwrap();
    reads.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for _ in 0..3 {
        reads.write_all(b"hello").unwrap();
        let mut answer = [0; 5];
        reads.read_exact(&mut answer).expect("no receive buffer is left for this connection");
        assert_eq!(&answer, b"hello");
    }
}

#[test]
fn data_that_was_copied_is_answered_when_the_peer_reads() {
    let server = start();
    let mut peers: Vec<TcpStream> = (0..10).map(|_| fill(server.local_addr())).collect();
    for peer in &mut peers {
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        peer.read_to_end(&mut answer).unwrap();
        assert!(answer.iter().all(|byte| *byte == 1));
    }
    // Each byte that arrived was sent back once.
    let stats = server.stats();
    assert_eq!(stats.bytes_in, stats.bytes_out);
}
