//! Netlink messages: a socket, requests with attributes, and iteration over the answers. Source: netlink(7).
//!
//! All numbers have the machine's byte order. An iteration over parts of a message ends at a length field that exceeds
//! the rest of the message.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::{Errno, Result};

/// Size in bytes of the header of each message (`struct nlmsghdr`).
const HEADER_BYTES: usize = 16;
/// Size of the receive buffer, bytes. The kernel sends datagrams of at most 32 KiB to a reader with a buffer of this
/// size (netlink_dump in af_netlink.c).
const BUFFER_BYTES: usize = 32 << 10;
/// Maximum wait for an answer. The kernel normally answers immediately. The maximum prevents a faulty kernel module
/// from blocking loadline.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

const REQUEST: u16 = 0x1;
const ACK: u16 = 0x4;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Decides whether an iteration over answers continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpControl {
    /// Continue with the next message.
    Continue,
    /// Stop, and ignore the remaining messages of the dump.
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
    /// Opens a socket of one netlink family in the caller's network namespace. `None` means the routing family.
    pub(crate) fn open(family: Option<Protocol>) -> Result<Self> {
        Self::over(net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, family)?)
    }

    /// Wraps a netlink socket that was opened elsewhere, for example in another network namespace.
    pub(crate) fn over(fd: OwnedFd) -> Result<Self> {
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        Ok(Self { fd, seq: 0, request: Vec::with_capacity(256), answer: vec![0; BUFFER_BYTES] })
    }

    /// Sends one request and calls `each` with the type and the payload of every message of the answer. Returns
    /// [`DumpControl::Stop`] if `each` returned it. After `Stop`, drop this socket, because the kernel may still be
    /// sending the rest of a dump.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        dump: bool,
        body: &[&[u8]],
        each: impl FnMut(u16, &[u8]) -> DumpControl,
    ) -> Result<DumpControl> {
        self.send(kind, if dump { REQUEST | DUMP } else { REQUEST }, body)?;
        self.walk(dump, each)
    }

    /// Requests a change and waits until the kernel confirms or refuses it.
    pub(crate) fn change(&mut self, kind: u16, body: &[&[u8]]) -> Result<()> {
        self.send(kind, REQUEST | ACK, body)?;
        self.walk(true, |_, _| DumpControl::Continue).map(drop)
    }

    fn walk(&mut self, dump: bool, mut each: impl FnMut(u16, &[u8]) -> DumpControl) -> Result<DumpControl> {
        loop {
            let receive = || net::recv(&self.fd, &mut self.answer[..], RecvFlags::empty());
            let (got, _) = rustix::io::retry_on_intr(receive)?;
            let mut rest = self.answer.get(..got).unwrap_or_default();
            while let Some((head, payload, after)) = split(rest) {
                rest = after;
                if head.seq != self.seq {
                    continue;
                }
                match head.kind {
                    DONE => return end_of_dump(payload),
                    ERROR => return failure(payload),
                    kind if each(kind, payload) == DumpControl::Stop => return Ok(DumpControl::Stop),
                    _ if !dump => return Ok(DumpControl::Continue),
                    _ => {}
                }
            }
        }
    }

    fn send(&mut self, kind: u16, flags: u16, body: &[&[u8]]) -> Result<()> {
        self.seq = self.seq.wrapping_add(1).max(1);
        let length = HEADER_BYTES + body.iter().map(|part| part.len()).sum::<usize>();
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

struct MessageHeader {
    kind: u16,
    seq: u32,
}

/// Splits off the first message of a datagram. Returns the message's header and payload, and the rest of the datagram.
fn split(bytes: &[u8]) -> Option<(MessageHeader, &[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    let payload = bytes.get(HEADER_BYTES..length)?;
    let head = MessageHeader { kind: u16_at(bytes, 4)?, seq: u32_at(bytes, 8)? };
    Some((head, payload, bytes.get(align(length)..).unwrap_or_default()))
}

/// Returns the result of a dump. The last message of a dump contains 0, or a negative error number if the kernel could
/// not finish the dump. Source: netlink_dump_done in af_netlink.c.
fn end_of_dump(payload: &[u8]) -> Result<DumpControl> {
    match u32_at(payload, 0).map(u32::cast_signed) {
        Some(code) if code < 0 => Err(Errno::from_raw_os_error(code.saturating_neg())),
        _ => Ok(DumpControl::Continue),
    }
}

fn failure(payload: &[u8]) -> Result<DumpControl> {
    match u32_at(payload, 0).map(|code| code.cast_signed()) {
        Some(0) => Ok(DumpControl::Continue),
        Some(code) => Err(Errno::from_raw_os_error(code.saturating_neg())),
        None => Err(Errno::IO),
    }
}

/// Encodes one attribute (`struct rtattr`), padded to 4 bytes.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut out = Vec::with_capacity(align(length));
    out.extend_from_slice(&(length as u16).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(align(length), 0);
    out
}

/// Iterates over the attributes in a message. Yields the type of each attribute, without its flag bits, and its value.
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

/// Reads an unsigned 16-bit number at an offset, in the machine's byte order.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

/// Reads an unsigned 32-bit number at an offset, in the machine's byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

/// Reads an unsigned 64-bit number at an offset, in the machine's byte order.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_parsed_back() {
        let mut bytes = attribute(7, b"abcde");
        assert_eq!(bytes.len(), 12);
        bytes.extend(attribute(9, b""));
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(7, &b"abcde"[..]), (9, &b""[..])]);
    }

    #[test]
    fn a_dump_may_end_with_an_error() {
        assert_eq!(end_of_dump(&0_i32.to_ne_bytes()), Ok(DumpControl::Continue));
        assert_eq!(end_of_dump(&[]), Ok(DumpControl::Continue));
        assert_eq!(end_of_dump(&(-2_i32).to_ne_bytes()), Err(Errno::NOENT));
    }

    #[test]
    fn lengths_that_do_not_fit_end_the_iteration() {
        assert_eq!(attributes(&[255, 0, 1, 0, 9]).count(), 0);
        assert_eq!(attributes(&[0, 0, 1, 0, 9]).count(), 0);
        assert!(split(&[200, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        assert!(split(&[3, 0, 0, 0]).is_none());
    }
}
