//! Clients that leave or close their sending side while the upstream server works on their requests.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use loadline_serve::Server;

use super::common::{connect, each_backend, head, proxy, text, upstream};

/// Maximum wait of these tests, far below the proxy's timeout for a silent upstream server.
const PATIENCE: Duration = Duration::from_secs(20);
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// Starts an upstream server that reports each request and each end of a connection, and never answers.
fn silent() -> (SocketAddr, Receiver<&'static str>) {
    let (said, heard) = channel();
    let said = Arc::new(Mutex::new(said));
    let addr = upstream(move |mut stream| {
        if head(&mut stream).is_some() {
            let said = said.lock().unwrap().clone();
            said.send("request").unwrap();
            while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
            let _ = said.send("end");
        }
    });
    (addr, heard)
}

/// Starts a client that sends a request and leaves. Waits until the upstream connection has ended, too.
fn leaves(events: &str, request: &[u8], leave: impl Fn(&TcpStream)) -> Server {
    let (addr, heard) = silent();
    let server = proxy(addr, events, &[("probe_ms", "20")]);
    let mut client = connect(&server);
    client.write_all(request).unwrap();
    assert_eq!(heard.recv_timeout(PATIENCE), Ok("request"), "{events}");
    leave(&client);
    drop(client);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok("end"), "{events}: the upstream still works for nobody");
    let until = Instant::now() + PATIENCE;
    while server.stats().connections > 0 {
        assert!(Instant::now() < until, "{events}: {:?}", server.stats());
        std::thread::sleep(Duration::from_millis(2));
    }
    server
}

#[test]
fn a_client_reset_ends_the_upstream_connection() {
    let reset = |client: &TcpStream| sys::socket::set_reset_on_close(client).unwrap();
    each_backend(|events| {
        assert_eq!(leaves(events, GET, reset).stats().resets, 1, "{events}");
        // The client also sends a second request, which the proxy has not read when the client leaves.
        assert_eq!(leaves(events, &GET.repeat(2), reset).stats().resets, 1, "{events}, pipelined");
    });
}

#[test]
fn a_client_that_closes_or_half_closes_and_then_resets_is_noticed() {
    each_backend(|events| {
        leaves(events, GET, |_| {});
        leaves(events, &GET.repeat(2), |_| {});
        leaves(events, GET, |client| {
            client.shutdown(Shutdown::Write).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            sys::socket::set_reset_on_close(client).unwrap();
        });
        // HTTP/1.0 clients get no interim response, but the proxy must also notice when such a client resets its
        // connection.
        let old = b"GET / HTTP/1.0\r\n\r\n";
        leaves(events, old, |client| sys::socket::set_reset_on_close(client).unwrap());
    });
}

#[test]
fn a_client_that_only_half_closes_gets_its_response() {
    each_backend(|events| {
        for (probe_ms, request, interim) in
            [("1", GET, true), ("600000", GET, false), ("1", b"GET / HTTP/1.0\r\n\r\n", false)]
        {
            let go = Arc::new(Barrier::new(2));
            let goes = go.clone();
            let addr = upstream(move |mut stream| {
                if head(&mut stream).is_some() {
                    goes.wait();
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            });
            let server = proxy(addr, events, &[("probe_ms", probe_ms)]);
            let mut client = connect(&server);
            client.write_all(request).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut all = vec![0; if interim { 25 } else { 0 }];
            // The interim response arrives while the upstream server is still silent.
            client.read_exact(&mut all).unwrap();
            go.wait();
            client.read_to_end(&mut all).unwrap();
            let (all, before) = (text(&all), if interim { "HTTP/1.1 100 Continue\r\n\r\n" } else { "" });
            assert!(all.starts_with(&format!("{before}HTTP/1.1 200 OK\r\n")), "{events} {probe_ms}: {all}");
            assert!(all.ends_with("\r\n\r\nok"), "{events} {probe_ms}: {all}");
            assert_eq!(server.stats().resets, 0, "{events}");
        }
    });
}
