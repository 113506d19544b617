//! Raw bytes: the client sends the content of a file. The client expects either a fixed number of bytes, or all bytes
//! until the connection is closed.
//!
//! The protocol has no server side, because any TCP server can be the target.

use std::sync::Arc;

use run::Protocol;

use crate::client::{canned_bytes, read};
use crate::greeting::{Greeting, GreetingState};
use crate::outbox::Outbox;
use crate::row::{Flag, FlagValue, ProtocolSpec, Scheme};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Which};

/// Entry of the protocol `raw` in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "raw",
    help: "sends the bytes of a file and expects a number of bytes, or the end of the connection",
    schemes: &[Scheme { name: "tcp", port: None, path: false, tls: false }],
    defaults: || Protocol::Raw { send_file: None, expect_bytes: None, read_first: None },
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
        Flag {
            name: "read-first",
            short: None,
            requires: None,
            value: "UNTIL",
            help: "tcp: the server speaks first; its greeting ends with a line (line), after N bytes, or with this text",
            set: FlagValue::Text(|plan, text| {
                if let Protocol::Raw { read_first, .. } = plan {
                    *read_first = Some(text.into());
                }
            }),
        },
    ],
    without_network: |plan| match plan {
        Protocol::Raw { send_file, expect_bytes, .. } => Protocol::Raw { send_file, expect_bytes, read_first: None },
        other => other,
    },
    canned: |plan, _| match plan {
        Protocol::Raw { expect_bytes, .. } => canned_bytes(expect_bytes.unwrap_or(1)),
        _ => Vec::new(),
    },
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of the protocol `raw`, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Raw { send_file, expect_bytes, read_first } = plan else {
        return Err(ProtoError::Unknown(plan.name()));
    };
    let bytes = send_file.as_deref().map_or_else(|| Ok(Arc::from([])), |file| read("the file to send", file))?;
    let greeting = read_first.as_deref().map(Greeting::new).transpose()?;
    Ok(ClientPlan { greeting, ..ClientPlan::new(bytes, *expect_bytes) })
}

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    request: Arc<[u8]>,
    expect: Option<u64>,
    greeting: Option<Greeting>,
}

impl ClientPlan {
    /// Creates settings for clients that send `request`. A response is complete after `expect` bytes. If `expect` is
    /// absent, a response is complete when the connection is closed.
    pub fn new(request: Arc<[u8]>, expect: Option<u64>) -> Self {
        Self { request, expect, greeting: None }
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        let greeting = self.greeting.as_ref().map(Greeting::begin);
        ClientSession { plan: self.clone(), greeting, outbox: Outbox::default(), outstanding: 0, received: 0 }
    }
}

/// Client side of one raw connection.
pub struct ClientSession {
    plan: ClientPlan,
    /// Greeting that is not yet complete. `None` when the greeting is complete, or if the server sends no greeting.
    greeting: Option<GreetingState>,
    outbox: Outbox,
    outstanding: u32,
    received: u64,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        self.plan.expect.is_some()
    }

    fn ready(&self) -> bool {
        self.greeting.is_none()
    }

    fn explain(&self) -> Option<String> {
        let is_surplus = self.plan.expect.is_some() && self.outstanding == 0 && self.received > 0;
        let words = "the server sent more bytes than --expect-bytes; if it speaks before the first request, give --read-first \
                     line";
        (is_surplus && self.plan.greeting.is_none()).then(|| words.into())
    }

    fn is_answering(&self) -> Option<bool> {
        (self.received > 0).then_some(true)
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
        let input = match &mut self.greeting {
            None => input,
            Some(greeting) => {
                let Some(end) = greeting.end_in(input)? else { return Ok(progress) };
                self.greeting = None;
                &input[end..]
            }
        };
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

    /// Completes a response that ends when the connection is closed. Returns an error if several requests were
    /// unanswered, or if the response should have had a fixed length.
    fn peer_closed(&mut self, done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        match (self.plan.expect, self.outstanding) {
            _ if self.greeting.is_some() => Err(Fault::Short),
            (_, 0) => Ok(Progress::CLOSE),
            (None, 1) => {
                self.outstanding = 0;
                done(Done::OLDEST);
                Ok(Progress { completed: 1, ..Progress::CLOSE })
            }
            _ => Err(Fault::Short),
        }
    }

    /// Completes the requests that expect no response bytes, once all their own bytes were sent.
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
        self.greeting = self.plan.greeting.as_ref().map(Greeting::begin);
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
    fn a_greeting_comes_before_the_first_request() {
        let plan = ClientPlan { greeting: Greeting::new("line").ok(), ..ClientPlan::new(Arc::from(*b"ask"), Some(2)) };
        let mut s = plan.session();
        s.receive(b"220 hel", &mut drop).unwrap();
        assert!(!s.ready() && s.peer_closed(&mut drop) == Err(Fault::Short));
        s.receive(b"lo\r\n", &mut drop).unwrap();
        s.begin(Request::default());
        assert_eq!((s.ready(), s.receive(b"ok", &mut drop).unwrap().completed), (true, 1));
        s.reset();
        assert!(!s.ready() && matches!(s.receive(b"220 hi\nmore", &mut drop), Err(Fault::Unasked(_))));
    }

    #[test]
    fn the_close_ends_a_response_without_a_number() {
        let mut s = session(None);
        s.receive(b"whatever", &mut drop).unwrap();
        assert_eq!(s.peer_closed(&mut drop).unwrap().completed, 1);
        assert_eq!(session(Some(4)).peer_closed(&mut drop), Err(Fault::Short));
    }
}
