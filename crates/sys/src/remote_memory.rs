//! Memory of another process, read without stopping that process. The kernel permits the read if the caller may trace
//! the other process. Source: process_vm_readv(2).

use crate::{Errno, Result};

/// Reads memory of process `pid` from `address` on into `buffer`. Returns the number of bytes read, which is smaller
/// than the buffer if the mapping ends earlier.
pub fn read(pid: u32, address: u64, buffer: &mut [u8]) -> Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno::SRCH)?;
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`, and only reads from the other process.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| crate::last_errno())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_this_process_is_read_and_a_bad_address_is_an_error() {
        let text = *b"remote memory";
        let mut copy = [0_u8; 13];
        assert_eq!(read(std::process::id(), text.as_ptr() as u64, &mut copy), Ok(13));
        assert_eq!(copy, text);
        assert_eq!(read(std::process::id(), 8, &mut copy), Err(Errno::FAULT));
        assert_eq!(read(u32::MAX, 8, &mut copy), Err(Errno::SRCH));
    }
}
