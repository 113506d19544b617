//! Echo: the server sends back all bytes that it receives, and the client checks each of them.

use crate::outbox::Outbox;
use crate::pattern::Pattern;
use run::Protocol;

use crate::client::{message_bytes, positive};
use crate::row::{ProtocolSpec, Scheme};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Session, Which};

/// Entry of the protocol `echo` in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "echo",
    help: "sends a block of bytes and checks that it comes back unchanged",
    schemes: &[Scheme { name: "echo", port: Some(7), path: false, tls: false }],
    defaults: || Protocol::Echo { message_bytes: 64 },
    flags: &[message_bytes(|plan, n| {
        if let Protocol::Echo { message_bytes } = plan {
            *message_bytes = n;
        }
    })],
    canned: |_, request| request.to_vec(),
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of the protocol `echo`, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Echo { message_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
    Ok(ClientPlan::new(positive(*message_bytes)?))
}

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    message: Pattern,
}

impl ClientPlan {
    /// Creates settings with messages of `message_bytes` bytes, or of 1 byte if `message_bytes` is 0.
    pub fn new(message_bytes: u64) -> Self {
        Self { message: Pattern::new(message_bytes.max(1)) }
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    fn session(&self) -> ClientSession {
        ClientSession { message: self.message.clone(), outbox: Outbox::default(), outstanding: 0, received: 0 }
    }
}

/// Client side of one echo connection.
pub struct ClientSession {
    message: Pattern,
    outbox: Outbox,
    outstanding: u32,
    /// Number of bytes of the current message that the server has sent back.
    received: u64,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        true
    }

    fn each_begun_answer(&mut self, begun: &mut dyn FnMut(Which, u32)) {
        if self.received > 0 {
            begun(Which::Oldest, 0);
        }
    }

    fn begin(&mut self, _: Request) {
        self.outbox.add();
        self.outstanding += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let message = &self.message;
        self.outbox.fill(out, message.len(), |from, out| message.copy(from, out)).0
    }

    fn wants_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut rest = input;
        while !rest.is_empty() {
            if self.outstanding == 0 {
                return Err(Fault::Unasked("more bytes than were sent"));
            }
            let n = (rest.len() as u64).min(self.message.len() - self.received) as usize;
            if !self.message.matches(self.received, &rest[..n]) {
                return Err(Fault::WrongBody("the bytes that came back differ from those sent"));
            }
            rest = &rest[n..];
            self.received += n as u64;
            if self.received == self.message.len() {
                self.received = 0;
                self.outstanding -= 1;
                progress.completed += 1;
                done(Done::OLDEST);
            }
        }
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if self.outstanding > 0 { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.outbox, self.outstanding, self.received) = (Outbox::default(), 0, 0);
    }
}

/// Server side of one connection. The session stores received bytes that could not be sent back directly from the
/// receive buffer.
#[derive(Default)]
pub struct ServerSession {
    pending: Vec<u8>,
    at: usize,
}

impl Session for ServerSession {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = out.len().min(self.pending.len() - self.at);
        out[..n].copy_from_slice(&self.pending[self.at..self.at + n]);
        self.at += n;
        if self.at == self.pending.len() {
            // The buffer's memory is freed as soon as all bytes are sent, because most connections of a large server
            // are idle.
            self.reset();
        }
        n
    }

    fn wants_transmit(&self) -> bool {
        self.at < self.pending.len()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        self.pending.extend_from_slice(input);
        Ok(Progress { completed: u32::from(!input.is_empty()), ..Progress::default() })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn mirrors(&self) -> bool {
        self.pending.is_empty()
    }

    fn reset(&mut self) {
        self.pending = Vec::new();
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_split_comes_back_complete(bytes in 1_u64..5000, messages in 1_u32..5, cut in 1_usize..700) {
            let mut client = ClientPlan::new(bytes).session();
            let mut server = ServerSession::default();
            (0..messages).for_each(|_| client.begin(Request::default()));
            prop_assert_eq!(crate::testing::exchange(&mut client, &mut server, cut).0, messages);
            prop_assert!(client.peer_closed(&mut drop).is_ok());
        }
    }

    #[test]
    fn a_changed_byte_and_a_lost_one_are_faults() {
        let mut client = ClientPlan::new(100).session();
        client.begin(Request::default());
        let mut buf = [0; 100];
        client.transmit(&mut buf);
        assert_eq!(client.receive(&buf[..99], &mut drop).unwrap().completed, 0);
        assert_eq!(client.peer_closed(&mut drop), Err(Fault::Short));
        assert!(matches!(client.receive(&[buf[99] ^ 1], &mut drop), Err(Fault::WrongBody(_))));
    }
}
