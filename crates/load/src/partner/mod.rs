//! Two-process S-Clients as in source 1: one process establishes connections and sends their requests, another one, joined
//! to it by a socketpair, takes the established descriptors and handles the answers. Each generator thread has its own
//! partner. Counts are the same as in one process; only where the work is done differs.
//!
//! What the partner has to say comes back over a stream: frames of a kind, a length, and that many bytes.

mod start;

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use run::LoadPart;
use sys::pass;

pub(crate) use self::start::start;
use crate::LoadError;
use crate::shard::Show;

const SHOWN: u8 = 0;

const PART: u8 = 1;

/// Longest part that is believed.
const LONGEST: u64 = 64 << 20;

/// A handling process, seen from the establishing one.
#[derive(Debug)]
pub(crate) struct Partner {
    /// Goes to the establishing driver.
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
    /// Splits off what the establishing driver needs, and what is heard from the partner.
    pub(crate) fn split(self) -> (OwnedFd, Listener) {
        (self.end, Listener { stream: self.stream, child: self.child })
    }
}

/// What is heard from a handling process.
#[derive(Debug)]
pub(crate) struct Listener {
    stream: UnixStream,
    child: pass::Child,
}

impl Listener {
    /// Shows what the partner shows, until it gives its part.
    pub(crate) fn listen(mut self, show: &Show) -> Result<LoadPart, LoadError> {
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).map_err(|_| LoadError::PartnerLost)?;
            let len = u64::from_ne_bytes(std::array::from_fn(|i| head[1 + i])).min(LONGEST);
            let mut bytes = vec![0; len as usize];
            self.stream.read_exact(&mut bytes).map_err(|_| LoadError::PartnerLost)?;
            if head[0] == PART {
                drop(self.child);
                return serde_json::from_slice(&bytes).map_err(|_| LoadError::PartnerLost);
            }
            show.take_bytes(&bytes);
        }
    }
}
