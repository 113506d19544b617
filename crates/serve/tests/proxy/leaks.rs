//! A running proxy must not leak sockets if clients or upstream servers leave in the middle of an exchange.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::common::{connect, each_backend, head, proxy, sockets_of, upstream};

#[test]
fn nothing_leaks_if_clients_and_upstreams_leave_during_an_exchange() {
    each_backend(|events| {
        let addr = upstream(|mut stream| {
            while let Some(request) = head(&mut stream) {
                let whole = request.starts_with("GET /whole");
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
                if whole {
                    let _ = stream.write_all(b"cd");
                } else if request.starts_with("GET /cut") {
                    let _ = stream.shutdown(Shutdown::Both);
                    return;
                }
            }
        });
        let server = proxy(addr, events, &[("pool", "4"), ("timeout_ms", "500")]);
        for round in 0..100 {
            let mut client = connect(&server);
            match round % 5 {
                0 => client.write_all(b"GET /whole HTTP/1.1\r\nHost: x\r\n\r\n").unwrap(),
                1 => client.write_all(b"GET /half HTTP/1.1\r\nHost: x\r\n\r\n").unwrap(),
                2 => client.write_all(b"GET /cut HTTP/1.1\r\nHost: x\r\n\r\n").unwrap(),
                3 => client.write_all(b"GET /he").unwrap(),
                _ => client.write_all(b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n123").unwrap(),
            }
            if round % 2 == 0 {
                let _ = client.set_read_timeout(Some(Duration::from_millis(20)));
                let _ = client.read(&mut [0; 64]);
            }
            reset_half_of_them(round, client);
        }
        let port = server.local_addr().port();
        let until = Instant::now() + Duration::from_secs(15);
        // Only the listening sockets and the unused upstream connections may remain. Both ends of an upstream
        // connection belong to this process, so each connection counts as two sockets.
        while server.stats().connections > 0 || sockets_of(port) > 1 || sockets_of(addr.port()) > 1 + 2 * 4 {
            assert!(
                Instant::now() < until,
                "{events}: {} clients, {} sockets of the proxy, {} of its upstream",
                server.stats().connections,
                sockets_of(port),
                sockets_of(addr.port())
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(server.failures(), Vec::<String>::new(), "{events}");
    });
}

fn reset_half_of_them(round: usize, client: TcpStream) {
    if round.is_multiple_of(3) {
        let _ = sys::socket::set_reset_on_close(&client);
    }
    drop(client);
}
