//! One socket of the proxy, and the bytes that wait to be written to it.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use event::Mask;
use sys::{Errno, socket};

/// A socket with what is known of it. Readiness is remembered, so nothing is asked of the kernel twice: a socket is
/// readable until a read came back short, writable until a write did.
#[derive(Debug)]
pub(super) struct End {
    fd: OwnedFd,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The end follows what there is to read, and no event will tell of it.
    pub(super) ended: bool,
    /// What was declared to the queue.
    pub(super) declared: Mask,
}

/// What a read gave.
pub(super) enum Read {
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The peer has ended its side.
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

    /// Reads once. A short read leaves nothing behind, unless the end is known to follow.
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

    /// Writes once and returns how many bytes the socket took, or an error when it is broken.
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

/// Bytes that wait to be written. Empty in the usual case, and then it holds no memory worth speaking of.
#[derive(Debug, Default)]
pub(super) struct Out {
    bytes: Vec<u8>,
    at: usize,
}

/// Memory that an idle connection may keep.
const KEEP_BYTES: usize = 4096;

impl Out {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Writes `bytes` behind what waits: at once if nothing does, and what is not taken waits.
    #[inline]
    pub(super) fn send(&mut self, end: &mut End, bytes: &[u8]) -> Result<usize, ()> {
        let taken = if self.is_empty() { end.write(bytes)? } else { 0 };
        if taken < bytes.len() {
            self.bytes.extend_from_slice(&bytes[taken..]);
        }
        Ok(taken)
    }

    /// Adds bytes to be written with the next flush.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The buffer, to build a head in place behind what waits.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Writes what waits and returns how many bytes were taken.
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

    /// Forgets everything and gives large memory back.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.at = 0;
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes.shrink_to(KEEP_BYTES);
        }
    }
}
