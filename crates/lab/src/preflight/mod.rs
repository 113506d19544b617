//! Test request before any load, which checks that the server uses the expected protocol. If the server uses another
//! protocol, the user gets one precise sentence at once instead of a million errors later.

pub(crate) mod calls;
mod cluster;
mod exchange;
mod explain;
mod look_up;
mod one_exchange;
mod reflection;
mod response_text;
mod stream;
mod test_response;

use std::io::ErrorKind;

use run::{Address, ClusterSlots, Intensity, LoadPlan, ServerAnswer, ServerQuestion, TestResponse};

use self::exchange::Exchange;
pub(crate) use self::look_up::{look_up, not_found};
use self::one_exchange::{connect_timeout, exchange_each, exchanged, over_udp};
use self::stream::connect;
pub(crate) use self::test_response::{refusal, tally};

/// Makes the first request of a load, and returns its result. The error message is a sentence with advice.
fn test_request(addr: &Address, plan: &LoadPlan) -> Result<TestResponse, String> {
    request(addr, plan, " (--timeout sets how long to wait)")
}

/// Makes one exchange (see [`exchanged`]), and returns its result without secrets.
fn request(addr: &Address, plan: &LoadPlan, wait_advice: &str) -> Result<TestResponse, String> {
    let (mut exchange, unexpected) = exchanged(addr, plan, wait_advice, calls::max_kept_bytes(plan))?;
    calls::check_answer(plan, &exchange, unexpected)?;
    Ok(response(plan, &mut exchange, unexpected))
}

/// Sends the requests with the indexes `items` of the plan's set, and returns the responses in the order of `items`.
/// The error message is a sentence with advice.
pub(crate) fn responses(addr: &Address, plan: &LoadPlan, items: &[u16]) -> Result<Vec<TestResponse>, String> {
    let mut found = Vec::with_capacity(items.len());
    exchange_each(addr, plan, items, &mut |exchange, unexpected| found.push(response(plan, exchange, unexpected)))?;
    Ok(found)
}

/// Returns the result of an exchange, with all secrets removed.
fn response(plan: &LoadPlan, exchange: &mut Exchange, unexpected: bool) -> TestResponse {
    let answered = proto::spec(&plan.protocol).answers;
    // A server's answer may contain secrets that are not in the plan.
    let scrub = |text: String| run::hide_tokens(&plan.secrets.scrub(&text));
    let http = plan.protocol.http().is_some() && exchange.answer.0.starts_with(b"HTTP/");
    let status_line = http.then(|| scrub(exchange.answer.first_line()));
    let redirect = status_line.as_ref().and_then(|_| exchange.answer.redirect());
    let redirect = redirect.map(|to| plan.secrets.clone().redact_url(&scrub(to)));
    let body = scrub(exchange.answer.body());
    let may_be_compressed = http && exchange.answer.may_be_compressed_for_others();
    TestResponse {
        took_us: exchange.took.as_secs_f64() * 1e6,
        bytes: exchange.bytes,
        bytes_sent: exchange.bytes_sent,
        answer_bytes: exchange.answer_bytes,
        status_line,
        status: exchange.status,
        unexpected,
        said: exchange.said.take().map(scrub),
        redirect,
        may_be_compressed,
        body,
        body_bytes: exchange.body_bytes,
        answered,
        handshakes: exchange.handshakes,
    }
}

/// Answers a question of the conductor about a server.
pub(crate) fn answer(question: ServerQuestion, addr: &Address, plan: &LoadPlan) -> ServerAnswer {
    if question == ServerQuestion::Accepts {
        // Connecting a UDP socket succeeds even without a server, so this check sends a request and needs an answer.
        let error = match over_udp(plan) {
            true => request(addr, plan, "").err(),
            false => connect(addr, false, connect_timeout(plan)).err().map(|e| e.to_string()),
        };
        return ServerAnswer { error, ..ServerAnswer::default() };
    }
    if question == ServerQuestion::ClusterSlots {
        return ServerAnswer { cluster: cluster_slots(addr, plan), ..ServerAnswer::default() };
    }
    if question == ServerQuestion::EncodedCall {
        return match calls::encoded(addr, plan) {
            Ok(call) => ServerAnswer { call: Some(call), ..ServerAnswer::default() },
            Err(why) => ServerAnswer { error: Some(plan.secrets.scrub(&why)), ..ServerAnswer::default() },
        };
    }
    let response = match question {
        ServerQuestion::StillAnswers => request(addr, plan, ""),
        _ => test_request(addr, plan),
    };
    match response {
        Ok(response) => ServerAnswer { response: Some(response), ..ServerAnswer::default() },
        Err(error) => {
            // Only a load of S-Clients may start although the server's accept queue is full.
            let accepts_nothing = matches!(plan.intensity, Intensity::SClients { .. }) && accepts_nothing(addr, plan);
            ServerAnswer { error: Some(error), accepts_nothing, ..ServerAnswer::default() }
        }
    }
}

/// Returns the slots of the Redis cluster to which a server belongs; empty if the server belongs to no cluster or does
/// not answer.
fn cluster_slots(addr: &Address, plan: &LoadPlan) -> Vec<ClusterSlots> {
    let (Some(question), Some(server)) = (cluster::question(plan), addr.inet()) else { return Vec::new() };
    let answer = exchanged(addr, &question, "", None);
    answer.map_or_else(|_| Vec::new(), |(exchange, _)| cluster::slots(&exchange.answer.0, server.ip()))
}

/// Returns true if connects are neither accepted nor refused within the plan's timeout, as with a full accept queue.
fn accepts_nothing(addr: &Address, plan: &LoadPlan) -> bool {
    let tried = connect(addr, false, connect_timeout(plan));
    tried.is_err_and(|e| matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock))
}

#[cfg(test)]
mod tests;
