use std::io::{Read as _, Write as _};

use super::*;

/// Creates a ring for a test. Prints a SKIP line and returns `None` if io_uring is forbidden.
fn ring(config: &Config) -> Option<(Ring, Option<Buffers>)> {
    match Ring::new(config) {
        Ok(made) => Some(made),
        Err(e) => {
            testkit::skip("io_uring", e);
            None
        }
    }
}

fn wait_for(ring: &mut Ring, user: u64) -> Cqe {
    let mut got = Vec::with_capacity(64);
    testkit::eventually(|| {
        ring.submit_and_wait(1, Some(100_000_000), 0).unwrap();
        ring.reap(&mut got);
        got.iter().position(|c| c.user == user).map(|at| got.swap_remove(at))
    })
}

#[test]
fn a_request_is_sent_and_its_answer_arrives_in_a_buffer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = Config {
        files: 4,
        slots: 4,
        buffers: 4,
        addresses: vec![listener.local_addr().unwrap().into(), std::net::SocketAddr::from(([127, 0, 0, 9], 0)).into()],
        ..Config::default()
    };
    let Some((mut ring, Some(mut buffers))) = ring(&config) else { return };
    let file = File::Fixed(2);
    let quiet = OpFlags::SKIP_SUCCESS | OpFlags::IO_LINK;
    ring.socket(2, 0, quiet, 1).unwrap();
    ring.nodelay(file, quiet, 2).unwrap();
    ring.bind_address_no_port(file, quiet, 3).unwrap();
    ring.bind(file, 1, quiet, 4).unwrap();
    ring.connect(file, 0, OpFlags::empty(), 5).unwrap();
    assert_eq!(wait_for(&mut ring, 5).result, 0);
    let (mut peer, from) = listener.accept().unwrap();
    assert_eq!(from.ip().to_string(), "127.0.0.9");

    ring.slot(3)[..4].copy_from_slice(b"ping");
    ring.send(file, 3, 0..4, OpFlags::SKIP_SUCCESS, 6).unwrap();
    ring.recv_multi(file, 7).unwrap();
    ring.submit().unwrap();
    let mut got = [0; 4];
    peer.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"ping");
    peer.write_all(b"pong").unwrap();
    let done = wait_for(&mut ring, 7);
    assert!(done.more, "multishot goes on");
    let id = done.buffer.unwrap();
    assert_eq!(buffers.bytes(&id, done.result as usize), b"pong");
    buffers.recycle(id);
    buffers.publish();
    drop(peer);
    let end = wait_for(&mut ring, 7);
    assert_eq!((end.result, end.more), (0, false), "the peer closed");
}

#[test]
fn the_peer_sees_a_close_once_the_running_receive_is_cancelled() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config =
        Config { files: 1, buffers: 1, addresses: vec![listener.local_addr().unwrap().into()], ..Config::default() };
    let Some((mut ring, _buffers)) = ring(&config) else { return };
    ring.socket(0, 0, OpFlags::SKIP_SUCCESS | OpFlags::IO_LINK, 1).unwrap();
    ring.connect(File::Fixed(0), 0, OpFlags::empty(), 2).unwrap();
    assert_eq!(wait_for(&mut ring, 2).result, 0);
    let (mut peer, _) = listener.accept().unwrap();
    ring.recv_multi(File::Fixed(0), 3).unwrap();
    ring.submit().unwrap();
    ring.cancel_file(File::Fixed(0), OpFlags::SKIP_SUCCESS, 4).unwrap();
    ring.close(0, OpFlags::SKIP_SUCCESS, 5).unwrap();
    assert_eq!(wait_for(&mut ring, 3).outcome(), Err(Errno::CANCELED));
    peer.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    assert_eq!(peer.read(&mut [0; 8]).unwrap(), 0, "the peer reads an end");
}

#[test]
fn a_batch_wait_ends_at_its_limit_with_the_completions_so_far() {
    let Some((mut ring, _)) = ring(&Config::default()) else { return };
    let (a, _b) = std::os::unix::net::UnixStream::pair().unwrap();
    let fd = File::Fd(std::os::fd::AsRawFd::as_raw_fd(&a));
    ring.poll(fd, libc::POLLOUT as u32, false, 9).unwrap();
    // A kernel without the shorter limit waits for the whole time.
    let limit_s = if ring.has_min_wait() { 60 } else { 1 };
    let begin = std::time::Instant::now();
    ring.submit_and_wait(64, Some(limit_s * 1_000_000_000), 2_000).unwrap();
    assert!(begin.elapsed().as_secs() < 50);
    let mut got = Vec::with_capacity(4);
    ring.reap(&mut got);
    assert_eq!(got.len(), 1);
}

#[test]
fn unknown_slots_and_addresses_are_errors() {
    let Some((mut ring, _)) = ring(&Config { slots: 1, ..Config::default() }) else { return };
    assert_eq!(ring.send(File::Fixed(0), 1, 0..1, OpFlags::empty(), 0), Err(Errno::INVAL));
    assert_eq!(ring.send(File::Fixed(0), 0, 0..5000, OpFlags::empty(), 0), Err(Errno::INVAL));
    assert_eq!(ring.connect(File::Fixed(0), 0, OpFlags::empty(), 0), Err(Errno::INVAL));
    assert!(ring.slot(1).is_empty());
}

/// The kernel keeps the file of an operation until the operation has completed. If a kernel worker completed the
/// operation, the port would become free only some time after the ring was dropped.
#[test]
fn a_dropped_ring_leaves_the_listening_socket_at_once() {
    for eager in [false, true] {
        // On `127.0.0.1`, a connection of another program could use the port.
        let listener = std::net::TcpListener::bind("127.0.0.77:0").unwrap();
        let address = listener.local_addr().unwrap();
        let Some((mut ring, _)) = ring(&Config { eager, ..Config::default() }) else { return };
        let file = File::Fd(std::os::fd::AsRawFd::as_raw_fd(&listener));
        ring.accept_multi(file, false, 1).unwrap();
        ring.submit().unwrap();
        drop(listener);
        drop(ring);
        let listener = std::net::TcpListener::bind(address);
        assert!(listener.is_ok(), "eager {eager}: {listener:?}");
    }
}
