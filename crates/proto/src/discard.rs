//! Discard (RFC 863): the client sends bytes, and the server reads and drops them. A load with the protocol `discard`
//! measures only the direction from client to server.

use crate::outbox::Outbox;
use crate::pattern::Pattern;
use run::Protocol;

use crate::client::{message_bytes, positive};
use crate::row::{ProtocolSpec, Scheme};
use crate::{Client, Done, Fault, Progress, ProtoError, Request, Requester, Session};

/// Entry of the protocol `discard` in the table of protocols.
pub(crate) const SPEC: ProtocolSpec = ProtocolSpec {
    name: "discard",
    help: "sends blocks of bytes and expects nothing back",
    schemes: &[Scheme { name: "discard", port: Some(9), path: false, tls: false }],
    defaults: || Protocol::Discard { message_bytes: 4096 },
    flags: &[message_bytes(|plan, n| {
        if let Protocol::Discard { message_bytes } = plan {
            *message_bytes = n;
        }
    })],
    answers: false,
    ..ProtocolSpec::DEFAULT
};

/// Checks the user's settings of the protocol `discard`, and prepares the settings that its clients share.
pub(crate) fn client(plan: &Protocol) -> Result<ClientPlan, ProtoError> {
    let Protocol::Discard { message_bytes } = plan else { return Err(ProtoError::Unknown(plan.name())) };
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
        ClientSession { message: self.message.clone(), outbox: Outbox::default(), unreported: 0 }
    }
}

/// Client side of one connection. A message counts as complete once the kernel has accepted all of its bytes: see
/// [`Requester::flushed`].
pub struct ClientSession {
    message: Pattern,
    outbox: Outbox,
    unreported: u32,
}

impl Requester for ClientSession {
    fn begin(&mut self, _: Request) {
        self.outbox.add();
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let message = &self.message;
        let (done, finished) = self.outbox.fill(out, message.len(), |from, out| message.copy(from, out));
        self.unreported += finished;
        done
    }

    fn wants_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn receive(&mut self, input: &[u8], _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if input.is_empty() { Ok(Progress::default()) } else { Err(Fault::WrongBody("a discard server answered")) }
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        if !self.outbox.is_empty() { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn flushed(&mut self, done: &mut dyn FnMut(Done)) -> Progress {
        let completed = std::mem::take(&mut self.unreported);
        (0..completed).for_each(|_| done(Done::OLDEST));
        Progress { completed, ..Progress::default() }
    }

    fn reset(&mut self) {
        (self.outbox, self.unreported) = (Outbox::default(), 0);
    }
}

/// Server side of one connection. Each received piece of data counts as one exchange.
#[derive(Default)]
pub struct ServerSession;

impl Session for ServerSession {
    fn transmit(&mut self, _out: &mut [u8]) -> usize {
        0
    }

    fn wants_transmit(&self) -> bool {
        false
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        Ok(Progress { completed: u32::from(!input.is_empty()), ..Progress::default() })
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        Ok(Progress::CLOSE)
    }

    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_counts_once_it_has_left() {
        let mut c = ClientPlan::new(10).session();
        c.begin(Request::default());
        c.begin(Request::default());
        let mut out = [0; 15];
        assert_eq!(c.transmit(&mut out), 15);
        assert_eq!(c.flushed(&mut drop).completed, 1);
        assert_eq!(c.transmit(&mut out), 5);
        assert_eq!((c.flushed(&mut drop).completed, c.flushed(&mut drop).completed), (1, 0));
        assert!(c.receive(b"x", &mut drop).is_err());
    }
}
