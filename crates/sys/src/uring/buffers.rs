//! Receive buffers: for each receive, the kernel chooses one of them (a provided buffer ring). Source:
//! io_uring_register_buf_ring(3); linux/io_uring.h `struct io_uring_buf_ring`.

use std::rc::Rc;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::memory::Memory;
use crate::{Errno, Result};

/// Number of the buffer group. A ring has only one buffer group.
pub(super) const GROUP: u16 = 0;

/// ID of a buffer that the kernel has filled. The program owns the buffer until it returns the buffer to the kernel.
/// The ID cannot be copied, so no buffer is returned twice.
#[derive(Debug)]
pub struct BufferId(pub(super) u16);

/// The receive buffers of one ring.
#[derive(Debug)]
pub struct Buffers {
    pub(super) ring: Rc<Memory>,
    pub(super) data: Rc<Memory>,
    count: u16,
    bytes: usize,
    tail: u16,
    /// Index of the first buffer that was never given to the kernel.
    untouched: u16,
    /// Number of buffers returned to the kernel since [`Buffers::returned`] was last called.
    returned: u32,
}

impl Buffers {
    /// Maps `count` buffers (rounded up to a power of two, at most 32768) of `bytes` each, and gives the first `first`
    /// to the kernel. The kernel fills the buffers one after another, so a small number of buffers stays in the CPU's
    /// caches. [`Buffers::more`] gives more buffers to the kernel.
    pub(super) fn new(count: u16, first: u16, bytes: u32) -> Result<Self> {
        let count = count.clamp(1, 1 << 15).next_power_of_two();
        let bytes = bytes.max(64) as usize;
        let ring = Rc::new(Memory::map(usize::from(count) * size_of::<BufRingEntry>())?);
        let data = Rc::new(Memory::map(usize::from(count) * bytes)?);
        let mut buffers = Self { ring, data, count, bytes, tail: 0, untouched: 0, returned: 0 };
        buffers.hand_over(first.clamp(1, count));
        buffers.publish();
        Ok(buffers)
    }

    /// Doubles the number of buffers given to the kernel. Returns false if the kernel already has all buffers. Call
    /// this method after a receive found no buffer.
    pub fn more(&mut self) -> bool {
        let n = self.untouched.min(self.count - self.untouched);
        self.hand_over(n);
        n > 0
    }

    /// Returns the number of buffers given to the kernel so far.
    pub fn handed_over(&self) -> u16 {
        self.untouched
    }

    fn hand_over(&mut self, n: u16) {
        let from = self.untouched;
        self.untouched += n;
        (from..from + n).for_each(|id| self.recycle(BufferId(id)));
        self.returned = self.returned.saturating_sub(u32::from(n));
    }

    /// Returns the number of buffers returned to the kernel since this function was last called.
    pub fn returned(&mut self) -> u32 {
        std::mem::take(&mut self.returned)
    }

    /// Returns the size of one buffer in bytes.
    pub fn buffer_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the first `len` bytes of a filled buffer.
    #[inline]
    pub fn bytes(&self, id: &BufferId, len: usize) -> &[u8] {
        let len = len.min(self.bytes);
        // SAFETY: only completions of this ring create IDs, and `count` is the size of its buffer group. The kernel
        // does not touch a buffer from the completion that names the buffer until `recycle` takes the ID, which
        // requires `&mut self`. The memory is mapped, initialised (zeroed) and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.data.address_of(usize::from(id.0 % self.count) * self.bytes), len) }
    }

    /// Returns a buffer to the kernel. The kernel can use the buffer only after [`Buffers::publish`].
    #[inline]
    pub fn recycle(&mut self, id: BufferId) {
        let at = usize::from(self.tail & (self.count - 1));
        let addr = self.data.address_of(usize::from(id.0 % self.count) * self.bytes);
        // SAFETY: the entry lies inside the mapped ring (at < count) and is aligned (page-aligned base, 16-byte
        // entries). The kernel does not read entries at or behind the published tail. The setters of an entry do not
        // write the field `resv` of entry 0, which is the tail.
        let entry = unsafe { &mut *self.ring.address_of(at * size_of::<BufRingEntry>()).cast::<BufRingEntry>() };
        entry.set_addr(addr as u64);
        entry.set_len(self.bytes as u32);
        entry.set_bid(id.0);
        self.tail = self.tail.wrapping_add(1);
        self.returned = self.returned.saturating_add(1);
    }

    /// Makes all returned buffers visible to the kernel.
    #[inline]
    pub fn publish(&mut self) {
        // SAFETY: the base is a valid, page-aligned pointer to the first entry of the ring, as `tail` requires. The
        // kernel reads the tail with acquire semantics, so the store is atomic, with the same size and alignment.
        unsafe {
            let tail = BufRingEntry::tail(self.ring.address_of(0).cast::<BufRingEntry>());
            (*tail.cast::<AtomicU16>()).store(self.tail, Ordering::Release);
        }
    }

    pub(super) fn register(&self, ring: &io_uring::IoUring) -> Result<()> {
        // SAFETY: the address of the buffer ring is page-aligned, and memory for `count` entries is mapped there. The
        // ring shares ownership of the memory and outlives it.
        let r = unsafe {
            ring.submitter().register_buf_ring_with_flags(self.ring.address_of(0) as u64, self.count, GROUP, 0)
        };
        r.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::INVAL))
    }
}
