//! Discard (RFC 863): the client sends, the server reads and drops. Measures one direction alone.

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
        ClientSession { message: self.message.clone(), to_send: 0, sent: 0, unreported: 0 }
    }
}

/// Client half. A message is complete when the system has taken all of it: see [`Session::flushed`].
pub struct ClientSession {
    message: Pattern,
    to_send: u32,
    sent: u64,
    unreported: u32,
}

impl Session for ClientSession {
    fn begin(&mut self) {
        self.to_send += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.to_send > 0 && done < out.len() {
            let n = self.message.copy(self.sent, &mut out[done..]);
            done += n;
            self.sent += n as u64;
            if self.sent == self.message.len() {
                self.sent = 0;
                self.to_send -= 1;
                self.unreported += 1;
            }
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        self.to_send > 0
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        if input.is_empty() { Ok(Progress::default()) } else { Err(Fault::WrongBody("a discard server answered")) }
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        if self.to_send > 0 { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn flushed(&mut self) -> Progress {
        Progress { completed: std::mem::take(&mut self.unreported), ..Progress::default() }
    }

    fn reset(&mut self) {
        (self.to_send, self.sent, self.unreported) = (0, 0, 0);
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
