//! Makes exchanges of request and answer: one exchange on a connection of its own, or one for each request of a set.

use std::time::{Duration, Instant};

use proto::AnyClient;
use run::{Address, LoadPlan};
use sys::blocking_stream::BlockingStream;

use super::exchange::{Exchange, ExchangeError};
use super::explain;
use super::stream::connect;

/// Makes one exchange of request and answer. Returns the exchange, and true if the status was unexpected. The error
/// message is a sentence with advice. If no answer came in time, the message ends with `wait_advice`. If
/// `max_kept_bytes` is a number, at most the first `max_kept_bytes` bytes of the answer are kept (HTTP/2). If
/// `max_kept_bytes` is `None`, only the beginning of the answer is kept.
pub(super) fn exchanged(
    addr: &Address,
    plan: &LoadPlan,
    wait_advice: &str,
    max_kept_bytes: Option<usize>,
) -> Result<(Exchange, bool), String> {
    let client = client(plan)?;
    let begin = Instant::now();
    let mut exchange = Exchange::new(open(addr, plan)?, begin, patience(plan));
    // In a protocol without answers, only the connection can be tested.
    let mut sessions = client.sessions(1);
    let session = sessions.session(0);
    max_kept_bytes.iter().for_each(|bytes| session.keep_first_answer(*bytes));
    let answered = proto::spec(&plan.protocol).answers;
    let done = if answered { exchange.run(session, 0, true) } else { Ok(false) };
    if !answered {
        exchange.took = begin.elapsed();
    }
    let unexpected = done.map_err(|e| explained(&exchange, &e, plan, wait_advice))?;
    Ok((exchange, unexpected))
}

/// Sends the requests of a set with the indexes `items`, one after another, and calls `each` with each exchange. The
/// second argument of `each` is true if the status was unexpected. Opens a new connection whenever the server has
/// closed the current one. The error message is a sentence with advice.
pub(super) fn exchange_each(
    addr: &Address,
    plan: &LoadPlan,
    items: &[u16],
    each: &mut dyn FnMut(&mut Exchange, bool),
) -> Result<(), String> {
    let (client, mut left) = (client(plan)?, items);
    while !left.is_empty() {
        let mut sessions = client.sessions(1);
        let session = sessions.session(0);
        session.forget_first_answer();
        let begin = Instant::now();
        let mut exchange = Exchange::new(open(addr, plan)?, begin, patience(plan));
        let left_before = left.len();
        while let Some((item, rest)) = left.split_first() {
            let unexpected = match exchange.run(session, *item, rest.is_empty()) {
                Ok(unexpected) => unexpected,
                // A server may close a connection at any time after an answer. The request is therefore sent again on a
                // new connection.
                Err(_) if left.len() < left_before => break,
                Err(e) => return Err(explained(&exchange, &e, plan, "")),
            };
            each(&mut exchange, unexpected);
            left = rest;
            if exchange.is_closing || !session.takes_more() {
                break;
            }
            exchange = exchange.next(session);
        }
    }
    Ok(())
}

/// Returns the client of a plan. Creating the client reads the plan's files, so an unreadable file is reported before a
/// connection is opened.
fn client(plan: &LoadPlan) -> Result<Box<dyn AnyClient>, String> {
    let revealed = plan.revealed();
    let (protocol, requests) = (&revealed.protocol, revealed.requests.as_ref());
    proto::stream_client(protocol, requests, plan.tls.as_ref(), plan.stream.as_ref())
        .map_err(|e| plan.secrets.scrub(&e.to_string()))
}

fn open(addr: &Address, plan: &LoadPlan) -> Result<BlockingStream, String> {
    connect(addr, over_udp(plan), connect_timeout(plan))
        .map_err(|e| explain::explain_connect(addr, &e, plan.connect_timeout_s))
}

/// Returns the longest time that an answer may take.
fn patience(plan: &LoadPlan) -> Duration {
    Duration::from_secs_f64(plan.timeout_s.clamp(0.001, 3600.0))
}

/// Explains the failure of an exchange. The explanation contains no secrets.
fn explained(exchange: &Exchange, error: &ExchangeError, plan: &LoadPlan, wait_advice: &str) -> String {
    run::hide_tokens(&plan.secrets.scrub(&explain::explain_exchange(exchange, error, plan, wait_advice)))
}

/// Returns true if the protocol of the plan is spoken over UDP.
pub(super) fn over_udp(plan: &LoadPlan) -> bool {
    proto::spec(&plan.protocol).datagrams
}

/// Returns the longest time that a connect may take.
pub(super) fn connect_timeout(plan: &LoadPlan) -> Duration {
    Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0))
}
