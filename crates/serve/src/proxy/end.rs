//! A socket of the proxy, and its output buffer.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use event::Mask;
use sys::{Errno, socket};

/// A socket with stored readiness, which saves system calls. A socket counts as readable until a read returns fewer
/// bytes than requested. A socket counts as writable until a write accepts fewer bytes than given.
#[derive(Debug)]
pub(super) struct End {
    fd: OwnedFd,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// True if the peer has closed its side. The end of file comes after the unread bytes, and no further event reports
    /// this end.
    pub(super) ended: bool,
    /// Kinds of events of this socket in which interest is declared to the event queue.
    pub(super) declared: Mask,
}

/// Outcome of reading from a client or from the upstream server.
pub(super) enum Read {
    Bytes(usize),
    /// No bytes are available now.
    Nothing,
    /// The peer has closed its side.
    End,
    /// The connection is broken.
    Broken,
}

impl End {
    pub(super) fn new(fd: OwnedFd, writable: bool) -> Self {
        Self { fd, readable: false, writable, ended: false, declared: Mask::NONE }
    }

    #[inline]
    pub(super) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub(super) fn owned(&self) -> &OwnedFd {
        &self.fd
    }

    /// Reads from the socket once. If the read returns fewer bytes than requested, the socket counts as empty, unless
    /// the peer has closed its side.
    #[inline]
    pub(super) fn read(&mut self, into: &mut [u8]) -> Read {
        match socket::recv(&self.fd, into) {
            Ok(0) => {
                self.readable = false;
                self.ended = true;
                Read::End
            }
            Ok(n) => {
                self.readable = n == into.len() || self.ended;
                Read::Bytes(n)
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.readable = false;
                Read::Nothing
            }
            Err(_) => {
                self.readable = false;
                Read::Broken
            }
        }
    }

    /// Writes to the socket once. Returns the number of bytes that the socket accepted, or an error if the socket is
    /// broken.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<usize, ()> {
        if !self.writable || bytes.is_empty() {
            return Ok(0);
        }
        match socket::send(&self.fd, bytes) {
            Ok(n) => {
                self.writable = n == bytes.len();
                Ok(n)
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.writable = false;
                Ok(0)
            }
            Err(_) => Err(()),
        }
    }
}

/// Output buffer: bytes that wait to be written. The buffer is usually empty, and then uses little memory.
#[derive(Debug, Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    at: usize,
}

/// Maximum size of an output buffer that an idle connection keeps, bytes.
const MAX_KEPT_BYTES: usize = 4096;

impl Out {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Writes `bytes` directly if no earlier bytes wait. Bytes that the socket did not accept are added to the buffer.
    /// Returns the number of bytes that the socket accepted.
    #[inline]
    pub(super) fn send(&mut self, end: &mut End, bytes: &[u8]) -> Result<usize, ()> {
        let taken = if self.is_empty() { end.write(bytes)? } else { 0 };
        if taken < bytes.len() {
            self.bytes.extend_from_slice(&bytes[taken..]);
        }
        Ok(taken)
    }

    /// Adds bytes for the next flush.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the buffer, so that the caller can append a head.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Writes the waiting bytes of the buffer to the socket. Returns the number of bytes that the socket accepted.
    #[inline]
    pub(super) fn flush(&mut self, end: &mut End) -> Result<usize, ()> {
        if self.is_empty() {
            return Ok(0);
        }
        let taken = end.write(&self.bytes[self.at..])?;
        self.at += taken;
        if self.is_empty() {
            self.clear();
        }
        Ok(taken)
    }

    /// Drops all bytes, and frees the buffer if it is large.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
        if self.bytes.capacity() > MAX_KEPT_BYTES {
            self.bytes.shrink_to(MAX_KEPT_BYTES);
        }
    }
}
