//! Early data (0-RTT): requests in the first packets of resumed connections, accepted and rejected.

use std::sync::Arc;

use run::{HttpPlan, TlsPlan};

use super::pair::{DELAY_NS, Pages, Pair, client_of, ended, insecure};
use crate::http1::Page;
use crate::http3::{ClientPlan, ServerPlan, ServerShard};
use crate::tls::{ServerConfig, self_signed, server_config, with_early_data};
use crate::{Client, EarlyData, Outcome, Progress, Request, Requester};

/// Number of requests in each connection's early data.
const REQUESTS: u16 = 3;

fn resuming(http: HttpPlan) -> ClientPlan {
    client_of(http, &TlsPlan { resume: 1.0, early_data: true, ..insecure() })
}

fn config() -> ServerConfig {
    let (chain, key) = self_signed(&["localhost"]).unwrap();
    with_early_data(&server_config(chain.as_bytes(), key.as_bytes(), &["h3"]).unwrap())
}

/// Returns a server with the configuration `config`. The server's first `too_early` answers have status 425.
fn server(config: &ServerConfig, too_early: u32) -> ServerShard<Pages> {
    let pages = Pages { too_early: too_early.into(), ..Pages::of(Page::new(200, "text/plain", "", vec![b'x'; 100])) };
    ServerShard::new(&ServerPlan::new(config.clone(), 100).unwrap(), Arc::new(pages))
}

/// Completes a first connection of a client, and begins a second connection that uses early data. Returns the client
/// and the server when the second connection is ready for early data.
fn second_connection(plan: &ClientPlan, config: &ServerConfig) -> Pair {
    let mut pair = Pair::with(plan.session(), 1, 1);
    pair.server = server(config, 0);
    assert_eq!(pair.requests(1, 1).len(), 1);
    pair.client.leave();
    pair.send();
    assert_eq!(pair.client.take_early_data(), EarlyData::default(), "there was no session to resume");
    assert!(!pair.client.awaits_ticket());
    begin_another(&mut pair, plan);
    pair
}

fn begin_another(pair: &mut Pair, plan: &ClientPlan) {
    pair.client = plan.session();
    (pair.fault, pair.progress) = (None, Progress::default());
    assert!(!pair.client.takes_early());
    pair.client.tick(pair.now_ns);
    assert!(pair.client.takes_early() && !pair.client.ready());
}

/// Sends requests as early data. Returns how early data was used, and the time until all requests were answered, as a
/// multiple of a datagram's travel time.
fn exchange(pair: &mut Pair) -> (EarlyData, f64) {
    let begin_ns = pair.now_ns;
    (0..REQUESTS).for_each(|id| pair.client.begin(Request { id, ..Request::default() }));
    pair.run(|pair| pair.done.len() == usize::from(REQUESTS) || pair.fault.is_some());
    let done = std::mem::take(&mut pair.done);
    let expected = (0..REQUESTS).map(|id| ended(id, 200, Outcome::Expected, 100));
    assert_eq!((pair.fault, done), (None, expected.collect()));
    (pair.client.take_early_data(), (pair.now_ns - begin_ns) as f64 / DELAY_NS as f64)
}

#[test]
fn early_data_is_answered_with_the_first_packets_of_the_server() {
    let (plan, config) = (resuming(HttpPlan::default()), config());
    let mut pair = second_connection(&plan, &config);
    for round in 0..5 {
        let (early, delays) = exchange(&mut pair);
        assert_eq!(early, EarlyData { handshakes: 1, requests: 3, resent: 0 });
        assert!(pair.client.resumed() && delays < 3.0, "{delays} delays in round {round}");
        assert_eq!(pair.client.take_early_data(), EarlyData::default());
        // The answers arrived before the session ticket that a further connection needs.
        assert!(pair.client.awaits_ticket());
        pair.run(|pair| !pair.client.awaits_ticket());
        pair.client.leave();
        pair.send();
        begin_another(&mut pair, &plan);
    }
    assert_eq!(pair.server.take_counts().requests, 1 + 5 * u64::from(REQUESTS));
}

/// In this test, the server resumes the session but accepts no early data, or it does not know the session.
#[test]
fn rejected_early_data_is_sent_again_on_the_same_connection() {
    let config = config();
    let mut without = rustls::ServerConfig::clone(&config);
    without.max_early_data_size = 0;
    for (other, resumes) in [(Arc::new(without), true), (with_early_data(&config), false)] {
        let mut pair = second_connection(&resuming(HttpPlan::default()), &config);
        pair.server = server(&other, 0);
        let (early, delays) = exchange(&mut pair);
        assert_eq!(early, EarlyData { handshakes: 0, requests: 0, resent: 3 });
        assert!(pair.client.resumed() == resumes && delays >= 4.0, "{delays} delays");
        assert_eq!(pair.server.take_counts().requests, u64::from(REQUESTS), "the server has seen each only once");
        // After the rejected early data, the connection works like any other connection.
        assert_eq!(pair.requests(20, 5).len(), 20);
        assert_eq!(pair.client.take_early_data(), EarlyData::default());
    }
}

/// RFC 8470, section 5.2: a request that is answered with status 425 is sent again after the handshake.
#[test]
fn a_request_that_came_too_early_is_sent_again() {
    let (plan, config) = (resuming(HttpPlan::default()), config());
    let mut pair = second_connection(&plan, &config);
    pair.server = server(&config, 2);
    let begin_ns = pair.now_ns;
    (0..REQUESTS).for_each(|id| pair.client.begin(Request { id, ..Request::default() }));
    pair.run(|pair| pair.done.len() == usize::from(REQUESTS));
    let done = std::mem::take(&mut pair.done);
    assert_eq!(done, [2, 0, 1].map(|id| ended(id, 200, Outcome::Expected, 100)));
    assert!(pair.now_ns - begin_ns >= 4 * DELAY_NS, "the repetition takes a second round trip");
    assert_eq!(pair.client.take_early_data(), EarlyData { handshakes: 1, requests: 3, resent: 2 });
    assert_eq!(pair.server.take_counts().requests, 5);
    // Status 425 is an answer like any other after the handshake, or if the user expects status 425.
    pair.server = server(&config, 0);
    let expects = resuming(HttpPlan { expect_status: Some(425), ..HttpPlan::default() });
    let mut pair = second_connection(&expects, &config);
    pair.server = server(&config, 1);
    pair.client.begin(Request::default());
    pair.run(|pair| pair.done.len() == 1);
    assert_eq!((pair.done[0].status, pair.done[0].outcome), (425, Outcome::Expected));
    assert_eq!(pair.client.take_early_data(), EarlyData { handshakes: 1, requests: 1, resent: 0 });
}

/// RFC 8470, section 4: an attacker may send early data again, so early data must not contain requests that change
/// something.
#[test]
fn requests_with_unsafe_methods_wait_for_the_handshake() {
    let config = config();
    for method in ["POST", "PUT", "DELETE"] {
        let plan = resuming(HttpPlan { method: method.into(), ..HttpPlan::default() });
        assert!(!plan.may_be_early(0));
        let mut pair = second_connection(&plan, &config);
        let (early, delays) = exchange(&mut pair);
        assert_eq!(early, EarlyData { handshakes: 1, requests: 0, resent: 0 });
        assert!(delays >= 4.0, "{delays} delays");
    }
    assert!(resuming(HttpPlan::default()).may_be_early(0) && !resuming(HttpPlan::default()).may_be_early(1));
}

#[test]
fn lost_early_data_is_sent_again_by_quic() {
    let config = config();
    for seed in 0..10 {
        let mut pair = second_connection(&resuming(HttpPlan::default()), &config);
        (pair.lost_of, pair.rng) = (3, fastrand::Rng::with_seed(seed));
        (0..REQUESTS).for_each(|id| pair.client.begin(Request { id, ..Request::default() }));
        pair.run(|pair| pair.done.len() == usize::from(REQUESTS) || pair.fault.is_some());
        assert!(pair.fault.is_none() && pair.done.iter().all(|done| done.outcome == Outcome::Expected), "{seed}");
        let early = pair.client.take_early_data();
        assert_eq!(early.requests + early.resent, u64::from(REQUESTS), "{seed}");
        assert_eq!(pair.server.take_counts().requests, 1 + u64::from(REQUESTS), "{seed}");
    }
}

/// A session that is used for another connection forgets the early data of its previous connection, but keeps the
/// counts of early data.
#[test]
fn a_session_that_is_reset_begins_early_data_again() {
    let (plan, config) = (resuming(HttpPlan::default()), config());
    let mut pair = second_connection(&plan, &config);
    pair.client.begin(Request::default());
    pair.run(|pair| pair.done.len() == 1);
    pair.client.leave();
    pair.send();
    pair.client.reset();
    (pair.fault, pair.progress) = (None, Progress::default());
    pair.done.clear();
    pair.client.tick(pair.now_ns);
    assert!(pair.client.takes_early());
    let (early, _) = exchange(&mut pair);
    assert_eq!(early, EarlyData { handshakes: 2, requests: 4, resent: 0 });
}
