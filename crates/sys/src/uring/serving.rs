//! Operations that only servers use: single receives, zero-byte receives, sends from receive buffers.

use std::os::fd::{FromRawFd, OwnedFd};

use io_uring::{opcode, squeue};

use super::file::File;
use super::{BufferId, Buffers, Cqe, OpFlags, Ring, buffers};
use crate::{Errno, Result};

impl Ring {
    /// Receives once into a buffer of the ring. The kernel chooses the buffer when data arrives. With `now`, the
    /// operation fails with EAGAIN instead of waiting.
    #[inline]
    pub fn recv_once(&mut self, file: File, now: bool, op_flags: OpFlags, user: u64) -> Result<()> {
        let flags = if now { libc::MSG_DONTWAIT } else { 0 };
        let entry = on_file!(file, |f| {
            // A length of 0 means the whole selected buffer.
            opcode::Recv::new(f, std::ptr::null_mut(), 0).buf_group(buffers::GROUP).flags(flags).build()
        });
        self.push(&entry.flags(squeue::Flags::BUFFER_SELECT | op_flags).user_data(user))
    }

    /// Queues an operation that waits for data without receiving it. The operation completes with 0 when data is
    /// available or the peer has closed.
    #[inline]
    pub fn recv_nothing(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Recv::new(f, std::ptr::null_mut(), 0).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Signals an eventfd. If the write is linked to an earlier operation, the signal shows that the earlier operation
    /// has completed.
    #[inline]
    pub fn signal(&mut self, eventfd: File, op_flags: OpFlags, user: u64) -> Result<()> {
        static ONE: u64 = 1;
        let one = (&raw const ONE).cast::<u8>();
        let entry = on_file!(eventfd, |f| opcode::Write::new(f, one, 8).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Sends the first `len` bytes of one of the ring's receive buffers. The caller must keep the buffer until the send
    /// has completed. Returning the buffer before the send has completed corrupts the data that the peer receives.
    #[inline]
    pub fn send_buffer(
        &mut self,
        file: File,
        from: &Buffers,
        id: &BufferId,
        len: usize,
        op_flags: OpFlags,
        user: u64,
    ) -> Result<()> {
        let own = self.buffers.as_ref().is_some_and(|(_, data)| std::rc::Rc::ptr_eq(data, &from.data));
        if !own {
            return Err(Errno::INVAL);
        }
        let bytes = from.bytes(id, len);
        self.push_send(file, bytes.as_ptr(), bytes.len(), op_flags, user)
    }

    /// Closes a file, which may be a registered file or a descriptor.
    #[inline]
    pub fn close_file(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Close::new(f).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }
}

impl Cqe {
    /// Returns the descriptor from an accept without `direct`. Call this function once, and only on the completion of
    /// an accept without `direct`.
    pub fn accepted(&self) -> Result<OwnedFd> {
        let fd = self.outcome()?;
        // SAFETY: the kernel created this descriptor for the accept that completed, and nothing else refers to it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
    }
}
