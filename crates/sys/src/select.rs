//! select(2) over bit arrays of any width. The C library's `fd_set` has no room for descriptors above 1023, but the
//! kernel reads as many 64-bit words as the highest descriptor needs. Source: pselect6 in the kernel's fs/select.c.

use std::os::fd::RawFd;

use crate::Result;

/// A set of descriptor numbers.
#[derive(Clone, Debug, Default)]
pub struct FdSet {
    words: Vec<u64>,
}

impl FdSet {
    /// Adds a descriptor to the set. A negative descriptor number is ignored.
    #[inline]
    pub fn insert(&mut self, fd: RawFd) {
        let Ok(at) = usize::try_from(fd) else { return };
        if at / 64 >= self.words.len() {
            self.words.resize(at / 64 + 1, 0);
        }
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Removes a descriptor from the set.
    #[inline]
    pub fn remove(&mut self, fd: RawFd) {
        if let Ok(at) = usize::try_from(fd)
            && let Some(word) = self.words.get_mut(at / 64)
        {
            *word &= !(1 << (at % 64));
        }
    }

    /// Returns true if descriptor `fd` is in the set.
    #[inline]
    pub fn contains(&self, fd: RawFd) -> bool {
        usize::try_from(fd).is_ok_and(|at| self.word(at / 64) & (1 << (at % 64)) != 0)
    }

    /// Returns word `at` of the set: descriptors `64 * at` to `64 * at + 63`, lowest bit first. Words beyond the end
    /// are 0.
    #[inline]
    pub fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// Makes this set a copy of `other`, at least `highest + 1` bits wide. Allocates memory only if the set must grow.
    pub fn copy_from(&mut self, other: &Self, highest: RawFd) {
        self.words.clear();
        self.words.extend_from_slice(&other.words);
        let needed = usize::try_from(highest).map_or(0, |h| h / 64 + 1);
        if self.words.len() < needed {
            self.words.resize(needed, 0);
        }
    }

    fn pointer(&mut self, bits: usize) -> *mut u64 {
        if self.words.len() * 64 < bits {
            self.words.resize(bits.div_ceil(64), 0);
        }
        self.words.as_mut_ptr()
    }
}

/// Waits until a descriptor up to `highest` in the sets is ready, for at most `timeout_ns` nanoseconds (`None`: no
/// limit). After the call, only ready descriptors are in the sets, and the result is the number of their bits. A signal
/// ends the wait with the result 0 and leaves the sets unchanged. A number that is not open makes the whole call fail
/// with EBADF.
pub fn select(
    highest: RawFd,
    read: &mut FdSet,
    write: &mut FdSet,
    except: &mut FdSet,
    timeout_ns: Option<u64>,
) -> Result<usize> {
    let bits = usize::try_from(highest).map_or(0, |h| h + 1);
    let mut timeout = timeout_ns.map(crate::timespec);
    let timeout = timeout.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    let (read, write, except) = (read.pointer(bits), write.pointer(bits), except.pointer(bits));
    // SAFETY: each set is valid for `bits` bits rounded up to whole words, which is the memory that the kernel reads
    // and writes. The timeout is null or points to a timespec that lives until the end of this function. No signal mask
    // is passed.
    let n = unsafe {
        libc::syscall(libc::SYS_pselect6, bits as libc::c_int, read, write, except, timeout, std::ptr::null::<u8>())
    };
    crate::ready(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::{AsRawFd, OwnedFd};

    #[test]
    fn works_beyond_descriptor_1023() {
        crate::limits::raise_descriptors().unwrap();
        let (a, mut b) = std::os::unix::net::UnixStream::pair().unwrap();
        let Ok(high) = rustix::io::fcntl_dupfd_cloexec(&a, 3000) else {
            return testkit::skip("works_beyond_descriptor_1023", "fewer than 3000 descriptors allowed");
        };
        let high: OwnedFd = high;
        let fd = high.as_raw_fd();
        let (mut read, mut write, mut except) = (FdSet::default(), FdSet::default(), FdSet::default());
        read.insert(fd);
        assert_eq!(select(fd, &mut read, &mut write, &mut except, Some(0)), Ok(0));
        b.write_all(b"x").unwrap();
        read.insert(fd);
        assert_eq!(select(fd, &mut read, &mut write, &mut except, None), Ok(1));
        assert!(read.contains(fd) && !read.contains(fd - 1));
        read.remove(fd);
        assert!(!read.contains(fd) && !read.contains(-1));
    }
}
