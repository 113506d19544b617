//! What a connection leaves in the kernel belongs to it alone, however soon its number is another's.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::{SPEC, UringDriver};
use crate::driver::{Batch, Completion, Driver as _, Ops as _, Sent};
use crate::drivers::setup::Setup;

/// A wait ends with what is waited for; this is for the case that it never comes.
const PATIENCE_NS: u64 = 20_000_000_000;

/// What came of a wait, told apart as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    Connected,
    Bytes(Vec<u8>),
    Ended(String),
}

fn next(driver: &mut UringDriver) -> Option<Came> {
    let (mut came, until_ns) = (None, driver.ops().refresh() + PATIENCE_NS);
    while came.is_none() && driver.ops().refresh() < until_ns {
        let seen = |_: &mut _, completion: Completion<'_>| match completion {
            Completion::Connected { .. } => came = Some(Came::Connected),
            Completion::Received { bytes, .. } => came = Some(Came::Bytes(bytes.to_vec())),
            Completion::Writable { .. } => {}
            other => came = Some(Came::Ended(format!("{other:?}"))),
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

/// The kernel ends a side in a thread of its own, which finds the socket by its number in the table when it comes to run.
#[test]
fn a_half_close_never_meets_the_next_connection_of_its_number() {
    if (SPEC.usable)().is_err() {
        return testkit::skip("half close on io_uring", "io_uring cannot be had here");
    }
    let setup = Setup {
        capacity: 1,
        descriptors: 16,
        target: echoing().into(),
        sources: Vec::new(),
        burst: Some((1, 64)),
        nodelay: false,
        quick_ack: false,
        receive_buffer: None,
    };
    let mut driver = UringDriver::new(&setup).unwrap();
    for round in 0..200 {
        driver.ops().connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(Came::Connected), "{round}");
        let ops = driver.ops();
        assert!(ops.half_close(0));
        ops.close(0);
        ops.connect(0).unwrap();
        assert_eq!(next(&mut driver), Some(Came::Connected), "{round}");
        let sent = driver.ops().send(0, |out| {
            out[..4].copy_from_slice(b"ping");
            4
        });
        assert_eq!(sent, Ok(Sent::All), "{round}");
        assert_eq!(next(&mut driver), Some(Came::Bytes(b"ping".to_vec())), "{round}");
        driver.ops().close(0);
    }
    // One that is given up while it waits for its place leaves nothing either.
    driver.ops().connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(Came::Connected));
    let ops = driver.ops();
    assert!(ops.half_close(0));
    ops.close(0);
    ops.connect(0).unwrap();
    ops.close(0);
    ops.connect(0).unwrap();
    assert_eq!(next(&mut driver), Some(Came::Connected));
}
