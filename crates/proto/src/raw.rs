//! Raw bytes: the client sends what a file holds and expects a number of bytes, or everything until the close.
//!
//! There is no server half: any server on `tcp://` is one.

use std::sync::Arc;

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
        ClientSession { plan: self.clone(), to_send: 0, sent: 0, outstanding: 0, received: 0 }
    }
}

/// Client half.
pub struct ClientSession {
    plan: ClientPlan,
    to_send: u32,
    sent: usize,
    outstanding: u32,
    received: u64,
}

impl Session for ClientSession {
    fn begin(&mut self) {
        self.outstanding += 1;
        self.to_send += u32::from(!self.plan.request.is_empty());
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let mut done = 0;
        while self.to_send > 0 && done < out.len() {
            let rest = &self.plan.request[self.sent..];
            let n = rest.len().min(out.len() - done);
            out[done..done + n].copy_from_slice(&rest[..n]);
            done += n;
            self.sent += n;
            if self.sent == self.plan.request.len() {
                self.sent = 0;
                self.to_send -= 1;
            }
        }
        done
    }

    fn wants_transmit(&self) -> bool {
        self.to_send > 0
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
        if self.plan.expect != Some(0) || self.to_send > 0 {
            return Progress::default();
        }
        Progress { completed: std::mem::take(&mut self.outstanding), ..Progress::default() }
    }

    fn reset(&mut self) {
        (self.to_send, self.sent, self.outstanding, self.received) = (0, 0, 0, 0);
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
