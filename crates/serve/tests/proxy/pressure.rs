//! Backpressure in both directions: if a receiver does not read, its sender must stop sending, but other connections
//! must continue.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::common::{connect, each_backend, exchange, head, proxy, upstream};

#[test]
fn a_slow_reader_stops_only_its_own_upstream() {
    const SIZE: usize = 40_000_000;
    each_backend(|events| {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = sent.clone();
        let addr = upstream(move |mut stream| {
            while let Some(request) = head(&mut stream) {
                if request.starts_with("GET /small") {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                    continue;
                }
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").unwrap();
                let piece = vec![b'y'; 100_000];
                for _ in 0..SIZE / piece.len() {
                    if stream.write_all(&piece).is_err() {
                        return;
                    }
                    count.fetch_add(piece.len(), Ordering::Relaxed);
                }
            }
        });
        let server = proxy(addr, events, &[]);
        let mut slow = connect(&server);
        slow.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let held = sent.load(Ordering::Relaxed);
        // The socket buffers on both sides and one read of the proxy together hold far less than the whole response.
        assert!(held < SIZE * 3 / 4, "{events}: {held} bytes were taken although nobody read");
        let other = exchange(&server, b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(other.ends_with(b"ok"), "{events}");
        let (mut total, mut buffer) = (0, vec![0; 65_536]);
        while total < SIZE {
            let n = slow.read(&mut buffer).unwrap();
            assert!(n > 0, "{events}: ended after {total}");
            total += n;
        }
    });
}

#[test]
fn an_upstream_that_does_not_read_stops_only_its_own_client() {
    const SIZE: usize = 40_000_000;
    each_backend(|events| {
        let reads = Arc::new(AtomicBool::new(false));
        let may_read = reads.clone();
        let addr = upstream(move |mut stream| {
            while let Some(request) = head(&mut stream) {
                if request.starts_with("PUT") {
                    while !may_read.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    let (mut total, mut buffer) = (0, vec![0; 65_536]);
                    while total < SIZE {
                        match stream.read(&mut buffer) {
                            Ok(n) if n > 0 => total += n,
                            _ => return,
                        }
                    }
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        let server = proxy(addr, events, &[]);
        let mut client = connect(&server);
        write!(client, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {SIZE}\r\n\r\n").unwrap();
        client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
        let (mut sent, piece) = (0, vec![b'u'; 100_000]);
        // The client writes until the buffers on both sides are full. The proxy itself stores at most the data of one
        // read.
        let full = loop {
            match client.write(&piece[..piece.len().min(SIZE - sent)]) {
                Ok(0) => break false,
                Ok(n) => sent += n,
                Err(e) => break matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        };
        assert!(full && sent < SIZE * 3 / 4, "{events}: {sent} bytes were taken although nobody read");
        let other = exchange(&server, b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(other.ends_with(b"ok"), "{events}");
        reads.store(true, Ordering::Relaxed);
        client.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        while sent < SIZE {
            sent += client.write(&piece[..piece.len().min(SIZE - sent)]).unwrap();
        }
        let mut answer = [0; 40];
        client.read_exact(&mut answer).unwrap();
        assert!(answer.ends_with(b"ok"), "{events}");
    });
}
