//! Operations that only servers use: single receives, zero-byte receives, sends from receive buffers.

use std::os::fd::{FromRawFd, OwnedFd};

use io_uring::{opcode, squeue};

use super::file::File;
use super::{BufferId, Buffers, Cqe, OpFlags, Ring, buffers};
use crate::{Errno, Result};

impl Ring {
    /// Receives once into a buffer of the ring, chosen when data is there. With `now` it fails with EAGAIN instead of
    /// waiting.
    #[inline]
    pub fn recv_once(&mut self, file: File, now: bool, op_flags: OpFlags, user: u64) -> Result<()> {
        let flags = if now { libc::MSG_DONTWAIT } else { 0 };
        let entry = on_file!(file, |f| {
            // A length of 0 means the whole selected buffer.
            opcode::Recv::new(f, std::ptr::null_mut(), 0).buf_group(buffers::GROUP).flags(flags).build()
        });
        self.push(&entry.flags(squeue::Flags::BUFFER_SELECT | op_flags).user_data(user))
    }

    /// Receives nothing: completes with 0 when data is there or the peer has closed, and takes no bytes.
    #[inline]
    pub fn recv_nothing(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Recv::new(f, std::ptr::null_mut(), 0).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Raises an eventfd. Linked behind an operation, it signals that operation's completion.
    #[inline]
    pub fn signal(&mut self, eventfd: File, op_flags: OpFlags, user: u64) -> Result<()> {
        static ONE: u64 = 1;
        let one = (&raw const ONE).cast::<u8>();
        let entry = on_file!(eventfd, |f| opcode::Write::new(f, one, 8).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }

    /// Sends all of the first `len` bytes of a receive buffer of this ring. Keep the buffer until the completion;
    /// returning it earlier corrupts the data for the peer.
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

    /// Closes a file of either kind.
    #[inline]
    pub fn close_file(&mut self, file: File, op_flags: OpFlags, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Close::new(f).build());
        self.push(&entry.flags(op_flags).user_data(user))
    }
}

impl Cqe {
    /// Returns the descriptor from an accept without `direct`. Only for completions of such an accept, and only once.
    pub fn accepted(&self) -> Result<OwnedFd> {
        let fd = self.outcome()?;
        // SAFETY: the kernel has just created this descriptor for the accept that completed, and nothing else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
    }
}
