//! What the first request showed, and what follows from that.

use run::Tally;

/// What the first request showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct First {
    /// From connect() to the last byte, microseconds.
    pub took_us: f64,
    /// Bytes of the response.
    pub bytes: u64,
    /// Of them, those of the answer as its protocol counts them.
    pub(super) answer_bytes: u64,
    /// The status line, where the protocol has one.
    pub status_line: Option<String>,
    /// Its status, as sessions tell it; 0 where the protocol has none.
    pub status: u16,
    /// Whether the status is one that counts as a failure.
    pub unexpected: bool,
    /// What the session says of that.
    pub said: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// The first bytes of the body, with what cannot be printed escaped.
    pub body: String,
    /// Whether a response came; by design a protocol may have none.
    pub answered: bool,
    /// Handshakes before it.
    pub handshakes: u64,
}

impl First {
    /// What an answer that counts as a failure said, and what to do about it.
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

    /// The exchange in counts, so that a run's counts equal the server's own log to the last request.
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
