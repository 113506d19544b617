//! Requests to each service, and checks of the exact answers.

use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::LazyLock;

use proto::record::{HEAD_BYTES, Head, Operation, Status};
use run::ServePlan;

use crate::harness::Variant;
use crate::streams;

/// Number of bytes that the source service sends on each connection.
const SOURCE_BYTES: usize = 100_000;
/// Size of the short file, bytes.
pub(crate) const SHORT: usize = 1000;
/// Size of a long answer, bytes.
pub(crate) const LONG: usize = 16 << 20;

/// Content of long messages and of the long file.
pub(crate) static LONG_NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| noise(LONG));

/// A service with its test requests and the check of its answers.
pub(crate) struct Talk {
    pub(crate) service: &'static str,
    /// Bytes that are sent once, before the first request.
    pub(crate) hello: Vec<u8>,
    /// True if each request is an HTTP/2 stream, which needs its own stream ID.
    pub(crate) numbered: bool,
    /// Bytes of one request; empty for the source service, which sends without a request.
    pub(crate) ask: Vec<u8>,
    /// Bytes of one request of the long exchange.
    pub(crate) long_ask: Vec<u8>,
    /// Number of requests in the long exchange. All requests together move 16 MiB in at least one direction. The number
    /// is 0 if another service's long exchange tests the same code.
    pub(crate) long_asks: usize,
    /// Returns true if `answer` is the complete answer to `asks` requests.
    pub(crate) right: fn(answer: &[u8], ask: &[u8], asks: usize) -> bool,
}

pub(crate) fn talks() -> Vec<Talk> {
    let mut all = vec![
        Talk { ask: noise(64), long_ask: LONG_NOISE.clone(), right: |a, q, n| a == q.repeat(n), ..Talk::new("echo") },
        Talk { ask: get("/short"), long_ask: get("/long"), right: right_http, ..Talk::new("http") },
        Talk { ask: read(512), long_ask: read(1 << 20), long_asks: 16, right: right_records, ..Talk::new("record") },
        Talk { ask: noise(64), long_ask: LONG_NOISE.clone(), right: |a, _, _| a.is_empty(), ..Talk::new("discard") },
        Talk {
            ask: memcached_value(64),
            long_ask: memcached_value(1 << 20),
            long_asks: 16,
            right: right_memcached,
            ..Talk::new("memcached")
        },
        Talk {
            ask: redis_value(64),
            long_ask: redis_value(1 << 20),
            long_asks: 16,
            right: right_redis,
            ..Talk::new("redis")
        },
        Talk { ask: Vec::new(), long_ask: Vec::new(), right: right_source, ..Talk::new("source") },
    ];
    all.extend(streams::talks());
    all
}

impl Talk {
    /// Creates the entry of the test table for a service, by its name. The entry has no requests yet, and its check
    /// accepts no answer.
    pub(crate) fn new(service: &'static str) -> Self {
        let (hello, ask, long_ask) = (Vec::new(), Vec::new(), Vec::new());
        Self { service, hello, numbered: false, ask, long_ask, long_asks: 1, right: |_, _, _| false }
    }

    /// Returns the request that follows after `at` earlier requests.
    fn nth<'a>(&self, ask: &'a [u8], at: usize) -> Cow<'a, [u8]> {
        let mut ask = Cow::Borrowed(ask);
        if self.numbered && at > 0 {
            streams::number(ask.to_mut(), 2 * at as u32 + 1);
        }
        ask
    }

    /// Returns the bytes of `asks` requests. The connection has already sent `after` earlier requests.
    pub(crate) fn asks(&self, after: usize, asks: usize) -> Vec<u8> {
        (after..after + asks).flat_map(|at| self.nth(&self.ask, at).into_owned()).collect()
    }

    /// Returns the first bytes of a connection: the handshake, `asks` requests, and half of a further request.
    pub(crate) fn begin(&self, asks: usize) -> Vec<u8> {
        [&self.hello[..], &self.asks(0, asks), &self.ask[..self.ask.len() / 2]].concat()
    }

    /// Returns the settings of the service's server. `long` is true for the long exchange.
    pub(crate) fn plan(&self, variant: Variant, strategy: &str, root: &Path, long: bool) -> ServePlan {
        let bytes = if long { LONG } else { SOURCE_BYTES }.to_string();
        let options = if self.service == "source" { vec![("source_bytes", bytes.as_str())] } else { Vec::new() };
        let mut plan = variant.plan(self.service, strategy, &options);
        plan.root = ["http", "h2"].contains(&self.service).then(|| root.display().to_string());
        if self.service == "grpc" {
            plan.body_bytes = 64;
        }
        plan
    }

    /// Sends `asks` requests in pieces of `piece` bytes, and closes the sending side. Reads the answers while it sends
    /// the requests, and checks them. Returns the numbers of bytes sent and received.
    pub(crate) fn exchange(&self, stream: TcpStream, ask: &[u8], asks: usize, piece: usize) -> (u64, u64) {
        let mut reader = stream.try_clone().unwrap();
        let mut back = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut stream = stream;
                self.hello.chunks(piece).for_each(|c| stream.write_all(c).unwrap());
                for at in 0..asks {
                    self.nth(ask, at).chunks(piece).for_each(|c| stream.write_all(c).unwrap());
                }
                stream.shutdown(Shutdown::Write).unwrap();
            });
            reader.read_to_end(&mut back).unwrap();
        });
        assert!((self.right)(&back, ask, asks), "{}: {} bytes came back, or others", self.service, back.len());
        ((self.hello.len() + asks * ask.len()) as u64, back.len() as u64)
    }
}

/// Writes the files that the HTTP services serve.
pub(crate) fn write_files(root: &Path) {
    std::fs::write(root.join("short"), &LONG_NOISE[..SHORT]).unwrap();
    std::fs::write(root.join("long"), &LONG_NOISE[..]).unwrap();
}

pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let mut x = 88_172_645_463_325_252_u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).take(bytes.div_ceil(8)).flatten().take(bytes).collect()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes()
}

/// Returns true if each answer consists of a head with the length of the file, and the file itself.
fn right_http(answer: &[u8], ask: &[u8], asks: usize) -> bool {
    let body = if ask == get("/long") { &LONG_NOISE[..] } else { &LONG_NOISE[..SHORT] };
    let mut rest = answer;
    for _ in 0..asks {
        let Some(end) = rest.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
        let head = String::from_utf8_lossy(&rest[..end]).to_lowercase();
        let told = head.starts_with("http/1.1 200 ok") && head.contains(&format!("content-length: {}", body.len()));
        let Some(after) = rest[end + 4..].strip_prefix(body) else { return false };
        if !told {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Returns two requests: one that stores a value, and one that reads it.
fn memcached_value(bytes: usize) -> Vec<u8> {
    [format!("set k 7 0 {bytes}\r\n").as_bytes(), &LONG_NOISE[..bytes], b"\r\nget k\r\n"].concat()
}

/// Returns true if each pair of answers confirms that the value was stored, and then contains the value with its flags.
fn right_memcached(answer: &[u8], ask: &[u8], asks: usize) -> bool {
    let bytes = if ask.len() < 1000 { 64 } else { 1 << 20 };
    let head = format!("STORED\r\nVALUE k 7 {bytes}\r\n");
    answer == [head.as_bytes(), &LONG_NOISE[..bytes], b"\r\nEND\r\n"].concat().repeat(asks)
}

/// Returns two requests: one that stores a value, and one that reads it.
fn redis_value(bytes: usize) -> Vec<u8> {
    let head = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${bytes}\r\n");
    [head.as_bytes(), &LONG_NOISE[..bytes], b"\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"].concat()
}

/// Returns true if each pair of answers confirms that the value was stored, and then contains the value.
fn right_redis(answer: &[u8], ask: &[u8], asks: usize) -> bool {
    let bytes = if ask.len() < 1000 { 64 } else { 1 << 20 };
    let head = format!("+OK\r\n${bytes}\r\n");
    answer == [head.as_bytes(), &LONG_NOISE[..bytes], b"\r\n"].concat().repeat(asks)
}

fn read(bytes: u32) -> Vec<u8> {
    Head::request(Operation::Read, 0, bytes).encode().to_vec()
}

fn right_records(answer: &[u8], ask: &[u8], asks: usize) -> bool {
    let length = Head::decode(ask.first_chunk().unwrap()).unwrap().length as usize;
    let one = HEAD_BYTES + length;
    let (first, done) = (answer.get(HEAD_BYTES..one).unwrap_or_default(), Some(Status::Done));
    let whole = |a: &[u8]| {
        Head::decode(a.first_chunk().unwrap()).is_some_and(|h| h.status == done) && &a[HEAD_BYTES..] == first
    };
    answer.len() == asks * one && answer.chunks_exact(one).all(whole)
}

/// Returns true if the source service sent its bytes exactly once, independently of the requests.
fn right_source(answer: &[u8], _ask: &[u8], _asks: usize) -> bool {
    answer.len() == SOURCE_BYTES || answer.len() == LONG
}
