//! Error responses of the proxy: for upstream servers that are down, silent or send malformed data, and for exceeded
//! limits.

use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use loadline_serve::Server;

use super::common::{connect, each_backend, exchange, head, proxy, text, upstream};

#[test]
fn each_fault_has_its_status() {
    let (_bound, refused) = testkit::refusing();
    let silent = upstream(|mut stream| while head(&mut stream).is_some() {});
    let nonsense = upstream(|mut stream| {
        let _ = head(&mut stream);
        let _ = stream.write_all(b"what is it?\r\n\r\n");
        std::thread::sleep(Duration::from_millis(500));
    });
    let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    each_backend(|events| {
        let status = |server: &Server, request: &[u8]| {
            let answer = text(&exchange(server, request));
            answer.split(' ').nth(1).unwrap_or_else(|| panic!("{events}: {answer:?}")).to_owned()
        };
        assert_eq!(status(&proxy(refused, events, &[]), get), "502", "{events}");
        assert_eq!(status(&proxy(nonsense, events, &[]), get), "502", "{events}");
        let begin = Instant::now();
        assert_eq!(status(&proxy(silent, events, &[("timeout_ms", "100")]), get), "504", "{events}");
        assert!(begin.elapsed() >= Duration::from_millis(100));
        let server = proxy(silent, events, &[("head_bytes", "1000"), ("max_connections", "2")]);
        let long = format!("GET / HTTP/1.1\r\nHost: x\r\nLong: {}\r\n\r\n", "l".repeat(2000));
        assert_eq!(status(&server, long.as_bytes()), "431", "{events}");
        let endless = format!("GET / HTTP/1.1\r\nHost: x\r\nLong: {}", "l".repeat(2000));
        assert_eq!(status(&server, endless.as_bytes()), "431", "{events}");
        assert_eq!(
            status(&server, b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            "400"
        );
        assert_eq!(status(&server, b"nonsense\r\n\r\n"), "400", "{events}");
        testkit::eventually(|| (server.stats().connections == 0).then_some(()));
        let mut held: Vec<_> = (0..2).map(|_| connect(&server)).collect();
        held.iter_mut().for_each(|stream| stream.write_all(b"GET").unwrap());
        testkit::eventually(|| (server.stats().connections == 2).then_some(()));
        assert_eq!(status(&server, get), "503", "{events}");
    });
}

#[test]
fn a_silent_upstream_fails_in_time_although_a_later_request_waits() {
    each_backend(|events| {
        // The upstream server sends half of the body a little after the request, so the deadline is postponed.
        let (said, heard) = channel();
        let addr = upstream(move |mut stream| {
            let Some(request) = head(&mut stream) else { return };
            if request.starts_with("GET /first") {
                said.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(100));
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345").unwrap();
            }
            let _ = stream.read(&mut [0]);
        });
        let server = proxy(addr, events, &[("timeout_ms", "4000")]);
        let [mut first, mut second] = [(); 2].map(|()| connect(&server));
        first.write_all(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        heard.recv().unwrap();
        std::thread::sleep(Duration::from_millis(3500));
        second.write_all(b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        // The first request is due 3.4 s before the second one. If the proxy checked deadlines in the order in which
        // they were added, both requests would end at the same time.
        first.read_to_end(&mut Vec::new()).unwrap();
        second.set_nonblocking(true).unwrap();
        let is_open = second.peek(&mut [0]).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(is_open, "{events}: the second request ends with the first one");
        second.set_nonblocking(false).unwrap();
        second.read_to_end(&mut Vec::new()).unwrap();
    });
}

#[test]
fn an_incomplete_response_ends_the_connection_and_never_looks_complete() {
    each_backend(|events| {
        // The upstream server sends half of the body, and then sends nothing more or closes the connection.
        let addr = upstream(|mut stream| {
            while let Some(request) = head(&mut stream) {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345").unwrap();
                if request.starts_with("GET /ends") {
                    return;
                }
            }
        });
        // The timeout is long enough for half of the body to arrive.
        let server = proxy(addr, events, &[("timeout_ms", "1000")]);
        for path in ["/ends", "/silent"] {
            let all = text(&exchange(&server, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()));
            assert!(all.starts_with("HTTP/1.1 200") && all.ends_with("12345"), "{events} {path}: {all}");
            assert_eq!(all.matches("HTTP/1.1").count(), 1, "{events} {path}: {all}");
        }
    });
}

#[test]
fn an_endless_response_head_is_a_bad_gateway() {
    let addr = upstream(|mut stream| {
        let _ = head(&mut stream);
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nLong: {}", "l".repeat(5000)).as_bytes());
        let _ = stream.read(&mut [0]);
    });
    each_backend(|events| {
        let server = proxy(addr, events, &[("head_bytes", "1000")]);
        let all = text(&exchange(&server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(all.starts_with("HTTP/1.1 502 "), "{events}: {all}");
    });
}

#[test]
fn a_client_over_the_limit_is_refused_and_served_when_another_leaves() {
    let addr = upstream(|mut stream| {
        while head(&mut stream).is_some() {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    });
    let get = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    each_backend(|events| {
        let server = proxy(addr, events, &[("max_connections", "1")]);
        let mut first = connect(&server);
        first.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        first.read_exact(&mut [0; 40]).unwrap();
        assert!(text(&exchange(&server, get)).starts_with("HTTP/1.1 503 "), "{events}");
        drop(first);
        let until = Instant::now() + Duration::from_secs(30);
        while !text(&exchange(&server, get)).starts_with("HTTP/1.1 200 ") {
            assert!(Instant::now() < until, "{events}: nobody gets in");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(server.stats().refused >= 1, "{events}: refusals are counted");
    });
}
