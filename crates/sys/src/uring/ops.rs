//! Operations of a ring, one function each. The completion of an operation contains the operation's number `user`.

use std::ops::Range;

use io_uring::types::{CancelBuilder, DestinationSlot, Fixed};
use io_uring::{opcode, squeue};

use super::address::Address;
use super::file::File;
use super::{OpFlags, Ring};
use crate::{Errno, Result};

/// Value of a socket option that is turned on. Entries of the ring point to `ON`, which lives as long as the program.
static ON: libc::c_int = 1;
/// Size of the datagrams into which sends are cut after [`Ring::segment`], bytes: every path of QUIC takes this size
/// (RFC 9000, section 14).
pub const SEGMENT_BYTES: u16 = 1200;
/// Value of the socket option UDP_SEGMENT. Entries of the ring point to `SEGMENT`.
static SEGMENT: libc::c_int = SEGMENT_BYTES as libc::c_int;
/// Socket option UDP_SEGMENT of linux/udp.h.
const UDP_SEGMENT: u32 = 103;
/// Socket option IP_BIND_ADDRESS_NO_PORT of ip(7).
const IP_BIND_ADDRESS_NO_PORT: u32 = 24;
/// Command for a socket: returns the number of sent bytes that the peer has not acknowledged (io_uring.h).
const SOCKET_URING_OP_SIOCOUTQ: u32 = 1;

impl Ring {
    /// Returns the bytes of send slot `slot`. The caller fills the send slot before it calls [`Ring::send`]. Returns an
    /// empty slice for an unknown send slot. Wait for the completion of a send before overwriting its send slot,
    /// because the peer would otherwise get wrong data.
    #[inline]
    pub fn slot(&mut self, slot: u32) -> &mut [u8] {
        let (at, len) = if slot < self.slot_count { (slot as usize, self.slot_bytes) } else { (0, 0) };
        // SAFETY: the check above keeps the slice inside the mapped, zeroed region. The kernel only reads the slot, and
        // no other slice of the slot can exist while `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.slots.address_of(at * len), len) }
    }

    /// Opens a socket at index `at` of the table of registered files. The socket has the family, the type and the
    /// protocol of the address with number `address`.
    #[inline]
    pub fn socket(&mut self, at: u32, address: u32, op_flags: OpFlags, user: u64) -> Result<()> {
        let (family, kind, protocol) = self.address(address).map(|a| (a.family, a.kind, a.protocol))?;
        let target = DestinationSlot::try_from_slot_target(at).map_err(|_| Errno::INVAL)?;
        let entry = opcode::Socket::new(family, kind, protocol).file_index(Some(target)).build();
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Sets the socket option TCP_NODELAY.
    #[inline]
    pub fn nodelay(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        self.option(file, libc::IPPROTO_TCP as u32, libc::TCP_NODELAY as u32, op_flags, user)
    }

    /// Sets the socket option UDP_SEGMENT: each send is cut into datagrams of [`SEGMENT_BYTES`] bytes.
    pub fn segment(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let (value, len) = ((&raw const SEGMENT).cast(), size_of::<libc::c_int>() as u32);
        let (level, name) = (libc::IPPROTO_UDP as u32, UDP_SEGMENT);
        let entry = on_file!(file, |f| opcode::SetSockOpt::new(f, level, name, value, len).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Sets the socket option IP_BIND_ADDRESS_NO_PORT.
    #[inline]
    pub fn bind_address_no_port(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        self.option(file, libc::IPPROTO_IP as u32, IP_BIND_ADDRESS_NO_PORT, op_flags, user)
    }

    fn option(&mut self, file: File, level: u32, name: u32, op_flags: OpFlags, user: u64) -> Result<()> {
        let (value, len) = ((&raw const ON).cast(), size_of::<libc::c_int>() as u32);
        let entry = on_file!(file, |f| opcode::SetSockOpt::new(f, level, name, value, len).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Binds to the address with number `address`.
    #[inline]
    pub fn bind(&mut self, file: File, address: u32, op_flags: OpFlags, user: u64) -> Result<()> {
        let a = self.address(address)?;
        let (ptr, len) = ((&raw const a.storage).cast(), a.len);
        let entry = on_file!(file, |f| opcode::Bind::new(f, ptr, len).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Connects to the address with number `address`.
    #[inline]
    pub fn connect(&mut self, file: File, address: u32, op_flags: OpFlags, user: u64) -> Result<()> {
        let a = self.address(address)?;
        let (ptr, len) = ((&raw const a.storage).cast(), a.len);
        let entry = on_file!(file, |f| opcode::Connect::new(f, ptr, len).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Accepts connections until the operation is cancelled, with one completion per connection. With `direct`,
    /// connections are put into the table of registered files, and each result is an index. Without `direct`, each
    /// result is a descriptor that the caller owns.
    pub fn accept_multi(&mut self, file: File, direct: bool, user: u64) -> Result<()> {
        let flags = if direct { 0 } else { libc::SOCK_CLOEXEC };
        let entry = on_file!(file, |f| opcode::AcceptMulti::new(f).allocate_file_index(direct).flags(flags).build());
        self.push(&entry.user_data(user))
    }

    /// Receives repeatedly into the ring's buffers, with one completion per receive. The operation ends when the peer
    /// closes its sending side or when the ring has no free buffer (ENOBUFS).
    #[inline]
    pub fn recv_multi(&mut self, file: File, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::RecvMulti::new(f, super::buffers::GROUP).build());
        self.push(&entry.user_data(user))
    }

    /// Sends a part of a send slot. The operation completes when the socket has taken all bytes.
    #[inline]
    pub fn send(&mut self, file: File, slot: u32, part: Range<usize>, op_flags: OpFlags, user: u64) -> Result<()> {
        let ptr = self.part_of(slot, &part)?;
        self.push_send(file, ptr, part.len(), op_flags, user)
    }

    /// Sends as many bytes of a part of a send slot as the socket takes without waiting. Fails with EAGAIN if the
    /// socket accepts no bytes.
    pub fn send_now(&mut self, file: File, slot: u32, part: Range<usize>, op_flags: OpFlags, user: u64) -> Result<()> {
        let ptr = self.part_of(slot, &part)?;
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let entry = on_file!(file, |f| opcode::Send::new(f, ptr, part.len() as u32).flags(flags).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    #[inline]
    fn part_of(&self, slot: u32, part: &Range<usize>) -> Result<*const u8> {
        if slot >= self.slot_count || part.end > self.slot_bytes || part.start > part.end {
            return Err(Errno::INVAL);
        }
        Ok(self.slots.address_of(slot as usize * self.slot_bytes).wrapping_add(part.start).cast_const())
    }

    /// Sends bytes that live as long as the program, such as a file kept in memory.
    #[inline]
    pub fn send_static(&mut self, file: File, bytes: &'static [u8], op_flags: OpFlags, user: u64) -> Result<()> {
        self.push_send(file, bytes.as_ptr(), bytes.len(), op_flags, user)
    }

    pub(super) fn push_send(
        &mut self,
        file: File,
        ptr: *const u8,
        len: usize,
        op_flags: OpFlags,
        user: u64,
    ) -> Result<()> {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let entry = on_file!(file, |f| opcode::Send::new(f, ptr, len as u32).flags(flags).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Waits for readiness (poll(2) bits). With `multi`, waits repeatedly until the operation is cancelled.
    pub fn poll(&mut self, file: File, mask: u32, multi: bool, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::PollAdd::new(f, mask).multi(multi).build());
        self.push(&entry.user_data(user))
    }

    /// Asks for the number of sent bytes that the peer has not acknowledged (tcp(7), SIOCOUTQ). The result of the
    /// completion is the number of unacknowledged bytes.
    pub fn unacknowledged(&mut self, file: File, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::UringCmd16::new(f, SOCKET_URING_OP_SIOCOUTQ).build());
        self.push(&entry.user_data(user))
    }

    /// Closes the sending side of a connection.
    pub fn shutdown_write(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Shutdown::new(f, libc::SHUT_WR).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Closes a file of the table of registered files. Running operations keep the socket open, so they must be
    /// cancelled first.
    #[inline]
    pub fn close(&mut self, at: u32, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry: squeue::Entry = opcode::Close::new(Fixed(at)).build();
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Cancels all operations on a file. Each cancelled operation completes with ECANCELED.
    #[inline]
    pub fn cancel_file(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let which = on_file!(file, |f| CancelBuilder::fd(f).all());
        self.push(&opcode::AsyncCancel2::new(which).build().flags(op_flags).user_data(user))
    }

    /// Cancels the operation whose number `user` is `which`.
    #[inline]
    pub fn cancel(&mut self, which: u64, op_flags: OpFlags, user: u64) -> Result<()> {
        self.push(&opcode::AsyncCancel::new(which).build().flags(op_flags).user_data(user))
    }

    #[inline]
    fn address(&self, at: u32) -> Result<&Address> {
        self.addresses.get(at as usize).ok_or(Errno::INVAL)
    }
}
