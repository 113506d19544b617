//! The ring buffer through which the kernel passes records to this process: one header page, and data pages whose
//! content wraps around.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::{Result, last_errno};

/// Number of data pages in a ring. With the header page, a ring has 65 pages. With pages of 4 KiB, a ring has 260 KiB,
/// less than the 516 KiB that a user may lock per CPU. A ring has room for 15 samples.
const DATA_PAGES: usize = 64;

/// Offset of the kernel's write position in the header page.
const HEAD_OFFSET: usize = 1024;
/// Offset of the reader's position in the header page.
const TAIL_OFFSET: usize = 1032;

const SET_OUTPUT: libc::Ioctl = 0x2405;

pub(super) struct Ring {
    start: *mut u8,
    page: usize,
    event: RawFd,
}

// SAFETY: only the kernel and this value access the memory, and each method reads the positions from the memory itself.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of `event`. The caller must keep the descriptor open as long as the ring exists.
    pub(super) fn new(event: RawFd) -> Result<Self> {
        let page = rustix::param::page_size();
        let (prot, len) = (libc::PROT_READ | libc::PROT_WRITE, (1 + DATA_PAGES) * page);
        // SAFETY: maps new memory at an address that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, libc::MAP_SHARED, event, 0) };
        if start == libc::MAP_FAILED { Err(last_errno()) } else { Ok(Self { start: start.cast(), page, event }) }
    }

    /// Makes the kernel write the samples of `event` into this ring. The event must be on the ring's CPU.
    pub(super) fn take_output_of(&self, event: &OwnedFd) -> Result<()> {
        // SAFETY: takes two descriptors and touches no memory of this process.
        let done = unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, self.event) };
        if done == 0 { Ok(()) } else { Err(last_errno()) }
    }

    /// Copies all complete records into `buffer` and frees their space in the ring. The previous content of `buffer` is
    /// dropped.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>) {
        buffer.clear();
        let size = DATA_PAGES * self.page;
        // SAFETY: both words lie in the header page, are aligned, and the kernel changes them only as whole words.
        let (head, tail) = unsafe {
            let position = |offset| &*self.start.add(offset).cast::<AtomicU64>();
            (position(HEAD_OFFSET), position(TAIL_OFFSET))
        };
        let (to, from) = (head.load(Ordering::Acquire), tail.load(Ordering::Relaxed));
        let length = (to.wrapping_sub(from) as usize).min(size);
        let first = (from as usize) % size;
        let whole = length.min(size - first);
        // SAFETY: the kernel writes no byte between the two positions until the reader's position moves on.
        unsafe {
            let data = self.start.add(self.page);
            buffer.extend_from_slice(std::slice::from_raw_parts(data.add(first), whole));
            buffer.extend_from_slice(std::slice::from_raw_parts(data, length - whole));
        }
        fence(Ordering::AcqRel);
        tail.store(to, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: unmaps the memory that `new` mapped; no reference to it outlives a method call.
        unsafe { libc::munmap(self.start.cast(), (1 + DATA_PAGES) * self.page) };
    }
}
