//! Result of the test request, and conclusions from it.

use run::{Tally, TestResponse};

/// Describes an answer that counts as a failure, with advice.
pub(crate) fn refusal(response: &TestResponse) -> Option<String> {
    if let Some(said) = response.said.as_ref().filter(|_| response.unexpected) {
        return Some(said.clone());
    }
    let status = response.status_line.as_ref().filter(|_| response.unexpected)?;
    let code = status.split_whitespace().nth(1).unwrap_or("CODE");
    let body = if response.body.is_empty() { "no body".into() } else { format!("the body {:?}", response.body) };
    Some(format!(
        "it was answered {status:?} with {body}; correct the request (path, --method, --header, --body), or give \
         --expect-status {code} if this is the right answer"
    ))
}

/// Returns the counts of the exchange, so that a run's counts match the server's own log exactly.
pub(crate) fn tally(response: &TestResponse) -> Tally {
    let answered = u64::from(response.answered);
    let class = Some(run::STATUS_CLASSES[run::status_class(response.status)]).filter(|_| response.status > 0);
    Tally {
        attempted: 1,
        connected: 1,
        due: 1,
        sent: 1,
        completed: answered,
        unexpected_status: u64::from(response.unexpected),
        status: class.map(|class| (class.to_owned(), answered)).into_iter().collect(),
        bytes_received: response.bytes,
        answer_bytes: response.answer_bytes,
        handshakes: response.handshakes,
        ..Tally::default()
    }
}
