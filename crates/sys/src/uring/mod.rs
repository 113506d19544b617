//! A safe io_uring interface. The ring owns all memory that the kernel may access (addresses, send slots, receive
//! buffers), and operations refer to it by number. The same thread must create, use and drop a ring. Source:
//! io_uring(7), io_uring_enter(2), io_uring_register(2).
//!
//! The ring requires SINGLE_ISSUER and, unless [`Config::eager`] is set, DEFER_TASKRUN. The ring supports a table of
//! registered files, multishot accept and receive, a provided buffer ring, and the option to skip completions of
//! successful operations. The ring uses min-wait timeouts if the kernel supports them. This module never repeats an
//! operation: completions report each result, and the caller decides.

mod address;
mod buffers;
#[macro_use]
mod file;
mod memory;
mod ops;
mod ring_close_watcher;
mod serving;

use std::rc::Rc;

use io_uring::{IoUring, squeue, types};

pub(crate) use address::Address;
pub use buffers::{BufferId, Buffers};
pub use file::File;
/// Flags of an operation of the ring. `OpFlags::SKIP_SUCCESS` suppresses the completion of a success.
/// `OpFlags::IO_LINK` starts the next operation only after this operation has succeeded.
pub use io_uring::squeue::Flags as OpFlags;
use memory::Memory;
pub use memory::mapped_bytes;
pub use ops::SEGMENT_BYTES;
pub use ring_close_watcher::RingCloseWatcher;

use crate::peer::Peer;
use crate::{Errno, Result};

/// Configuration of a ring.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of submission entries, at least 8; rounded up to a power of two.
    pub entries: u32,
    /// Number of completion entries, at least [`Config::entries`]; rounded up to a power of two.
    pub completions: u32,
    /// Size of the table of registered files; 0 for none. RLIMIT_NOFILE limits the size of the table.
    pub files: u32,
    /// Number of send slots, the buffers from which the ring sends.
    pub slots: u32,
    /// Size of a send slot in bytes.
    pub slot_bytes: u32,
    /// Number of receive buffers, rounded up to a power of two and at most 32768; 0 for none.
    pub buffers: u16,
    /// Number of receive buffers given to the kernel at first; 0 for all.
    pub buffers_at_first: u16,
    /// Size of a receive buffer in bytes.
    pub buffer_bytes: u32,
    /// Addresses that connect and bind refer to by number.
    pub addresses: Vec<Peer>,
    /// True if the kernel should continue operations whenever the thread enters or leaves the kernel, and not only
    /// while the thread waits for completions. A thread that waits in other system calls must set `eager` to true. With
    /// `eager`, the kernel interrupts the thread more often.
    pub eager: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            entries: 256,
            completions: 4096,
            files: 0,
            slots: 0,
            slot_bytes: 4096,
            buffers: 0,
            buffers_at_first: 0,
            buffer_bytes: 16_384,
            addresses: Vec::new(),
            eager: false,
        }
    }
}

/// One completion of the ring.
#[derive(Debug)]
pub struct Cqe {
    /// Number that was passed with the operation.
    pub user: u64,
    /// Result of the operation, or a negated error number.
    pub result: i32,
    /// True if a multishot operation continues. False means that the operation has ended. The caller starts an ended
    /// operation again if needed.
    pub more: bool,
    /// The receive buffer that the kernel has filled; `None` if the operation used no buffer. The program must return
    /// the buffer with [`Buffers::recycle`].
    pub buffer: Option<BufferId>,
}

impl Cqe {
    /// Returns the result of the operation, or its error.
    #[inline]
    pub fn outcome(&self) -> Result<u32> {
        u32::try_from(self.result).map_err(|_| Errno::from_raw_os_error(-self.result))
    }
}

/// A ring with the memory that its operations use.
pub struct Ring {
    io: std::mem::ManuallyDrop<IoUring>,
    slots: Rc<Memory>,
    slot_bytes: usize,
    slot_count: u32,
    addresses: Box<[Address]>,
    // Shared ownership of the receive buffers. The buffers outlive the ring, whichever of the two is dropped first.
    buffers: Option<(Rc<Memory>, Rc<Memory>)>,
    min_wait: bool,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("slots", &self.slot_count)
            .field("min_wait", &self.min_wait)
            .finish_non_exhaustive()
    }
}

fn errno(e: &std::io::Error) -> Errno {
    Errno::from_io_error(e).unwrap_or(Errno::IO)
}

impl Ring {
    /// Creates a ring and its receive buffers (`None` if none are configured). Fails with ENOSYS or EPERM if the kernel
    /// or the container forbids io_uring. Fails with EINVAL if the kernel lacks SINGLE_ISSUER (before 6.0) or, without
    /// [`Config::eager`], DEFER_TASKRUN (before 6.1).
    pub fn new(config: &Config) -> Result<(Self, Option<Buffers>)> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_submit_all().setup_clamp();
        if !config.eager {
            builder.setup_defer_taskrun();
        }
        builder.setup_cqsize(config.completions.max(config.entries).next_power_of_two());
        let io = builder.build(config.entries.max(8)).map_err(|e| errno(&e))?;
        if config.files > 0 {
            io.submitter().register_files_sparse(config.files).map_err(|e| errno(&e))?;
        }
        let first = if config.buffers_at_first == 0 { config.buffers } else { config.buffers_at_first };
        let buffers = if config.buffers > 0 {
            let buffers = Buffers::new(config.buffers, first, config.buffer_bytes)?;
            buffers.register(&io)?;
            Some(buffers)
        } else {
            None
        };
        let slots = Rc::new(Memory::map(config.slots as usize * config.slot_bytes as usize)?);
        let ring = Self {
            min_wait: io.params().is_feature_min_timeout(),
            io: std::mem::ManuallyDrop::new(io),
            slots,
            slot_bytes: config.slot_bytes as usize,
            slot_count: config.slots,
            addresses: config.addresses.iter().map(Address::new).collect(),
            buffers: buffers.as_ref().map(|b| (Rc::clone(&b.ring), Rc::clone(&b.data))),
        };
        Ok((ring, buffers))
    }

    /// Returns true if the kernel can wait for a batch of completions for a limited time (since Linux 6.12).
    pub fn has_min_wait(&self) -> bool {
        self.min_wait
    }

    /// Puts a descriptor into the table of registered files.
    pub fn register_file(&mut self, at: u32, fd: impl std::os::fd::AsFd) -> Result<()> {
        use std::os::fd::AsRawFd as _;
        let fds = [fd.as_fd().as_raw_fd()];
        self.io.submitter().register_files_update(at, &fds).map(drop).map_err(|e| errno(&e))
    }

    /// Removes a descriptor from the table of registered files.
    pub fn unregister_file(&mut self, at: u32) -> Result<()> {
        self.io.submitter().register_files_update(at, &[-1]).map(drop).map_err(|e| errno(&e))
    }

    /// Submits queued operations without waiting.
    pub fn submit(&mut self) -> Result<()> {
        match self.io.submit() {
            Ok(_) => Ok(()),
            Err(e) => tolerate(errno(&e)),
        }
    }

    /// Submits queued operations and waits for `want` completions, for at most `timeout_ns` (`None`: no limit). With
    /// `batch_us` above 0, one completion is enough after `batch_us` microseconds, if the kernel supports it. A
    /// timeout, a signal or a full completion queue is not an error.
    #[inline]
    pub fn submit_and_wait(&mut self, want: u32, timeout_ns: Option<u64>, batch_us: u32) -> Result<()> {
        let time = types::Timespec::from(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0)));
        let mut args = types::SubmitArgs::new();
        if timeout_ns.is_some() {
            args = args.timespec(&time);
        }
        if self.min_wait && batch_us > 0 {
            args = args.min_wait_usec(batch_us);
        }
        match self.io.submitter().submit_with_args(want as usize, &args) {
            Ok(_) => Ok(()),
            Err(e) => tolerate(errno(&e)),
        }
    }

    /// Moves the available completions into `into`, but only as many as fit into its free capacity.
    #[inline]
    pub fn reap(&mut self, into: &mut Vec<Cqe>) {
        let room = into.capacity() - into.len();
        into.extend(self.io.completion().take(room).map(|c| Cqe {
            user: c.user_data(),
            result: c.result(),
            more: io_uring::cqueue::more(c.flags()),
            buffer: io_uring::cqueue::buffer_select(c.flags()).map(BufferId),
        }));
    }

    /// Returns true if the completion queue was full and the kernel keeps further completions. The next wait returns
    /// the completions that the kernel has kept.
    pub fn overflowed(&mut self) -> bool {
        self.io.submission().cq_overflow()
    }

    /// Adds an entry to the submission queue. If the queue is full, submits the entries of the queue first.
    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        for _ in 0..2 {
            // SAFETY: every pointer in an entry made in `ops` leads into memory that the ring owns (slots, addresses),
            // to constants, or to `'static` data. The ring's memory stays mapped until the ring has cancelled its
            // remaining operations.
            if unsafe { self.io.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
        Err(Errno::BUSY)
    }
}

/// Converts errors that normally end a wait into success.
fn tolerate(e: Errno) -> Result<()> {
    if matches!(e, Errno::TIME | Errno::INTR | Errno::BUSY | Errno::AGAIN) { Ok(()) } else { Err(e) }
}

impl Ring {
    /// Completes the cancelled operations in this thread, so that their files close before the ring does. Operations
    /// that are not yet complete are left to a kernel worker, which closes their files some milliseconds later.
    fn complete_cancelled(&mut self) {
        const GETEVENTS: u32 = 1; // IORING_ENTER_GETEVENTS in linux/io_uring.h
        loop {
            let completed = self.io.completion().len();
            // SAFETY: the call submits no entry, and no argument is passed.
            let entered = unsafe { self.io.submitter().enter::<()>(0, 0, GETEVENTS, None) };
            // The kernel completes at least one operation per call while operations are left.
            if entered.is_err() || self.io.completion().len() == completed {
                return;
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Cancels running operations before the ring's memory is released. If cancelling fails, the ring's memory is
        // leaked on purpose, because the kernel may still access it.
        let limit = types::Timespec::new().sec(1);
        let ended = self.io.submitter().register_sync_cancel(Some(limit), types::CancelBuilder::any());
        let quiet = match &ended {
            Ok(()) => true,
            Err(e) => errno(e) == Errno::NOENT,
        };
        if !quiet {
            std::mem::forget(Rc::clone(&self.slots));
            std::mem::forget(self.buffers.clone());
        }
        self.complete_cancelled();
        // SAFETY: the value is dropped exactly once, here, and is not used afterwards.
        unsafe { std::mem::ManuallyDrop::drop(&mut self.io) };
    }
}

#[cfg(test)]
mod tests;
