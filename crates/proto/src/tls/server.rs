//! TLS server: a session of another protocol inside TLS.

use rustls::server::UnbufferedServerConnection;

use super::ServerConfig;
use super::pipe::{Pipe, Plain};
use crate::{Fault, Progress, Session};

/// A server session within TLS.
pub struct ServerSession<S> {
    within: S,
    config: ServerConfig,
    pipe: Pipe<UnbufferedServerConnection>,
    /// True once TLS has failed and an alert waits for the peer. All input after a failure of TLS is ignored.
    failed: bool,
    /// True if the inner session has ended and close_notify is not queued yet. The record close_notify must follow the
    /// session's last bytes.
    ends: bool,
}

impl<S: Session> ServerSession<S> {
    /// Creates a session, which serves one connection at a time.
    pub fn new(within: S, config: ServerConfig) -> Self {
        Self { within, config, pipe: Pipe::default(), failed: false, ends: false }
    }
}

impl<S: Session> Session for ServerSession<S> {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        if self.failed {
            return self.pipe.give(out, |_| 0);
        }
        let n = self.pipe.give(out, |plain| self.within.transmit(plain));
        if n > 0 || !std::mem::take(&mut self.ends) {
            return n;
        }
        self.pipe.say_goodbye();
        self.pipe.give(out, |_| 0)
    }

    fn wants_transmit(&self) -> bool {
        self.pipe.wants_out() || !self.failed && self.pipe.established && (self.ends || self.within.wants_transmit())
    }

    fn due_ns(&self) -> Option<u64> {
        self.within.due_ns().filter(|_| self.pipe.established && !self.failed)
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        if self.failed {
            return Ok(Progress::default());
        }
        let Self { within, config, pipe, ends, .. } = self;
        if pipe.engine.is_none() {
            pipe.open(UnbufferedServerConnection::new(config.clone()));
        }
        let mut progress = Progress::default();
        let taken = pipe.take(input, &mut |plain| {
            progress.merge(match plain {
                Plain::Bytes(bytes) => {
                    let told = within.receive(bytes)?;
                    *ends |= told.close;
                    told
                }
                Plain::End => within.peer_closed()?,
            });
            Ok(())
        });
        match taken {
            Ok(()) => Ok(progress),
            // After an error, the connection ends only when the TLS alert was sent.
            Err(_) if pipe.error.is_some() && pipe.wants_out() => {
                self.failed = true;
                Ok(Progress { close: true, linger: true, ..progress })
            }
            Err(fault) => Err(fault),
        }
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        if self.pipe.established && !self.failed { self.within.peer_closed() } else { Ok(Progress::CLOSE) }
    }

    fn flushed(&mut self) -> Progress {
        if self.pipe.established && !self.failed { self.within.flushed() } else { Progress::default() }
    }

    /// An unfinished handshake counts as an incomplete request head.
    fn awaits_head(&self) -> bool {
        !self.failed && (self.pipe.engine.is_some() && !self.pipe.established || self.within.awaits_head())
    }

    fn head_is_late(&mut self) {
        if self.pipe.established {
            self.within.head_is_late();
        }
    }

    fn reset(&mut self) {
        self.within.reset();
        self.pipe.reset();
        (self.failed, self.ends) = (false, false);
    }
}
