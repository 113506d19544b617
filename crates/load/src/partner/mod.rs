//! S-Clients in two processes, as in the paper of Banga and Druschel (USITS 1997). The first process establishes the
//! connections, and sends a request on each connection. A second process gets the descriptors of the connections over a
//! socketpair, and handles the answers. Each generator thread has its own second process, called its partner. The
//! division into two processes does not change what is counted.
//!
//! The second process sends its reports as frames. A frame consists of a kind, the length of the content, and the
//! content.

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

/// Maximum accepted size of a partner's result, bytes.
const MAX_RESULT_BYTES: u64 = 64 << 20;

/// The process that handles the connections of a generator thread, from the view of the process that establishes them.
#[derive(Debug)]
pub(crate) struct Partner {
    /// This process's end of the socketpair to the process that handles connections.
    pub(crate) end: OwnedFd,
    stream: UnixStream,
    child: pass::Child,
}

/// Sends one frame to the other process.
fn frame(mut to: &UnixStream, kind: u8, bytes: &[u8]) -> std::io::Result<()> {
    let mut head = [0; 9];
    head[0] = kind;
    head[1..].copy_from_slice(&(bytes.len() as u64).to_ne_bytes());
    to.write_all(&head)?;
    to.write_all(bytes)
}

impl Partner {
    /// Splits this value into two parts. The first part is a socket. Through this socket, the driver of this process
    /// passes the connections that it establishes to the second process. The second part receives the reports of the
    /// second process.
    pub(crate) fn split(self) -> (OwnedFd, Listener) {
        (self.end, Listener { stream: self.stream, child: self.child })
    }
}

/// Receiver of the reports of a process that handles connections.
#[derive(Debug)]
pub(crate) struct Listener {
    stream: UnixStream,
    child: pass::Child,
}

impl Listener {
    /// Publishes the counts that the second process reports, until its result arrives. Returns the second process's
    /// result.
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
