//! Result of the test request, and the conclusions from it.

use run::Tally;

/// Result of the test request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TestResponse {
    /// Time from connect() to the last byte, microseconds.
    pub took_us: f64,
    /// Bytes of the response.
    pub bytes: u64,
    /// Bytes of the answer as its protocol counts them.
    pub(super) answer_bytes: u64,
    /// Status line, if the protocol has one.
    pub status_line: Option<String>,
    /// Status as reported by the session; 0 if the protocol has none.
    pub status: u16,
    /// Whether the status counts as a failure.
    pub unexpected: bool,
    /// The session's comment on the failure.
    pub said: Option<String>,
    /// Target of a redirect.
    pub redirect: Option<String>,
    /// First bytes of the body, with unprintable ones escaped.
    pub body: String,
    /// Whether a response came; some protocols have none by design.
    pub answered: bool,
    /// Number of handshakes before the response.
    pub handshakes: u64,
}

impl TestResponse {
    /// Describes an answer that counts as a failure, with advice.
    pub(crate) fn refusal(&self) -> Option<String> {
        if let Some(said) = self.said.as_ref().filter(|_| self.unexpected) {
            return Some(said.clone());
        }
        let status = self.status_line.as_ref().filter(|_| self.unexpected)?;
        let code = status.split_whitespace().nth(1).unwrap_or("CODE");
        let body = if self.body.is_empty() { "no body".into() } else { format!("the body {:?}", self.body) };
        Some(format!(
            "it was answered {status:?} with {body}; correct the request (path, --method, --header, --body), or give \
             --expect-status {code} if this is the right answer"
        ))
    }

    /// Returns the counts of the exchange, so that a run's counts match the server's own log exactly.
    pub(crate) fn tally(&self) -> Tally {
        let answered = u64::from(self.answered);
        let class = Some(run::STATUS_CLASSES[run::status_class(self.status)]).filter(|_| self.status > 0);
        Tally {
            attempted: 1,
            connected: 1,
            due: 1,
            sent: 1,
            completed: answered,
            unexpected_status: u64::from(self.unexpected),
            status: class.map(|class| (class.to_owned(), answered)).into_iter().collect(),
            bytes_received: self.bytes,
            answer_bytes: self.answer_bytes,
            handshakes: self.handshakes,
            ..Tally::default()
        }
    }
}
