//! Tests of services without sockets and threads: bytes pass through the state machine of a connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use run::ServePlan;

use super::{SERVICES, ServiceKind};
use crate::connection::{Connection, End, Next};
use crate::{Options, ServeError, Service, Stats};

/// Opens the service that `plan` selects, with the settings of `plan`.
pub(crate) fn open(plan: &ServePlan) -> Result<Arc<dyn Service>, ServeError> {
    let row = SERVICES.iter().find(|row| row.name == plan.service).unwrap();
    let ServiceKind::Sessions(open) = row.kind else { unreachable!("{} has no sessions", row.name) };
    open(plan, &Options::new(&plan.options)?)
}

pub(crate) fn plan(name: &str, options: &[(&str, &str)]) -> ServePlan {
    let options: BTreeMap<String, String> = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    ServePlan { service: name.into(), options, ..ServePlan::default() }
}

pub(crate) fn service(name: &str, options: &[(&str, &str)]) -> Arc<dyn Service> {
    open(&plan(name, options)).unwrap()
}

/// Passes `input` to a new connection of the service, in small pieces. Returns the connection's answer and its next
/// step.
fn exchange(service: &dyn Service, input: &[u8]) -> (Vec<u8>, Next) {
    let mut connection = Connection::new(service.session(), 1, false);
    for piece in input.chunks(7) {
        connection.received(piece, 1).unwrap();
    }
    let (mut answer, mut piece) = (Vec::new(), vec![0; 1000]);
    while let n @ 1.. = connection.transmit(&mut piece) {
        answer.extend_from_slice(&piece[..n]);
    }
    (answer, connection.settle(1))
}

fn said(service: &dyn Service, input: &str) -> String {
    String::from_utf8_lossy(&exchange(service, input.as_bytes()).0).into_owned()
}

fn error(plan: &ServePlan) -> String {
    open(plan).err().unwrap().to_string()
}

#[test]
fn every_session_can_be_reset_for_another_connection() {
    for row in SERVICES.iter().filter(|row| matches!(row.kind, ServiceKind::Sessions(_)) && row.name != "source") {
        let service = service(row.name, &[]);
        let (answer, next) = exchange(&*service, b"");
        assert_eq!((answer.is_empty(), next), (true, Next::Wait), "{}", row.name);
        // After `reset`, a session must be usable for another connection.
        let mut session = service.session();
        session.reset();
        assert!(!session.awaits_head(), "{}", row.name);
    }
}

#[test]
fn http_answers_known_methods_and_refuses_others() {
    let http = open(&ServePlan { body_bytes: 5000, ..plan("http", &[]) }).unwrap();
    for method in ["GET", "POST", "PUT"] {
        let answer = said(&*http, &format!("{method} /any HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{method}: {answer}");
        assert_eq!(answer.split_once("\r\n\r\n").unwrap().1.len(), 5000, "{method}");
    }
    let head = said(&*http, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.contains("Content-Length: 5000") && head.ends_with("\r\n\r\n"), "{head}");
    let deleted = said(&*http, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(deleted.starts_with("HTTP/1.1 405 ") && deleted.contains("Allow: GET, HEAD"), "{deleted}");
}

#[test]
fn http_closes_on_request_and_lingers_after_an_invalid_request() {
    let http = service("http", &[]);
    let close = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(&*http, close).1, Next::Close(End::Done));
    let (answer, next) = exchange(&*http, b"NONSENSE\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 400 "));
    assert_eq!(next, Next::EndSide);
}

#[test]
fn http_answers_pipelined_requests_in_order() {
    let answer = said(&*service("http", &[("status", "201")]), &"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3));
    assert_eq!(answer.matches("HTTP/1.1 201 ").count(), 3, "{answer}");
}

#[test]
fn idle_connections_and_slow_bodies_do_not_count_as_slow_heads() {
    let mut connection = Connection::new(service("http", &[]).session(), 1, false);
    assert_eq!(connection.activity.head_left_ms(90_000, 700), None);
    connection.received(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6", 90_000).unwrap();
    assert_eq!(connection.activity.head_left_ms(90_000, 700), Some(700));
    connection.received(b"0\r\n\r\n", 90_100).unwrap();
    assert_eq!(connection.activity.head_left_ms(90_100, 700), None);
    // The body arrives one byte at a time, and takes longer than the maximum time for a head.
    for n in 0..60 {
        connection.received(b"x", 90_100 + n * 100).unwrap();
        assert_eq!(connection.activity.head_left_ms(99_999, 700), None);
    }
    assert!(connection.wants_write());
}

#[test]
fn an_option_sends_head_and_body_in_two_pieces() {
    for (split, pieces) in [("0", 1), ("1", 2)] {
        let http = service("http", &[("split_head", split)]);
        assert_eq!(http.nagle(), split == "1");
        let mut session = http.session();
        session.receive(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut out = vec![0; 10_000];
        let writes = std::iter::from_fn(|| Some(session.transmit(&mut out)).filter(|n| *n > 0)).count();
        assert_eq!(writes, pieces, "split_head={split}");
    }
}

#[test]
fn http_refuses_requests_above_the_rate_limit() {
    let http = service("http", &[("reject_over", "0.001"), ("reject_status", "429")]);
    let answers = said(&*http, &"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5));
    assert_eq!((answers.matches("HTTP/1.1 200 ").count(), answers.matches("HTTP/1.1 429 ").count()), (1, 4));
}

#[test]
fn simple_services_give_the_expected_answers() {
    assert_eq!(said(&*service("echo", &[]), "hello"), "hello");
    assert_eq!(said(&*service("discard", &[]), "hello"), "");
    assert_eq!(exchange(&*service("source", &[("source_bytes", "2500")]), b"").0.len(), 2500);
    assert_eq!(said(&*service("redis", &[]), "*1\r\n$4\r\nPING\r\n"), "+PONG\r\n");
    let memcached = service("memcached", &[]);
    assert_eq!(said(&*memcached, "set k 7 0 2\r\nhi\r\nget k\r\n"), "STORED\r\nVALUE k 7 2\r\nhi\r\nEND\r\n");
    // The connections share the store of the service, so another connection finds the value.
    assert_eq!(said(&*memcached, "get k\r\n"), "VALUE k 7 2\r\nhi\r\nEND\r\n");
}

#[test]
fn too_large_bodies_and_missing_files_are_refused() {
    let large = |name| ServePlan { body_bytes: (1 << 30) + 1, ..plan(name, &[]) };
    assert!(error(&large("http")).contains("kept in memory"));
    assert!(error(&large("grpc")).contains("kept in memory"));
    let nowhere = |name| ServePlan { root: Some("/nonexistent".into()), ..plan(name, &[]) };
    assert!(error(&nowhere("http")).contains("/nonexistent") && error(&nowhere("http")).contains("directory"));
    assert!(error(&nowhere("record")).contains("/nonexistent") && error(&nowhere("record")).contains("readable file"));
    assert!(error(&plan("h2", &[("streams", "many")])).contains("count"));
}

#[test]
fn the_reply_of_a_busy_server_follows_its_protocol() {
    let busy = |name| String::from_utf8_lossy(service(name, &[]).busy_reply()).into_owned();
    assert!(busy("http").starts_with("HTTP/1.1 503 ") && busy("ws").starts_with("HTTP/1.1 503 "));
    assert!(busy("redis").starts_with("-ERR ") && busy("memcached").starts_with("SERVER_ERROR "));
    // HTTP/2 does not allow a busy server to send a reply before the handshake.
    assert_eq!(busy("h2"), "");
}

#[test]
fn an_option_or_a_certificate_turns_tls_on() {
    let wrap = |options: &[(&str, &str)]| {
        let plan = plan("echo", options);
        super::tls::wrap(service("echo", &[]), &[], &Options::new(&plan.options).unwrap())
    };
    let (plain, note) = wrap(&[]).unwrap();
    assert!(note.is_none() && plain.session().mirrors());
    let (tls, note) = wrap(&[("tls", "1")]).unwrap();
    assert!(note.unwrap().contains("--insecure") && !tls.session().mirrors());
    assert!(wrap(&[("tls_cert", "a.pem")]).err().unwrap().to_string().contains("--key"));
    let missing = wrap(&[("tls_cert", "/nonexistent"), ("tls_key", "/nonexistent")]).err().unwrap().to_string();
    assert!(missing.contains("cannot read /nonexistent"), "{missing}");
}

#[test]
fn records_are_counted_by_origin() {
    let record = service("record", &[]);
    let head = proto::record::Head::request(proto::record::Operation::Read, 512, 512).encode();
    let (answer, next) = exchange(&*record, &head);
    assert_eq!((answer.len(), next), (proto::record::HEAD_BYTES + 512, Next::Wait));
    assert_eq!(answer[proto::record::HEAD_BYTES], 1, "the second block of the file of our own");
    let mut stats = Stats::default();
    record.add_to(&mut stats);
    assert_eq!((stats.cache_hits, stats.disk_reads), (1, 0));
}
