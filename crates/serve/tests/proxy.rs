//! The proxy in front of test upstreams and of nginx, on every back end of the event API.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loadline_serve::{Server, start};
use run::ServePlan;

const BACKENDS: [&str; 4] = ["epoll", "uring", "poll", "select"];

fn proxy(upstream: SocketAddr, events: &str, options: &[(&str, &str)]) -> Server {
    let mut plan = ServePlan { service: "proxy".into(), ..ServePlan::default() };
    plan.options.insert("upstream".into(), upstream.to_string());
    plan.options.insert("events".into(), events.into());
    plan.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    start(&plan).unwrap()
}

fn require(name: &str, what: &str) {
    println!("SKIP {name}: {what}");
    assert!(std::env::var("LOADLINE_REQUIRE").as_deref() != Ok("all"));
}

/// An upstream: `each` gets every connection, on a thread of its own.
fn upstream(each: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            std::thread::spawn(move || each(stream));
        }
    });
    addr
}

/// Reads a head of a request; `None` at the end.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut one) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        bytes.push(one[0]);
    }
    Some(String::from_utf8(bytes).unwrap())
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends and reads until the proxy closes.
fn exchange(server: &Server, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(server);
    stream.write_all(request).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn keeps_connections_on_both_sides_and_passes_bytes_unchanged() {
    for events in BACKENDS {
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
        // Three in one piece, in order, the last one ends the connection.
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
    }
}

#[test]
fn bodies_of_every_framing_go_both_ways() {
    for events in BACKENDS {
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
    }
}

#[test]
fn a_client_that_ends_its_side_still_gets_its_answer() {
    for events in BACKENDS {
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
    }
}

#[test]
fn a_slow_reader_holds_back_its_upstream_and_nobody_else() {
    const SIZE: usize = 40_000_000;
    for events in BACKENDS {
        let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
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
                    count.fetch_add(piece.len(), std::sync::atomic::Ordering::Relaxed);
                }
            }
        });
        let server = proxy(addr, events, &[]);
        let mut slow = connect(&server);
        slow.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let held = sent.load(std::sync::atomic::Ordering::Relaxed);
        // Socket buffers of both legs and one piece of the proxy's own; nowhere near the whole.
        assert!(held < SIZE * 3 / 4, "{events}: {held} bytes were taken although nobody read");
        let other = exchange(&server, b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert!(other.ends_with(b"ok"), "{events}");
        let (mut total, mut buffer) = (0, vec![0; 65_536]);
        while total < SIZE {
            let n = slow.read(&mut buffer).unwrap();
            assert!(n > 0, "{events}: ended after {total}");
            total += n;
        }
    }
}

#[test]
fn faults_are_told_by_their_status() {
    let refused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = upstream(|mut stream| while head(&mut stream).is_some() {});
    let nonsense = upstream(|mut stream| {
        let _ = head(&mut stream);
        let _ = stream.write_all(b"what is it?\r\n\r\n");
        std::thread::sleep(Duration::from_millis(500));
    });
    let get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for events in BACKENDS {
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
        let mut held: Vec<_> = (0..2).map(|_| connect(&server)).collect();
        held.iter_mut().for_each(|stream| stream.write_all(b"GET").unwrap());
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(status(&server, get), "503", "{events}");
    }
}

#[test]
fn a_kept_connection_that_is_gone_costs_no_request() {
    for events in BACKENDS {
        // Answers once a connection and closes without saying so before.
        let addr = upstream(|mut stream| {
            let _ = head(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            // The next request is on its way when the connection goes.
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
    }
}

/// nginx on a free port serving `/file` of 1294 bytes and `/large` of 5 MB; ends with the value.
struct Nginx {
    child: Child,
    addr: SocketAddr,
    dir: tempfile::TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn nginx() -> Option<Nginx> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|p| std::path::Path::new(p).exists())?;
    let dir = tempfile::TempDir::new().unwrap();
    let d = dir.path().display().to_string();
    Command::new("chmod").arg("755").arg(&d).status().unwrap();
    std::fs::write(dir.path().join("file"), vec![b'x'; 1294]).unwrap();
    std::fs::write(dir.path().join("large"), vec![b'x'; 5_000_000]).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "daemon off; worker_processes 1; pid {d}/pid; error_log {d}/error; events {{ worker_connections 4000; }}
         http {{ access_log {d}/access; keepalive_requests 100; client_body_temp_path {d}/b; proxy_temp_path {d}/p;
           fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
           server {{ listen 127.0.0.1:{port} backlog=4096; root {d}; }} }}"
    );
    std::fs::write(dir.path().join("nginx.conf"), config).unwrap();
    let child = Command::new(program)
        .args(["-c", &format!("{d}/nginx.conf"), "-e", &format!("{d}/error")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    let nginx = Nginx { child, addr, dir };
    for _ in 0..200 {
        if TcpStream::connect(addr).is_ok() {
            return Some(nginx);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("nginx does not listen: {}", std::fs::read_to_string(nginx.dir.path().join("error")).unwrap_or_default());
}

#[test]
fn stands_in_front_of_nginx_for_curl_and_wrk() {
    let Some(nginx) = nginx() else { return require("stands_in_front_of_nginx_for_curl_and_wrk", "no nginx") };
    for events in BACKENDS {
        let server = proxy(nginx.addr, events, &[]);
        let url = format!("http://{}", server.local_addr());
        match Command::new("curl")
            .args([
                "-s",
                "-S",
                "--max-time",
                "20",
                "-o",
                "/dev/null",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{size_download}\n",
                &format!("{url}/file"),
                &format!("{url}/large"),
            ])
            .output()
        {
            Ok(out) => assert_eq!(text(&out.stdout), "200 1294\n200 5000000\n", "{events}: {}", text(&out.stderr)),
            Err(_) => require("stands_in_front_of_nginx_for_curl_and_wrk", "no curl"),
        }
        // nginx closes each connection after 100 requests: reuse and replacement both happen.
        match Command::new("wrk").args(["-t1", "-c40", "-d1s", &format!("{url}/file")]).output() {
            Ok(out) => {
                let shown = text(&out.stdout);
                assert!(!shown.contains("Non-2xx") && !shown.contains("Socket errors"), "{events}: {shown}");
                let done: u64 = shown
                    .lines()
                    .find(|l| l.contains("requests in"))
                    .and_then(|l| l.trim().split(' ').next()?.parse().ok())
                    .unwrap();
                assert!(done > 200 && server.stats().requests >= done, "{events}: {shown}");
            }
            Err(_) => require("stands_in_front_of_nginx_for_curl_and_wrk", "no wrk"),
        }
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = descriptors();
        server.stop();
        assert_eq!(server.failures(), Vec::<String>::new(), "{events}");
        let stats = server.join();
        assert_eq!(stats.threads, 0);
        assert!(descriptors() <= before, "{events}");
    }
}
