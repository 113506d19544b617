//! The service `record` on loopback: message sizes, split reads, the origin of records, and errors instead of hangs.

#![allow(clippy::unwrap_used)] // also for the helper functions of tests

use loadline_serve as serve;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use proto::record::{ClientPlan, HEAD_BYTES, Head, Operation, Status};
use proto::{Client as _, Request, Requester as _};
use run::ServePlan;

fn start(root: Option<&std::path::Path>, options: &[(&str, &str)]) -> serve::Server {
    let plan = ServePlan {
        service: "record".into(),
        root: root.map(|p| p.display().to_string()),
        options: options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        ..ServePlan::default()
    };
    serve::start(&plan).unwrap()
}

fn connect(server: &serve::Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Reads one record with the client session. Returns the numbers of bytes sent and received.
fn read_record(server: &serve::Server, bytes: u32) -> (usize, usize) {
    let mut stream = connect(server);
    let mut session = ClientPlan::new(bytes).session();
    session.begin(Request::default());
    let (mut buf, mut up, mut down) = (vec![0; 70_000], 0, 0);
    loop {
        let n = session.transmit(&mut buf);
        stream.write_all(&buf[..n]).unwrap();
        up += n;
        if !session.wants_transmit() {
            let n = stream.read(&mut buf).unwrap();
            down += n;
            if session.receive(&buf[..n], &mut drop).unwrap().completed == 1 {
                return (up, down);
            }
        }
    }
}

fn ask(stream: &mut TcpStream, head: Head) -> (Head, Vec<u8>) {
    stream.write_all(&head.encode()).unwrap();
    answer(stream)
}

fn answer(stream: &mut TcpStream) -> (Head, Vec<u8>) {
    let mut bytes = [0; HEAD_BYTES];
    stream.read_exact(&mut bytes).unwrap();
    let head = Head::decode(&bytes).unwrap();
    let mut body = vec![0; head.length as usize];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

#[test]
fn messages_have_the_published_sizes_and_the_file_stays_in_the_cache() {
    let server = start(None, &[]);
    assert_eq!(read_record(&server, 2048), (60, 2108));
    assert_eq!(read_record(&server, 8192), (120, 8312));
    assert_eq!(read_record(&server, 57_344), (60, 57_404));
    let stats = server.stats();
    assert_eq!((stats.cache_hits, stats.disk_reads, stats.large_reads, stats.large_refused), (4, 0, 1, 0));
    assert_eq!(stats.requests, 4);
}

#[test]
fn without_a_large_buffer_the_client_splits_its_request() {
    let server = start(None, &[("large_read_buffers", "0")]);
    assert_eq!(read_record(&server, 12_288), (240, 12_288 + 240));
    assert_eq!((server.stats().large_refused, server.stats().cache_hits), (1, 3));
}

#[test]
fn with_direct_io_every_record_comes_from_the_disk() {
    let dir = tempfile::tempdir_in(".").unwrap();
    let path = dir.path().join("file");
    let content: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&path, &content).unwrap();
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    let server = start(Some(&path), &[("direct", "1")]);
    let mut stream = connect(&server);
    for (offset, length) in [(0, 512), (4096, 4096), (1000, 3000), (99_000, 4096)] {
        let (head, body) = ask(&mut stream, Head::request(Operation::Read, offset, length));
        let end = content.len().min(offset as usize + length as usize);
        let whole = end - offset as usize == length as usize;
        assert_eq!(head.status, Some(if whole { Status::Done } else { Status::Short }));
        if whole {
            assert_eq!(body, content[offset as usize..end]);
            assert_eq!(head.origin, (false, true));
        }
    }
    assert_eq!((server.stats().cache_hits, server.stats().disk_reads), (0, 4));
}

#[test]
fn a_file_in_memory_is_not_on_a_disk() {
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let server = start(Some(file.path()), &[]);
    read_record(&server, 2048);
    assert_eq!((server.stats().disk_reads, server.stats().cache_hits), (0, 1));
}

#[test]
fn every_invalid_request_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, [1; 3000]).unwrap();
    let server = start(Some(&path), &[("sync", "1")]);
    let mut stream = connect(&server);
    let read = |offset, length| Head::request(Operation::Read, offset, length);
    assert_eq!(ask(&mut stream, Head::request(Operation::Length, 0, 0)).0.file_bytes, 3000);
    assert_eq!(
        ask(&mut stream, read(0, 2048)),
        (Head { status: Some(Status::Done), origin: (true, false), file_bytes: 3000, ..read(0, 2048) }, vec![1; 2048])
    );
    assert_eq!(ask(&mut stream, read(2048, 2048)).0.status, Some(Status::Short));
    assert_eq!(ask(&mut stream, read(3000, 1)).0.status, Some(Status::PastEnd));
    assert_eq!(ask(&mut stream, read(u64::MAX - 5, 4096)).0.status, Some(Status::PastEnd));
    stream.write_all(&Head::request(Operation::Write, 10, 3).encode()).unwrap();
    stream.write_all(b"abc").unwrap();
    assert_eq!(answer(&mut stream).0.status, Some(Status::Done));
    assert_eq!(ask(&mut stream, read(9, 5)).1, b"\x01abc\x01");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(ask(&mut stream, read(0, 1)).0.status, Some(Status::Vanished));
    stream.write_all(&[b'x'; 300]).unwrap();
    assert_eq!(answer(&mut stream).0.status, Some(Status::Malformed));
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "then the connection ends");
}

#[test]
fn an_unusable_record_file_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    for root in [dir.path(), &missing] {
        let root = root.display().to_string();
        let plan = ServePlan { service: "record".into(), root: Some(root.clone()), ..ServePlan::default() };
        let refused = serve::start(&plan);
        let words = refused.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(words.contains(&root) && words.contains("name a readable file"), "{words}");
    }
}
