//! Tests of connections that use the same number one after the other. Operations for one connection must never act on
//! the next connection with this number.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::{SPEC, UringDriver};
use crate::driver::{Batch, Completion, Driver as _, Ops as _, Sent};
use crate::drivers::setup::Setup;

/// Maximum time to wait for an event that may never come, nanoseconds.
const TIMEOUT_NS: u64 = 20_000_000_000;

/// Result of a wait, reduced to the cases that these tests distinguish.
#[derive(Debug, PartialEq, Eq)]
enum WaitResult {
    Connected,
    Bytes(Vec<u8>),
    Ended(String),
}

fn next(driver: &mut UringDriver) -> Option<WaitResult> {
    let (mut came, until_ns) = (None, driver.ops().refresh() + TIMEOUT_NS);
    while came.is_none() && driver.ops().refresh() < until_ns {
        let seen = |_: &mut _, completion: Completion<'_>| match completion {
            Completion::Connected { .. } => came = Some(WaitResult::Connected),
            Completion::Received { bytes, .. } => came = Some(WaitResult::Bytes(bytes.to_vec())),
            Completion::Writable { .. } => {}
            other => came = Some(WaitResult::Ended(format!("{other:?}"))),
        };
        driver.wait(until_ns, Batch::default(), seen).unwrap();
    }
    came
}

fn echo(mut stream: TcpStream) {
    let mut bytes = [0; 64];
    while let Ok(n @ 1..) = stream.read(&mut bytes) {
        if stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}

fn echoing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| drop(std::thread::spawn(move || echo(stream))));
    });
    addr
}

/// Returns the driver parameters for a single connection. If `burst` is set, small sends produce no completion.
fn one(addr: SocketAddr, burst: Option<(usize, usize)>) -> Setup {
    Setup {
        capacity: 1,
        descriptors: 16,
        target: addr.into(),
        further: Vec::new(),
        sources: Vec::new(),
        burst,
        nodelay: false,
        quick_ack: false,
        receive_buffer: None,
    }
}

fn word(said: &[u8]) -> impl FnOnce(&mut [u8]) -> usize {
    |out| {
        out[..said.len()].copy_from_slice(said);
        said.len()
    }
}

/// The reason for a close must be sent even if the driver does not yet know that earlier bytes were sent.
#[test]
fn the_reason_of_a_close_is_sent_after_pending_bytes() {
    if (SPEC.usable)().is_err() {
        return testkit::skip("last words on io_uring", "io_uring cannot be had here");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut driver = UringDriver::new(&one(listener.local_addr().unwrap(), None)).unwrap();
    for round in 0..20 {
        driver.ops().connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Connected), "{round}");
        let mut server = listener.accept().unwrap().0;
        let ops = driver.ops();
        assert_eq!(ops.send(0, word(b"request ")), Ok(Sent::Pending));
        assert!(ops.send_last(0, word(b"goodbye")));
        ops.close(0);
        let mut heard = String::new();
        std::thread::scope(|scope| {
            scope.spawn(|| server.read_to_string(&mut heard).unwrap());
            driver.wait(TIMEOUT_NS, Batch::default(), |_, _| {}).unwrap();
        });
        assert_eq!(heard, "request goodbye", "{round}");
    }
    driver.ops().connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(WaitResult::Connected));
    let ops = driver.ops();
    assert_eq!(ops.send(0, |out| out.len()), Ok(Sent::Pending));
    assert!(!ops.send_last(0, |_| unreachable!("there is no place behind a whole piece")));
}

/// While cancelled operations are running, a wait also asks for their completions, so it ends later. A failed operation
/// is no longer running, so it must not count as cancelled.
#[test]
fn failed_operations_are_not_waited_for() {
    if (SPEC.usable)().is_err() {
        return testkit::skip("failed operations on io_uring", "io_uring cannot be had here");
    }
    let (_bound, refusing) = testkit::refusing();
    let mut driver = UringDriver::new(&one(refusing, None)).unwrap();
    for round in 0..5 {
        driver.ops().connect(0).unwrap();
        let Some(WaitResult::Ended(why)) = next(&mut driver) else { panic!("connected in round {round}") };
        assert!(why.contains("Connect"), "{why}");
        driver.ops().close(0);
        assert_eq!(driver.ops().ending, 0, "{round}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut driver = UringDriver::new(&one(listener.local_addr().unwrap(), None)).unwrap();
    driver.ops().connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(WaitResult::Connected));
    drop(listener.accept().unwrap());
    assert!(matches!(next(&mut driver), Some(WaitResult::Ended(_))));
    // The first send makes the server's kernel reset the connection, and the second send fails.
    for _ in 0..2 {
        driver.ops().send(0, word(b"request")).unwrap();
        driver.wait(TIMEOUT_NS, Batch::default(), |_, _| {}).unwrap();
    }
    driver.ops().close(0);
    assert_eq!(driver.ops().ending, 0);
}

/// The server answers a request, and closes either before or after it has read the next request.
#[test]
fn bytes_that_the_server_never_read_are_known_at_its_close() {
    if (SPEC.usable)().is_err() {
        return testkit::skip("unreceived bytes on io_uring", "io_uring cannot be had here");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut driver = UringDriver::new(&one(listener.local_addr().unwrap(), Some((1, 64)))).unwrap();
    for reads_all in [true, false] {
        driver.ops().connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Connected));
        let mut server = listener.accept().unwrap().0;
        driver.ops().send(0, word(b"first")).unwrap();
        driver.wait(0, Batch::default(), |_, _| {}).unwrap();
        server.read_exact(&mut [0; 5]).unwrap();
        server.write_all(b"answer").unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Bytes(b"answer".to_vec())));
        driver.ops().send(0, word(b"next")).unwrap();
        if reads_all {
            driver.wait(0, Batch::default(), |_, _| {}).unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
        }
        drop(server);
        assert!(matches!(next(&mut driver), Some(WaitResult::Ended(end)) if end.starts_with("PeerClosed")));
        assert_eq!(driver.ops().unreceived(0), if reads_all { 0 } else { 4 });
        driver.ops().close(0);
    }
}

/// An earlier version of loadline never added receive buffers. In a load with 12,000 connections, the lack of buffers
/// doubled the CPU time per request.
#[test]
fn buffers_that_run_out_are_added() {
    const CONNECTIONS: u32 = 1000;
    if (SPEC.usable)().is_err() {
        return testkit::skip("buffers on io_uring", "io_uring cannot be had here");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let setup =
        Setup { capacity: CONNECTIONS, descriptors: 2048, ..one(listener.local_addr().unwrap(), Some((1, 64))) };
    let mut driver = UringDriver::new(&setup).unwrap();
    assert_eq!(driver.buffers.handed_over(), super::FIRST_BUFFERS);
    let mut servers = Vec::new();
    for conn in 0..CONNECTIONS {
        driver.ops().connect(conn).unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Connected), "{conn}");
        servers.push(listener.accept().unwrap().0);
    }
    for round in 0..3 {
        servers.iter_mut().for_each(|server| server.write_all(b"all at once").unwrap());
        let (mut came, until_ns) = (0, driver.ops().refresh() + TIMEOUT_NS);
        while came < 11 * servers.len() && driver.ops().refresh() < until_ns {
            let seen = |_: &mut _, completion: Completion<'_>| match completion {
                Completion::Received { bytes, .. } => came += bytes.len(),
                other => panic!("{round}: {other:?}"),
            };
            driver.wait(until_ns, Batch { want: CONNECTIONS, within_us: 100_000 }, seen).unwrap();
        }
        assert_eq!(came, 11 * servers.len(), "{round}");
    }
    assert_eq!(driver.buffers.handed_over(), 1024);
}

/// A separate thread of the kernel closes the sending side, and looks up the socket by its number only when it runs.
#[test]
fn a_half_close_never_meets_the_next_connection_of_its_number() {
    if (SPEC.usable)().is_err() {
        return testkit::skip("half close on io_uring", "io_uring cannot be had here");
    }
    let mut driver = UringDriver::new(&one(echoing(), Some((1, 64)))).unwrap();
    for round in 0..200 {
        driver.ops().connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Connected), "{round}");
        let ops = driver.ops();
        assert!(ops.half_close(0));
        ops.close(0);
        ops.connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(WaitResult::Connected), "{round}");
        let sent = driver.ops().send(0, |out| {
            out[..4].copy_from_slice(b"ping");
            4
        });
        assert_eq!(sent, Ok(Sent::All), "{round}");
        assert_eq!(next(&mut driver), Some(WaitResult::Bytes(b"ping".to_vec())), "{round}");
        driver.ops().close(0);
    }
    // A connect that is given up while it waits for the end of a half-close must not start any operation later.
    driver.ops().connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(WaitResult::Connected));
    let ops = driver.ops();
    assert!(ops.half_close(0));
    ops.close(0);
    ops.connect(0).unwrap();
    ops.close(0);
    ops.connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(WaitResult::Connected));
}
