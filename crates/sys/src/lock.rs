//! Exclusive locks on open files. A lock ends when its process ends, for whatever reason. Source: flock(2).
//!
//! Files in /proc and in the control group file system can be locked, too, for example `/proc/PID/stat` or the
//! `cpu.max` of a control group. All users of a host see the locks on these files. A container with its own mount of
//! /proc does not see the locks on files in the host's /proc.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};

use crate::{Errno, Result};

/// Locks a file until it is closed. Returns false if the file is already locked through another open file description,
/// in this process or in another one.
pub fn try_exclusive(file: &File) -> Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_kernel_has_one_lock_until_it_is_closed() {
        let open = || File::open("/proc/self/stat").unwrap();
        let (first, second) = (open(), open());
        assert_eq!(try_exclusive(&first), Ok(true));
        assert_eq!(try_exclusive(&second), Ok(false));
        drop(first);
        assert_eq!(try_exclusive(&second), Ok(true));
    }
}
