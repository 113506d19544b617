//! S-Clients of two processes, as in the paper of Banga and Druschel (USITS 1997). One process establishes connections
//! and sends their requests. A second process gets the established descriptors over a socketpair and handles the
//! answers. Each generator thread has its own second process, called its partner. The counts are the same as in a
//! single process; only the work is divided.
//!
//! The partner sends its reports as frames: kind, length, and that many bytes.

mod start;

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use run::LoadPart;
use sys::pass;

pub(crate) use self::start::start;
use crate::LoadError;
use crate::shard::LiveCounts;

const COUNTS_FRAME: u8 = 0;

const RESULT_FRAME: u8 = 1;

/// Maximum accepted size of a result in bytes.
const MAX_RESULT_BYTES: u64 = 64 << 20;

/// A handling process, as seen by the establishing process.
#[derive(Debug)]
pub(crate) struct Partner {
    /// Descriptor that the driver of the establishing process uses.
    pub(crate) end: OwnedFd,
    stream: UnixStream,
    child: pass::Child,
}

/// Sends one frame.
fn frame(mut to: &UnixStream, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    let mut head = [0; 9];
    head[0] = kind;
    head[1..].copy_from_slice(&(bytes.len() as u64).to_ne_bytes());
    to.write_all(&head)?;
    to.write_all(bytes)
}

impl Partner {
    /// Splits the value into the descriptor for the establishing driver and the receiver of the partner's reports.
    pub(crate) fn split(self) -> (OwnedFd, Listener) {
        (self.end, Listener { stream: self.stream, child: self.child })
    }
}

/// Receiver of a handling process's reports.
#[derive(Debug)]
pub(crate) struct Listener {
    stream: UnixStream,
    child: pass::Child,
}

impl Listener {
    /// Publishes the partner's counts until its result arrives, then returns the result.
    pub(crate) fn listen(mut self, show: &LiveCounts) -> Result<LoadPart, LoadError> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).map_err(|_| LoadError::PartnerLost)?;
            let len = u64::from_ne_bytes(std::array::from_fn(|i| head[1 + i])).min(MAX_RESULT_BYTES);
            let mut bytes = vec![0; len as usize];
            self.stream.read_exact(&mut bytes).map_err(|_| LoadError::PartnerLost)?;
            if head[0] == RESULT_FRAME {
                drop(self.child);
                return serde_json::from_slice(&bytes).map_err(|_| LoadError::PartnerLost);
            }
            show.take_bytes(&bytes);
        }
    }
}
