//! Result of the single test request that loadline sends before a load, and conclusions from this result.

use run::{Tally, TestResponse};

/// Words with which servers (nginx, Go, Apache) answer plain HTTP on a port for TLS.
const WANTS_TLS: [&str; 3] = ["HTTPS port", "HTTPS server", "SSL-enabled server port"];

/// Describes an answer that counts as a failure, with advice. Returns `None` for an answer that does not count as a
/// failure.
pub(crate) fn refusal(response: &TestResponse) -> Option<String> {
    if let Some(said) = response.said.as_ref().filter(|_| response.unexpected) {
        return Some(said.clone());
    }
    let status = response.status_line.as_ref().filter(|_| response.unexpected)?;
    let code = status.split_whitespace().nth(1).unwrap_or("CODE");
    let body = if response.body.is_empty() { "no body".into() } else { format!("the body {:?}", response.body) };
    if code == "400" && WANTS_TLS.iter().any(|words| response.body.contains(words)) {
        return Some(format!("it was answered {status:?} with {body}; write the target with https://"));
    }
    let advice = match code {
        // The request is valid, but the server cannot serve it now (RFC 9110, section 15.6; RFC 6585).
        "429" | "500" | "502" | "503" | "504" => "look at the server's log and try again",
        // The advice does not name flags, because some commands, such as `size`, have no flags for method and body.
        _ => "correct the request (path, method, headers, body)",
    };
    // `--expect-status` accepts only statuses from 200 to 599.
    let is_valid = code.parse().is_ok_and(|code: u16| (200..600).contains(&code));
    let expect =
        if is_valid { format!(", or give --expect-status {code} if this is the right answer") } else { "".into() };
    Some(format!("it was answered {status:?} with {body}; {advice}{expect}"))
}

/// Returns the counts of the test request. A run includes the counts of the test request, so that the run's total
/// matches the server's own log exactly.
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
        bytes_sent: response.bytes_sent,
        bytes_received: response.bytes,
        answer_bytes: response.answer_bytes,
        handshakes: response.handshakes,
        ..Tally::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_trouble_is_no_wrong_request() {
        let refused = |line: &str| {
            let status_line = Some(line.to_owned());
            refusal(&TestResponse { unexpected: true, status_line, ..TestResponse::default() }).unwrap()
        };
        let busy = refused("HTTP/1.1 503 Service Unavailable");
        assert!(busy.contains("server's log") && busy.contains("--expect-status 503") && !busy.contains("method"));
        assert!(refused("HTTP/1.1 405 Method Not Allowed").contains("method, headers"));
        let body = "Client sent an HTTP request to an HTTPS server.".to_owned();
        let status_line = Some("HTTP/1.0 400 Bad Request".to_owned());
        let plain = refusal(&TestResponse { unexpected: true, status_line, body, ..TestResponse::default() }).unwrap();
        assert!(plain.ends_with("; write the target with https://"), "{plain}");
        assert!(!refused("HTTP/1.1 999 Odd").contains("--expect-status"), "it cannot be expected");
    }
}
