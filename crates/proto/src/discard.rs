//! Discard (RFC 863): the client sends, the server reads and drops. Measures one direction alone.

use crate::outbox::Outbox;
use crate::pattern::Pattern;
use crate::{Client, Fault, Progress, Session};

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    message: Pattern,
}

impl ClientPlan {
    /// Messages of this many bytes, at least 1.
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

/// Client half. A message is complete when the system has taken all of it: see [`Session::flushed`].
pub struct ClientSession {
    message: Pattern,
    outbox: Outbox,
    unreported: u32,
}

impl Session for ClientSession {
    fn begin(&mut self) {
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

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        if input.is_empty() { Ok(Progress::default()) } else { Err(Fault::WrongBody("a discard server answered")) }
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        if !self.outbox.is_empty() { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn flushed(&mut self) -> Progress {
        Progress { completed: std::mem::take(&mut self.unreported), ..Progress::default() }
    }

    fn reset(&mut self) {
        (self.outbox, self.unreported) = (Outbox::default(), 0);
    }
}

/// Server half. Every piece that arrives counts as one.
#[derive(Default)]
pub struct ServerSession;

impl Session for ServerSession {
    fn begin(&mut self) {}

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
        c.begin();
        c.begin();
        let mut out = [0; 15];
        assert_eq!(c.transmit(&mut out), 15);
        assert_eq!(c.flushed().completed, 1);
        assert_eq!(c.transmit(&mut out), 5);
        assert_eq!((c.flushed().completed, c.flushed().completed), (1, 0));
        assert!(c.receive(b"x").is_err());
    }
}
