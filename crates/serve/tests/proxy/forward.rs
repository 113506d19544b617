//! The proxy must forward requests and responses with every framing, and keep connections open. A client that has
//! closed its sending side must still get its response.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use super::common::{connect, each_backend, exchange, head, proxy, text, upstream};

#[test]
fn keeps_connections_on_both_sides_and_passes_bytes_unchanged() {
    each_backend(|events| {
        let opened = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = opened.clone();
        let addr = upstream(move |mut stream| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            while let Some(request) = head(&mut stream) {
                let path = request.split(' ').nth(1).unwrap().to_owned();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let server = proxy(addr, events, &[]);
        let mut client = connect(&server);
        for n in 0..50 {
            client.write_all(format!("GET /{n:03} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
            let expected = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n/{n:03}");
            let mut got = vec![0; expected.len()];
            client.read_exact(&mut got).unwrap();
            assert_eq!(text(&got), expected, "{events}");
        }
        // The client sends the next three requests in one piece, and the proxy must answer them in order. The last of
        // the three requests asks the proxy to close the connection.
        let three = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        client.write_all(three).unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        let rest = text(&rest);
        let order: Vec<_> = ["/a", "/b", "/c"].iter().map(|p| rest.find(p).unwrap()).collect();
        assert!(order.is_sorted() && rest.contains("Connection: close"), "{events}: {rest}");
        assert_eq!(opened.load(std::sync::atomic::Ordering::Relaxed), 1, "{events}");
        assert_eq!(server.stats().requests, 53, "{events}");
        server.stop();
        assert_eq!(server.failures(), Vec::<String>::new());
        assert_eq!(server.join().threads, 0);
    });
}

#[test]
fn a_response_has_the_version_of_the_proxy() {
    each_backend(|events| {
        let addr = upstream(|mut stream| {
            while let Some(request) = head(&mut stream) {
                let keeps = if request.starts_with("GET /keeps") { "Connection: keep-alive\r\n" } else { "" };
                write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n{keeps}\r\nok").unwrap();
                if keeps.is_empty() {
                    return;
                }
            }
        });
        let server = proxy(addr, events, &[]);
        let mut client = connect(&server);
        // The proxy forwards `Connection: keep-alive`, because clients of HTTP/1.0 need this field.
        for (path, fields) in [("/keeps", "Connection: keep-alive\r\n"), ("/", ""), ("/", "")] {
            write!(client, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let expected = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{fields}\r\nok");
            let mut got = vec![0; expected.len()];
            client.read_exact(&mut got).unwrap();
            assert_eq!(text(&got), expected, "{events}");
        }
    });
}

#[test]
fn bodies_of_every_framing_pass_in_both_directions() {
    each_backend(|events| {
        let addr = upstream(|mut stream| {
            while let Some(request) = head(&mut stream) {
                if let Some(at) = request.to_ascii_lowercase().find("content-length: ") {
                    let length: usize = request[at + 16..].lines().next().unwrap().trim().parse().unwrap();
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).unwrap();
                    let sum: u64 = body.iter().map(|&b| u64::from(b)).sum();
                    let answer = format!("{sum}");
                    write!(stream, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{answer}\r\n0\r\n\r\n", answer.len()).unwrap();
                } else if request.starts_with("GET /until-close") {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                    stream.write_all(&vec![b'z'; 300_000]).unwrap();
                    return;
                } else {
                    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                }
            }
        });
        let server = proxy(addr, events, &[]);
        let body = vec![3_u8; 1_000_000];
        let mut request = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        request.extend_from_slice(&body);
        request.extend_from_slice(b"GET /none HTTP/1.1\r\nHost: x\r\n\r\nGET /until-close HTTP/1.1\r\nHost: x\r\n\r\n");
        let all = exchange(&server, &request);
        let shown = text(&all[..all.len().min(400)]);
        assert!(
            shown.contains("100 Continue") && shown.contains("7\r\n3000000\r\n0\r\n\r\nHTTP/1.1 204"),
            "{events}: {shown}"
        );
        assert!(all.ends_with(&vec![b'z'; 300_000]), "{events}: {} bytes", all.len());
    });
}

#[test]
fn a_half_closed_client_still_gets_its_response() {
    each_backend(|events| {
        let addr = upstream(|mut stream| {
            while head(&mut stream).is_some() {
                std::thread::sleep(Duration::from_millis(30));
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        let server = proxy(addr, events, &[]);
        let mut client = connect(&server);
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        assert!(all.ends_with(b"ok"), "{events}: {}", text(&all));
    });
}

#[test]
fn no_request_is_lost_if_a_kept_connection_has_closed() {
    each_backend(|events| {
        // The upstream server answers once per connection, and then closes the connection without announcing this.
        let addr = upstream(|mut stream| {
            let _ = head(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            // The client's next request may arrive while the upstream server closes the connection.
            let _ = head(&mut stream);
        });
        let server = proxy(addr, events, &[]);
        let mut client = connect(&server);
        for _ in 0..10 {
            client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut got = [0; 40];
            client.read_exact(&mut got).unwrap();
            assert!(got.ends_with(b"ok"), "{events}: {}", text(&got));
        }
    });
}
