//! Raw bytes: the client sends what a file holds and expects a number of bytes, or everything until the close.
//!
//! There is no server half: any server on `tcp://` is one.

use std::sync::Arc;

use crate::outbox::Outbox;
use crate::{Client, Fault, Progress, Session};

/// Prepared client half.
#[derive(Clone)]
pub struct ClientPlan {
    request: Arc<[u8]>,
    expect: Option<u64>,
}

impl ClientPlan {
    /// Sends `request`; a response is complete after `expect` bytes or, absent, at the close.
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

/// Client half.
pub struct ClientSession {
    plan: ClientPlan,
    outbox: Outbox,
    outstanding: u32,
    received: u64,
}

impl Session for ClientSession {
    fn begin(&mut self) {
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

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        self.received += input.len() as u64;
        let Some(expect) = self.plan.expect else { return Ok(progress) };
        while self.outstanding > 0 && self.received >= expect {
            self.received -= expect;
            self.outstanding -= 1;
            progress.completed += 1;
        }
        if self.outstanding == 0 && self.received > 0 {
            return Err(Fault::WrongBody("more bytes came than expected"));
        }
        Ok(progress)
    }

    /// Until the close, one request has one response; later ones on the same connection are short.
    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        match (self.plan.expect, self.outstanding) {
            (_, 0) => Ok(Progress::CLOSE),
            (None, 1) => {
                self.outstanding = 0;
                Ok(Progress { completed: 1, ..Progress::CLOSE })
            }
            _ => Err(Fault::Short),
        }
    }

    /// A request of no bytes that expects none is complete when it is begun.
    fn flushed(&mut self) -> Progress {
        if self.plan.expect != Some(0) || !self.outbox.is_empty() {
            return Progress::default();
        }
        Progress { completed: std::mem::take(&mut self.outstanding), ..Progress::default() }
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
        s.begin();
        let mut out = [0; 2];
        assert_eq!((s.transmit(&mut out), s.transmit(&mut out), s.transmit(&mut out)), (2, 1, 0));
        s
    }

    #[test]
    fn counts_bytes() {
        let mut s = session(Some(4));
        assert_eq!(s.receive(b"ab").unwrap().completed, 0);
        assert_eq!(s.receive(b"cd").unwrap().completed, 1);
        assert!(s.receive(b"e").is_err());
    }

    #[test]
    fn the_close_ends_a_response_without_a_number() {
        let mut s = session(None);
        s.receive(b"whatever").unwrap();
        assert_eq!(s.peer_closed().unwrap().completed, 1);
        assert_eq!(session(Some(4)).peer_closed(), Err(Fault::Short));
    }
}
