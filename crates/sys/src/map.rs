//! Memory-mapped files, and private memory. Source: mmap(2).
//!
//! If another program shortens a file while it is mapped, an access to a page beyond the new end kills the reader with
//! SIGBUS. The definition of mmap(2) requires the signal SIGBUS, and this module cannot prevent it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use crate::{Errno, Result, last_errno};

/// Size of a page in bytes.
pub const PAGE_BYTES: usize = 4096;

/// Mapped memory, private or of a file.
#[derive(Debug)]
pub struct Map {
    base: NonNull<u8>,
    len: usize,
    writable: bool,
}

// SAFETY: only this value owns the mapping, which is unmapped on drop. The bytes are accessed only through raw pointers
// and never handed out as references.
unsafe impl Send for Map {}

impl Map {
    /// Maps the first `len` bytes of a file. The map is shared, so writes reach the file. Fails if `len` is 0.
    pub fn file(file: &File, len: usize, writable: bool) -> Result<Self> {
        Self::new(len, writable, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Maps private zeroed memory.
    pub fn private(len: usize) -> Result<Self> {
        Self::new(len, true, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    fn new(len: usize, writable: bool, flags: i32, fd: i32) -> Result<Self> {
        if len == 0 {
            return Err(Errno::INVAL);
        }
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address that the kernel chooses touches no existing memory.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { base, len, writable }),
            _ => Err(last_errno()),
        }
    }

    /// Returns the number of mapped bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always returns false, because a map has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the byte at `at`. Returns 0 if `at` is beyond the end of the map.
    #[inline]
    pub fn get(&self, at: usize) -> u8 {
        if at >= self.len {
            return 0;
        }
        // SAFETY: `at` lies inside the mapping, which lives as long as `self`. The read is volatile, because other
        // processes may write the byte.
        unsafe { self.base.as_ptr().add(at).read_volatile() }
    }

    /// Sets the byte at `at`. Does nothing if `at` is beyond the end of the map, or if the map is read-only.
    #[inline]
    pub fn set(&mut self, at: usize, byte: u8) {
        if at < self.len && self.writable {
            // SAFETY: `at` lies inside the mapping, which is writable and lives as long as `self`.
            unsafe { self.base.as_ptr().add(at).write_volatile(byte) }
        }
    }

    /// Copies bytes of the map from `at` on into `into`, until the map or `into` ends. Returns the number of copied
    /// bytes.
    pub fn copy_to(&self, at: usize, into: &mut [u8]) -> usize {
        let n = into.len().min(self.len.saturating_sub(at));
        // SAFETY: `at + n` lies inside the mapping, and `into` is memory of the caller that cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(self.base.as_ptr().add(at.min(self.len)), into.as_mut_ptr(), n) };
        n
    }

    /// Copies bytes into the map starting at `at` and returns the number of copied bytes. Copies nothing beyond the end
    /// of the map, and nothing at all if the map is read-only.
    pub fn copy_from(&mut self, at: usize, from: &[u8]) -> usize {
        let n = if self.writable { from.len().min(self.len.saturating_sub(at)) } else { 0 };
        // SAFETY: `at + n` lies inside the writable mapping, and `from` is memory of the caller that cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.base.as_ptr().add(at.min(self.len)), n) };
        n
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: base and length describe the mapping, which is not used after this call.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_reads_and_writes_its_file() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &[7; 5000]).unwrap();
        let mut map = Map::file(&file, 5000, true).unwrap();
        assert_eq!((map.get(4999), map.get(5000)), (7, 0));
        map.set(1, 9);
        assert_eq!(map.copy_from(4998, b"abc"), 2);
        let mut bytes = [0; 4];
        assert_eq!(map.copy_to(4997, &mut bytes), 3);
        assert_eq!(&bytes, b"\x07ab\0");
        let mut read = vec![0; 5000];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 0).unwrap();
        assert_eq!((read[1], read[4999]), (9, b'b'));
        assert!(Map::file(&file, 0, false).is_err() && Map::private(PAGE_BYTES).is_ok());
    }
}
