//! Netlink messages: a socket, requests with a length and attributes, and walking over answers. Source: netlink(7).
//!
//! Byte order is the machine's; nothing is trusted: a length that does not fit ends the walk.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::{Errno, Result};

/// Bytes of the header that each message begins with (`struct nlmsghdr`).
const HEADER: usize = 16;
/// Answers come in datagrams of at most 32 KiB where the reader offers that much (netlink_dump in af_netlink.c).
const BUFFER_BYTES: usize = 32 << 10;
/// The kernel answers at once; this only keeps a broken kernel module from hanging us.
const PATIENCE: Duration = Duration::from_secs(2);

const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Whether a walk over answers goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The next message, please.
    On,
    /// Enough: the rest of the dump is given up.
    Stop,
}

/// A netlink socket with its buffers.
#[derive(Debug)]
pub(crate) struct Netlink {
    fd: OwnedFd,
    seq: u32,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Netlink {
    /// A socket of one netlink family (`None`: routing) in the caller's network namespace.
    pub(crate) fn open(family: Option<Protocol>) -> Result<Self> {
        Self::over(net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, family)?)
    }

    /// Takes over a netlink socket that was opened elsewhere, for example inside another network namespace.
    pub(crate) fn over(fd: OwnedFd) -> Result<Self> {
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { fd, seq: 0, request: Vec::with_capacity(256), answer: vec![0; BUFFER_BYTES] })
    }

    /// Sends one request and walks over the answers: `each` gets type and payload of every message. Returns
    /// [`Walk::Stop`] when `each` gave up, after which a dump may still be going on in this socket: drop it.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        dump: bool,
        body: &[&[u8]],
        each: impl FnMut(u16, &[u8]) -> Walk,
    ) -> Result<Walk> {
        self.send(kind, if dump { REQUEST | DUMP } else { REQUEST }, body)?;
        self.walk(dump, each)
    }

    /// Asks for a change and waits until it is made or refused.
    pub(crate) fn change(&mut self, kind: u16, body: &[&[u8]]) -> Result<()> {
        self.send(kind, REQUEST | ACK, body)?;
        self.walk(true, |_, _| Walk::On).map(drop)
    }

    fn walk(&mut self, dump: bool, mut each: impl FnMut(u16, &[u8]) -> Walk) -> Result<Walk> {
        loop {
            let (got, _) = net::recv(&self.fd, &mut self.answer[..], RecvFlags::empty())?;
            let mut rest = self.answer.get(..got).unwrap_or_default();
            while let Some((head, payload, after)) = split(rest) {
                rest = after;
                if head.seq != self.seq {
                    continue;
                }
                match head.kind {
                    DONE => return Ok(Walk::On),
                    ERROR => return failure(payload),
                    kind if each(kind, payload) == Walk::Stop => return Ok(Walk::Stop),
                    _ if !dump => return Ok(Walk::On),
                    _ => {}
                }
            }
        }
    }

    fn send(&mut self, kind: u16, flags: u16, body: &[&[u8]]) -> Result<()> {
        self.seq = self.seq.wrapping_add(1).max(1);
        let length = HEADER + body.iter().map(|part| part.len()).sum::<usize>();
        self.request.clear();
        self.request.extend_from_slice(&(length as u32).to_ne_bytes());
        self.request.extend_from_slice(&kind.to_ne_bytes());
        self.request.extend_from_slice(&flags.to_ne_bytes());
        self.request.extend_from_slice(&self.seq.to_ne_bytes());
        self.request.extend_from_slice(&0_u32.to_ne_bytes());
        for part in body {
            self.request.extend_from_slice(part);
        }
        net::sendto(&self.fd, &self.request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }
}

struct Head {
    kind: u16,
    seq: u32,
}

/// The first message of a datagram: its head, its payload, and what follows it.
fn split(bytes: &[u8]) -> Option<(Head, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let payload = bytes.get(HEADER..length)?;
    let head = Head { kind: u16_at(bytes, 4)?, seq: u32_at(bytes, 8)? };
    Some((head, payload, bytes.get(align(length)..).unwrap_or_default()))
}

fn failure(payload: &[u8]) -> Result<Walk> {
    match u32_at(payload, 0).map(|code| code.cast_signed()) {
        Some(0) => Ok(Walk::On),
        Some(code) => Err(Errno::from_raw_os_error(code.saturating_neg())),
        None => Err(Errno::IO),
    }
}

/// One attribute (`struct rtattr`) as bytes, padded.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut out = Vec::with_capacity(align(length));
    out.extend_from_slice(&(length as u16).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(align(length), 0);
    out
}

/// Walks over attributes: their type without flag bits, and value.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(align(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

const fn align(length: usize) -> usize {
    (length + 3) & !3
}

/// An unsigned number of the machine's byte order at an offset.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

/// See [`u16_at`].
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

/// See [`u16_at`].
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_found_again() {
        let mut bytes = attribute(7, b"abcde");
        assert_eq!(bytes.len(), 12);
        bytes.extend(attribute(9, b""));
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(7, &b"abcde"[..]), (9, &b""[..])]);
    }

    #[test]
    fn lengths_that_do_not_fit_end_the_walk() {
        assert_eq!(attributes(&[255, 0, 1, 0, 9]).count(), 0);
        assert_eq!(attributes(&[0, 0, 1, 0, 9]).count(), 0);
        assert!(split(&[200, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        assert!(split(&[3, 0, 0, 0]).is_none());
    }
}
