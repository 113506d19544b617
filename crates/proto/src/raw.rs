//! Raw bytes: the client sends the content of a file, and expects a number of bytes, or all bytes until the connection
//! is closed.
//!
//! The protocol has no server side, because any TCP server can be the target.

use std::sync::Arc;

use run::Protocol;

use crate::client::{canned_bytes, read};
use crate::outbox::Outbox;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Which};

/// Row of this protocol in the table.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "raw",
    help: "sends the bytes of a file and expects a number of bytes, or the end of the connection",
    schemes: &[Scheme { name: "tcp", port: None, path: false, tls: false }],
    defaults: || Protocol::Raw { send_file: None, expect_bytes: None },
    flags: &[
        Flag {
            name: "send-file",
            short: None,
            requires: None,
            value: "FILE",
            help: "tcp: file with the bytes of one request",
            set: FlagValue::Text(|plan, file| {
                if let Protocol::Raw { send_file, .. } = plan {
                    *send_file = Some(file.into());
                }
            }),
        },
        Flag {
            name: "expect-bytes",
            short: None,
            requires: None,
            value: "N",
            help: "tcp: bytes of one response",
            set: FlagValue::Bytes(|plan, n| {
                if let Protocol::Raw { expect_bytes, .. } = plan {
                    *expect_bytes = Some(n);
                }
            }),
        },
    ],
    canned: |plan, _| match plan {
        Protocol::Raw { expect_bytes, .. } => canned_bytes(expect_bytes.unwrap_or(1)),
        _ => Vec::new(),
    },
    ..ProtocolSpec::DEFAULT
};

/// Prepares the client side of a plan.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Raw { send_file, expect_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
    let bytes = send_file.as_deref().map_or_else(|| Ok(Arc::from([])), |file| read("the file to send", file))?;
    Ok(ClientPlan::new(bytes, *expect_bytes))
}

/// Settings of the clients of a plan, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    request: Arc<[u8]>,
    expect: Option<u64>,
}

impl ClientPlan {
    /// Creates a plan that sends `request`. A response is complete after `expect` bytes; if this is absent, when the
    /// connection is closed.
    pub fn new(request: Arc<[u8]>, expect: Option<u64>) -> Self {
        Self { request, expect }
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession { plan: self.clone(), outbox: Outbox::default(), outstanding: 0, received: 0 }
    }
}

/// Client side of one raw connection.
pub struct ClientSession {
    plan: ClientPlan,
    outbox: Outbox,
    outstanding: u32,
    received: u64,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        self.plan.expect.is_some()
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.received > 0 {
            begun(Which::Oldest, 0);
        }
    }

    fn begin(&mut self, _: Request) {
        self.outstanding += 1;
        if !self.plan.request.is_empty() {
            self.outbox.add();
        }
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        self.outbox.fill_from(out, &self.plan.request)
    }

    fn wants_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        self.received += input.len() as u64;
        let Some(expect) = self.plan.expect else { return Ok(progress) };
        while self.outstanding > 0 && self.received >= expect {
            self.received -= expect;
            self.outstanding -= 1;
            progress.completed += 1;
            done(Done::OLDEST);
        }
        if self.outstanding == 0 && self.received > 0 {
            return Err(Fault::Unasked("more bytes than expected"));
        }
        Ok(progress)
    }

    /// Completes a response that ends when the connection is closed. All later requests on the connection count as
    /// interrupted.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        match (self.plan.expect, self.outstanding) {
            (_, 0) => Ok(Progress::CLOSE),
            (None, 1) => {
                self.outstanding = 0;
                done(Done::OLDEST);
                Ok(Progress { completed: 1, ..Progress::CLOSE })
            }
            _ => Err(Fault::Short),
        }
    }

    /// Completes a request without bytes that expects no bytes.
    fn flushed(&mut self, done: &mut dyn FnMut(Done)) -> Progress {
        if self.plan.expect != Some(0) || !self.outbox.is_empty() {
            return Progress::default();
        }
        let completed = std::mem::take(&mut self.outstanding);
        (0..completed).for_each(|_| done(Done::OLDEST));
        Progress { completed, ..Progress::default() }
    }

    fn reset(&mut self) {
        (self.outbox, self.outstanding, self.received) = (Outbox::default(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(expect: Option<u64>) -> ClientSession {
        let mut s = ClientPlan::new(Arc::from(*b"ask"), expect).session();
        s.begin(Request::default());
        let mut out = [0; 2];
        assert_eq!((s.transmit(&mut out), s.transmit(&mut out), s.transmit(&mut out)), (2, 1, 0));
        s
    }

    #[test]
    fn counts_bytes() {
        let mut s = session(Some(4));
        assert_eq!(s.receive(b"ab", &mut drop).unwrap().completed, 0);
        assert_eq!(s.receive(b"cd", &mut drop).unwrap().completed, 1);
        assert!(matches!(s.receive(b"e", &mut drop), Err(Fault::Unasked(_))) && s.matches_answers_by_order());
    }

    #[test]
    fn the_close_ends_a_response_without_a_number() {
        let mut s = session(None);
        s.receive(b"whatever", &mut drop).unwrap();
        assert_eq!(s.peer_closed(&mut drop).unwrap().completed, 1);
        assert_eq!(session(Some(4)).peer_closed(&mut drop), Err(Fault::Short));
    }
}
