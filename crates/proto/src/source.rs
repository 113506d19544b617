//! Source: the server sends as fast as the client reads, and the client counts the bytes. A load with the protocol
//! `source` measures only the direction from server to client.
//!
//! The protocol is like chargen (RFC 864), but without lines. A server may close a connection after a given number of
//! bytes, so that a test can count the bytes exactly.

use crate::pattern::Pattern;
use run::Protocol;

use crate::client::{canned_bytes, message_bytes, positive};
use crate::row::{ProtocolSpec, Scheme};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Session};

/// Entry of the protocol `source` in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "source",
    help: "receives what the server sends and counts it in messages",
    schemes: &[Scheme { name: "source", port: Some(19), path: false, tls: false }],
    defaults: || Protocol::Source { message_bytes: 4096 },
    flags: &[message_bytes(|plan, n| {
        if let Protocol::Source { message_bytes } = plan {
            *message_bytes = n;
        }
    })],
    canned: |plan, _| match plan {
        Protocol::Source { message_bytes } => canned_bytes(*message_bytes),
        _ => Vec::new(),
    },
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of the protocol `source`, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Source { message_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
    Ok(ClientPlan::new(positive(*message_bytes)?))
}

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    message_bytes: u64,
}

impl ClientPlan {
    /// Creates settings in which `message_bytes` bytes, but at least 1, count as one message.
    pub fn new(message_bytes: u64) -> Self {
        Self { message_bytes: message_bytes.max(1) }
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession { message_bytes: self.message_bytes, outstanding: 0, received: 0 }
    }
}

/// Client side of one connection. The server sends without requests. Bytes that arrive before the client requests a
/// message count for later messages.
pub struct ClientSession {
    message_bytes: u64,
    outstanding: u32,
    received: u64,
}

impl Requester for ClientSession {
    fn begin(&mut self, _: Request) {
        self.outstanding += 1;
    }

    fn transmit(&mut self, _out: &mut [u8]) -> usize {
        0
    }

    fn wants_transmit(&self) -> bool {
        false
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        self.received += input.len() as u64;
        let n = (self.received / self.message_bytes).min(u64::from(self.outstanding)) as u32;
        self.received -= u64::from(n) * self.message_bytes;
        self.outstanding -= n;
        (0..n).for_each(|_| done(Done::OLDEST));
        Ok(Progress { completed: n, ..Progress::default() })
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if self.outstanding > 0 { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.outstanding, self.received) = (0, 0);
    }
}

/// The data that the server sends on each connection.
#[derive(Clone)]
pub struct ServerPlan {
    pattern: Pattern,
    /// Number of bytes per connection; absent for an endless source.
    limit: Option<u64>,
}

impl ServerPlan {
    /// Creates the settings of a server. The server ends each connection after `limit` bytes, or never if `limit` is
    /// absent.
    pub fn new(limit: Option<u64>) -> Self {
        Self { pattern: Pattern::new(u64::MAX), limit }
    }

    /// Creates the server side of one connection.
    pub fn session(&self) -> ServerSession {
        ServerSession { plan: self.clone(), sent: 0 }
    }
}

/// Server side of one connection. The session always has more to send, until the limit is reached.
pub struct ServerSession {
    plan: ServerPlan,
    sent: u64,
}

impl ServerSession {
    fn left(&self) -> u64 {
        self.plan.limit.map_or(u64::MAX, |limit| limit - self.sent)
    }
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = self.left().min(out.len() as u64) as usize;
        self.plan.pattern.copy(self.sent, &mut out[..n]);
        self.sent = self.sent.wrapping_add(n as u64);
        n
    }

    fn wants_transmit(&self) -> bool {
        self.left() > 0
    }

    /// Reads and drops all data from the peer.
    fn receive(&mut self, _input: &[u8]) -> Result<Progress, Fault> {
        Ok(Progress::default())
    }

    /// Continues to send although the peer sends nothing more.
    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::default())
    }

    fn flushed(&mut self) -> Progress {
        if self.left() == 0 { Progress::CLOSE } else { Progress::default() }
    }

    fn reset(&mut self) {
        self.sent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finite_source_ends_after_its_bytes() {
        let mut s = ServerPlan::new(Some(100)).session();
        let mut out = [0; 64];
        assert_eq!((s.transmit(&mut out), s.transmit(&mut out), s.transmit(&mut out)), (64, 36, 0));
        assert!(s.flushed().close);
    }

    #[test]
    fn bytes_that_come_early_count_for_later_messages() {
        let mut c = ClientPlan::new(10).session();
        assert_eq!(c.receive(&[0; 25], &mut drop).unwrap().completed, 0);
        c.begin(Request::default());
        c.begin(Request::default());
        c.begin(Request::default());
        assert_eq!(c.receive(&[], &mut drop).unwrap().completed, 2);
        assert_eq!(c.receive(&[0; 5], &mut drop).unwrap().completed, 1);
    }
}
