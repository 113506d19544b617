//! The operations that only servers give a ring: single receives, receives of nothing, sends from receive buffers.

use std::os::fd::{FromRawFd, OwnedFd};

use io_uring::{opcode, squeue};

use super::file::File;
use super::{BufferId, Buffers, Cqe, How, Ring, buffers};
use crate::{Errno, Result};

impl Ring {
    /// Receives once into a buffer of the ring, chosen when there is something to receive. With `now` it fails with
    /// EAGAIN instead of waiting.
    #[inline]
    pub fn recv_once(&mut self, file: File, now: bool, how: How, user: u64) -> Result<()> {
        let flags = if now { libc::MSG_DONTWAIT } else { 0 };
        let entry = on_file!(file, |f| {
            // A length of 0 stands for the whole buffer that is selected.
            opcode::Recv::new(f, std::ptr::null_mut(), 0).buf_group(buffers::GROUP).flags(flags).build()
        });
        self.push(&entry.flags(squeue::Flags::BUFFER_SELECT | how).user_data(user))
    }

    /// Receives nothing: completes with 0 when there is something to receive or the peer has closed, and takes no bytes.
    #[inline]
    pub fn recv_nothing(&mut self, file: File, how: How, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Recv::new(f, std::ptr::null_mut(), 0).build());
        self.push(&entry.flags(how).user_data(user))
    }

    /// Raises an eventfd; linked behind an operation it tells that this has completed.
    #[inline]
    pub fn signal(&mut self, eventfd: File, how: How, user: u64) -> Result<()> {
        static ONE: u64 = 1;
        let one = (&raw const ONE).cast::<u8>();
        let entry = on_file!(eventfd, |f| opcode::Write::new(f, one, 8).build());
        self.push(&entry.flags(how).user_data(user))
    }

    /// Sends the first `len` bytes of a receive buffer of this ring, all of them. Keep the buffer until the completion;
    /// if it is given back earlier the peer gets a mixture.
    #[inline]
    pub fn send_buffer(
        &mut self,
        file: File,
        from: &Buffers,
        id: &BufferId,
        len: usize,
        how: How,
        user: u64,
    ) -> Result<()> {
        let own = self.buffers.as_ref().is_some_and(|(_, data)| std::rc::Rc::ptr_eq(data, &from.data));
        if !own {
            return Err(Errno::INVAL);
        }
        let bytes = from.bytes(id, len);
        self.push_send(file, bytes.as_ptr(), bytes.len(), how, user)
    }

    /// Closes a file of either kind.
    #[inline]
    pub fn close_file(&mut self, file: File, how: How, user: u64) -> Result<()> {
        let entry = on_file!(file, |f| opcode::Close::new(f).build());
        self.push(&entry.flags(how).user_data(user))
    }
}

impl Cqe {
    /// The descriptor that an accept without `direct` gave. Only for completions of such an accept, and once.
    pub fn accepted(&self) -> Result<OwnedFd> {
        let fd = self.outcome()?;
        // SAFETY: the kernel has just made this descriptor for the accept that completed, and nothing else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
    }
}
