//! Makes one exchange of request and answer on a connection of its own.

use std::time::{Duration, Instant};

use run::{Address, LoadPlan};

use super::exchange::Exchange;
use super::explain;
use super::response_text::Answer;
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
    let revealed = plan.revealed();
    let (protocol, requests) = (&revealed.protocol, revealed.requests.as_ref());
    let unprepared = |e: proto::ProtoError| plan.secrets.scrub(&e.to_string());
    // An unreadable file is reported before connecting.
    let client =
        proto::stream_client(protocol, requests, plan.tls.as_ref(), plan.stream.as_ref()).map_err(unprepared)?;
    let begin = Instant::now();
    let stream = connect(addr, over_udp(plan), connect_timeout(plan))
        .map_err(|e| explain::explain_connect(addr, &e, plan.connect_timeout_s))?;
    let patience = Duration::from_secs_f64(plan.timeout_s.clamp(0.001, 3600.0));
    let answered = proto::spec(&plan.protocol).answers;
    let mut exchange = Exchange {
        stream,
        begin,
        deadline: begin + patience,
        took: Duration::ZERO,
        answer: Answer::default(),
        bytes: 0,
        bytes_sent: 0,
        answer_bytes: 0,
        request_begun: false,
        handshake_bytes: 0,
        handshake_plain: 0,
        handshakes: 0,
        status: 0,
        said: None,
    };
    // In a protocol without answers, only the connection can be tested.
    let mut sessions = client.sessions(1);
    let session = sessions.session(0);
    max_kept_bytes.iter().for_each(|bytes| session.keep_first_answer(*bytes));
    let done = if answered { exchange.run(session) } else { Ok(false) };
    if !answered {
        exchange.took = begin.elapsed();
    }
    let unexpected = done.map_err(|e| {
        run::hide_tokens(&plan.secrets.scrub(&explain::explain_exchange(&exchange, &e, plan, wait_advice)))
    })?;
    Ok((exchange, unexpected))
}

/// Returns true if the protocol of the plan is spoken over UDP.
pub(super) fn over_udp(plan: &LoadPlan) -> bool {
    proto::spec(&plan.protocol).datagrams
}

/// Returns the longest time that a connect may take.
pub(super) fn connect_timeout(plan: &LoadPlan) -> Duration {
    Duration::from_secs_f64(plan.connect_timeout_s.clamp(0.001, 3600.0))
}
