//! Page-aligned memory that the kernel accesses by itself: send slots, receive buffers, the buffer ring.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Result;

static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes mapped now for slots and buffers of all rings of this process. Most are not resident, because
/// pages are allocated on first access.
pub fn mapped_bytes() -> u64 {
    MAPPED.load(Relaxed)
}

/// Anonymous, zeroed, page-aligned memory; unmapped when dropped.
#[derive(Debug)]
pub(super) struct Memory {
    base: NonNull<u8>,
    len: usize,
}

impl Memory {
    /// Maps `len` bytes (at least one page); the system allocates pages on first access.
    pub(super) fn map(len: usize) -> Result<Self> {
        let len = len.max(4096).next_multiple_of(4096);
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
                MAPPED.fetch_add(len as u64, Relaxed);
                Ok(Self { base, len })
            }
            _ => Err(crate::last_errno()),
        }
    }

    /// Returns the address of a byte. The caller ensures `offset < len`.
    #[inline]
    pub(super) fn address_of(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.len);
        self.base.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: exactly this range was mapped by `map` and nothing borrows from it any more. Every slice handed out
        // borrows the owner, and the ring cancels the kernel's operations before it releases the memory.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        MAPPED.fetch_sub(self.len as u64, Relaxed);
    }
}
