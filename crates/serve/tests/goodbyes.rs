//! The server ends many connections, one after another. The end of a connection must not affect the next connection,
//! which gets the index of the ended connection.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use loadline_serve as serve;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use run::ServePlan;
use serve::MODELS;

/// Number of connections that the server ends. Immediately after the end of each connection, another connection makes a
/// request.
const ROUNDS: u32 = 400;

/// Returns the bytes of a client that ends its HTTP/2 connection: the preface, SETTINGS, and GOAWAY.
fn leaves() -> Vec<u8> {
    let frame = |kind: u8, payload: &[u8]| [&[0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 0], payload].concat();
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, &[]), frame(7, &[0; 8])].concat()
}

#[test]
fn the_end_of_a_connection_does_not_affect_the_next() {
    let leaves = leaves();
    for model in MODELS {
        let plan = ServePlan { service: "h2".into(), model: model.name.into(), threads: 1, ..ServePlan::default() };
        let server = serve::start(&plan).unwrap();
        let connect = || {
            let stream = TcpStream::connect(server.local_addr()).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            stream
        };
        for round in 0..ROUNDS {
            let mut last = connect();
            last.write_all(&leaves).unwrap();
            last.read_exact(&mut [0; 20]).unwrap();
            drop(last);
            // The next client gets SETTINGS and an answer to its ping, which shows that its connection was not closed.
            let mut next = connect();
            next.write_all(&leaves[..33]).unwrap();
            next.write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            let mut said = Vec::new();
            let mut piece = [0; 256];
            while !said.ends_with(&[1, 2, 3, 4, 5, 6, 7, 8]) {
                let n = next.read(&mut piece).unwrap_or(0);
                assert!(n > 0, "{}: round {round}: ended after {said:?}", model.name);
                said.extend_from_slice(&piece[..n]);
            }
        }
    }
}
