//! Negotiation of TLS in clear text. In some protocols, the client first asks the server for permission to begin TLS.

use crate::{BeforeTls, Fault};

/// State of the negotiation on one connection.
#[derive(Debug, Default)]
pub(super) struct Permission {
    sent: usize,
    is_given: bool,
    /// Sentence with advice, if the server refused TLS.
    refusal: Option<&'static str>,
}

impl Permission {
    /// Returns true if the server agreed to TLS.
    pub(super) fn is_given(&self) -> bool {
        self.is_given
    }

    /// Returns true if the client has not yet sent its whole request to begin TLS.
    pub(super) fn wants_to_ask(&self, question: &BeforeTls) -> bool {
        self.sent < question.request.len()
    }

    /// Copies the unsent part of the request to begin TLS to `out`, and returns the number of copied bytes.
    pub(super) fn ask(&mut self, question: &BeforeTls, out: &mut [u8]) -> usize {
        crate::commands::copy_rest(question.request, &mut self.sent, out)
    }

    /// Reads the server's answer to the request to begin TLS. Bytes after the server's answer are refused, because
    /// anybody on the network could have added them before TLS.
    pub(super) fn receive(&mut self, question: &BeforeTls, input: &[u8]) -> Result<(), Fault> {
        match input {
            [] => Ok(()),
            [answer] if *answer == question.accepted => {
                self.is_given = true;
                Ok(())
            }
            _ => {
                self.refusal = Some(question.advice);
                Err(Fault::Malformed("the server refuses TLS"))
            }
        }
    }

    /// Returns a sentence with advice if the server refused TLS.
    pub(super) fn explain(&self) -> Option<String> {
        self.refusal.map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_begins_only_after_the_one_byte_that_allows_it() {
        let question = BeforeTls { request: b"tls?", accepted: b'S', advice: "use no TLS" };
        let (mut given, mut out) = (Permission::default(), [0; 3]);
        assert_eq!((given.ask(&question, &mut out), &out), (3, b"tls"));
        assert!(given.wants_to_ask(&question) && !given.is_given());
        assert_eq!((given.ask(&question, &mut out), given.wants_to_ask(&question)), (1, false));
        assert!(given.receive(&question, b"S").is_ok() && given.is_given());
        for answer in [&b"N"[..], b"Sx", b"HTTP/1.1 400"] {
            let mut refused = Permission::default();
            assert!(refused.receive(&question, answer).is_err() && !refused.is_given());
            assert_eq!(refused.explain().as_deref(), Some("use no TLS"));
        }
    }
}
