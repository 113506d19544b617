//! A stopped server must be able to start again immediately on the same port. The kernel frees the ring of an io_uring
//! server a moment after the server's thread has ended, and the listening socket stays open until then.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use loadline_serve::{Server, start};
use run::ServePlan;

/// Every I/O model that uses io_uring, with the number of threads to test.
const MODELS: [(&str, u32); 5] =
    [("uring", 1), ("uring-sharded", 1), ("uring-sharded", 3), ("uring-groups", 1), ("event", 1)];

fn serve(model: &str, threads: u32, listen: &str) -> Result<Server, loadline_serve::ServeError> {
    let options = [("events".to_owned(), "uring".to_owned())].into_iter().filter(|_| model == "event").collect();
    let (service, model, listen) = ("echo".into(), model.into(), listen.into());
    start(&ServePlan { service, model, listen, threads, options, ..ServePlan::default() })
}

/// Opens 20 connections, and makes a request on each of the first 10.
fn clients(to: SocketAddr) -> Vec<TcpStream> {
    let mut streams: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(to).unwrap()).collect();
    for stream in streams.iter_mut().take(10) {
        stream.write_all(b"hello").unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    }
    streams
}

#[test]
fn a_stopped_io_uring_server_frees_its_port() {
    std::thread::scope(|scope| {
        for (at, (model, threads)) in MODELS.into_iter().enumerate() {
            scope.spawn(move || leaves_its_port(model, threads, 20_001 + at));
        }
    });
}

fn leaves_its_port(model: &str, threads: u32, port: usize) {
    // Only this test uses this address, which contains the process ID. The kernel does not give such a low port to a
    // program that asks for any free port.
    let [.., high, low] = std::process::id().to_be_bytes();
    let listen = format!("127.9.{high}.{low}:{port}");
    for round in 0..20 {
        let server = serve(model, threads, &listen).unwrap();
        let clients = clients(server.local_addr());
        server.stop();
        drop(server);
        // Another program must be able to bind the port immediately.
        let other = TcpListener::bind(&listen);
        assert!(other.is_ok(), "{model}, {threads} threads, round {round}: {other:?}");
        drop((other, clients));
    }
}
