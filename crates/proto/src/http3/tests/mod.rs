//! Client and server against each other, in virtual time and without a network. Datagrams may be lost.

mod early_data;
mod events;
mod exchange;
mod odd_answers;
mod odd_endings;
mod odd_server;
mod odd_streams;
mod pair;

use run::{HttpPlan, Protocol, TlsPlan};

use self::pair::{Pair, client_of, ended, insecure};
use super::ClientPlan;
use crate::Which;
use crate::tls::self_signed;
use crate::{Client, Fault, Outcome, Progress, Request, Requester};

#[test]
fn each_request_gets_its_answer() {
    let mut pair = Pair::new(HttpPlan::default(), 1294);
    let mut done = pair.requests(200, 10);
    done.sort_by_key(|done| match done.which {
        Which::Id(id) => id,
        Which::Oldest => u16::MAX,
    });
    assert_eq!(done, (0..200).map(|id| ended(id, 200, Outcome::Expected, 1294)).collect::<Vec<_>>());
    assert_eq!(pair.server.take_counts().requests, 200);
    assert!(pair.client.plain().unwrap().starts_with(b"HTTP/3 200\r\n\r\nxxx"));
    assert_eq!(pair.client.last_body_bytes(), Some(1294));
}

#[test]
fn lost_datagrams_are_sent_again() {
    let mut pair = Pair::new(HttpPlan::default(), 20_000);
    pair.lost_of = 10;
    let done = pair.requests(50, 5);
    assert!(done.len() == 50 && done.iter().all(|d| d.outcome == Outcome::Expected && d.bytes == 20_000), "{done:?}");
    let path = pair.client.quic_path().unwrap();
    assert!(path.lost_packets > 0 && path.lost_packets < path.sent_packets / 2, "{path:?}");
    // A datagram takes 1 ms each way, and an acknowledgement may be up to 25 ms late.
    assert!((1_990.0..2_500.0).contains(&path.min_rtt_us) && path.rtt_us < 60_000.0, "{path:?}");
}

#[test]
fn bodies_larger_than_every_window_arrive_in_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("body");
    std::fs::write(&file, vec![b'b'; 9 << 20]).unwrap();
    let body_file = Some(file.display().to_string());
    let mut pair = Pair::new(HttpPlan { method: "POST".into(), body_file, ..HttpPlan::default() }, 20 << 20);
    let done = pair.requests(1, 1);
    assert_eq!(done, [ended(0, 200, Outcome::Expected, 20 << 20)]);
    assert_eq!(pair.server.take_counts().requests, 1);
}

#[test]
fn requests_wait_for_the_streams_that_the_server_permits() {
    let mut pair = Pair::with(client_of(HttpPlan::default(), &insecure()).session(), 10, 2);
    assert_eq!(pair.requests(20, 20).len(), 20);
}

#[test]
fn an_unexpected_status_and_a_head_request_are_told() {
    let mut pair = Pair::new(HttpPlan { path: "/missing".into(), ..HttpPlan::default() }, 1);
    let done = pair.requests(1, 1);
    assert_eq!((done[0].status, done[0].outcome), (404, Outcome::Unexpected));
    let mut pair = Pair::new(HttpPlan { method: "HEAD".into(), ..HttpPlan::default() }, 500);
    assert_eq!(pair.requests(1, 1), [ended(0, 200, Outcome::Expected, 0)]);
}

#[test]
fn an_untrusted_certificate_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, self_signed(&["other"]).unwrap().0).unwrap();
    let ca_file = Some(file.display().to_string());
    let tls = TlsPlan { ca_file, server_name: "localhost".into(), ..TlsPlan::default() };
    let mut pair = Pair::with(client_of(HttpPlan::default(), &tls).session(), 1, 10);
    assert!(pair.requests(1, 1).is_empty() && pair.fault.is_some());
    let why = pair.client.explain().unwrap();
    assert!(why.contains("certificate") && why.contains("--insecure"), "{why}");
}

#[test]
fn a_second_connection_resumes_the_session_of_the_first() {
    let plan = client_of(HttpPlan::default(), &TlsPlan { resume: 1.0, ..insecure() });
    let mut pair = Pair::with(plan.session(), 10, 10);
    for resumed in [false, true] {
        assert_eq!(pair.requests(3, 1).len(), 3);
        assert_eq!(pair.client.resumed(), resumed);
        pair.client.leave();
        pair.send();
        pair.client = plan.session();
        (pair.fault, pair.progress) = (None, Progress::default());
    }
}

#[test]
fn the_end_of_the_server_is_told_with_its_code() {
    let mut pair = Pair::new(HttpPlan::default(), 10);
    assert_eq!(pair.requests(1, 1).len(), 1);
    pair.server.stop(pair.now_ns);
    pair.run(|pair| pair.progress.close);
    assert_eq!(pair.fault, None, "no request was in flight");
    assert!(pair.client.close_words().unwrap().contains("H3_NO_ERROR (0x100)"));
    let mut pair = Pair::new(HttpPlan::default(), 10);
    assert_eq!(pair.requests(1, 1).len(), 1);
    pair.client.begin(Request::default());
    pair.server.stop(pair.now_ns);
    pair.run(|pair| pair.fault.is_some());
    assert_eq!(pair.fault, Some(Fault::Short));
}

#[test]
fn without_settings_of_tls_the_reason_is_told() {
    let mut session = ClientPlan::with_set(&Protocol::Http3(HttpPlan::default()), None).unwrap().session();
    session.tick(1);
    assert!(!session.wants_transmit() && session.explain().unwrap().contains("h3://"));
}
