//! Page-aligned memory that the kernel accesses directly: send slots, receive buffers, the buffer ring.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::Result;

static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of bytes that all rings of this process map for slots and buffers. Most of these bytes use no
/// physical memory, because the kernel allocates a page only when it is first accessed.
pub fn mapped_bytes() -> u64 {
    MAPPED.load(Relaxed)
}

/// Anonymous, zeroed, page-aligned memory, unmapped on drop.
#[derive(Debug)]
pub(super) struct Memory {
    base: NonNull<u8>,
    len: usize,
}

impl Memory {
    /// Maps `len` bytes (at least one page). The kernel allocates a page on first access.
    pub(super) fn map(len: usize) -> Result<Self> {
        let len = len.max(4096).next_multiple_of(4096);
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the kernel chooses touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => {
                MAPPED.fetch_add(len as u64, Relaxed);
                Ok(Self { base, len })
            }
            _ => Err(crate::last_errno()),
        }
    }

    /// Returns the address of the byte at `offset`. The caller ensures `offset < len`.
    #[inline]
    pub(super) fn address_of(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.len);
        self.base.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `map` mapped exactly this range, and no reference to the range is left. Every returned slice borrows
        // the owner, and the ring cancels the kernel's operations before it releases the memory.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        MAPPED.fetch_sub(self.len as u64, Relaxed);
    }
}
