//! Helpers for tests of the proxy: the proxy itself, upstream servers made from closures, and clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use loadline_serve::{Server, start};
use run::ServePlan;

pub(crate) const BACKENDS: [&str; 4] = ["epoll", "uring", "poll", "select"];

/// Runs `check` for all backends at the same time, because these tests mostly wait.
pub(crate) fn each_backend(check: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for events in BACKENDS {
            let check = &check;
            scope.spawn(move || check(events));
        }
    });
}

pub(crate) fn proxy(upstream: SocketAddr, events: &str, options: &[(&str, &str)]) -> Server {
    let mut plan = ServePlan { service: "proxy".into(), ..ServePlan::default() };
    plan.options.insert("upstream".into(), upstream.to_string());
    plan.options.insert("events".into(), events.into());
    plan.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
    start(&plan).unwrap()
}

/// Starts an upstream server for a proxy test. `each` handles every connection in a separate thread.
pub(crate) fn upstream(each: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
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

/// Reads the head of a request. Returns `None` at the end of the input.
pub(crate) fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut one) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        if stream.read(&mut one).ok()? == 0 {
            return None;
        }
        bytes.push(one[0]);
    }
    Some(String::from_utf8(bytes).unwrap())
}

pub(crate) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends a request, and reads until the proxy closes the connection.
pub(crate) fn exchange(server: &Server, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(server);
    stream.write_all(request).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the number of sockets with the port `port` that belong to a process.
pub(crate) fn sockets_of(port: u16) -> usize {
    let hex = format!(":{port:04X} ");
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    // Inode 0 marks a socket that belongs to no process.
    let owned = |line: &&str| line.split_whitespace().nth(9).is_some_and(|inode| inode != "0");
    table.lines().skip(1).filter(|l| l.contains(&hex)).filter(owned).count()
}
