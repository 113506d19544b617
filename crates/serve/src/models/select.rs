//! select(2) over bit sets of any size: the non-blocking server of the Windows study (Jones and Deshpande, 2000), with
//! the descriptor sets of Linux. The model has one thread.
//!
//! On Windows, descriptor sets are arrays, which are searched entry by entry. The model `select-array` also uses
//! arrays, and the cost of an event includes searching them. On Linux, descriptor sets are bit sets: testing a bit
//! costs almost nothing, and the kernel scans the sets.
//!
//! Cost of an event: a share of the time to copy the bit sets and to scan them up to the highest descriptor. All events
//! of one wake-up share one copy and one scan of the bit sets.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use sys::select::{FdSet, select};

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{Readiness, Ready};

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    launch.one_thread("select", Sets::default)
}

#[derive(Default)]
struct Sets {
    read: FdSet,
    write: FdSet,
    found_read: FdSet,
    found_write: FdSet,
    none: FdSet,
    /// Token of each descriptor number.
    tokens: Vec<u32>,
    highest: RawFd,
}

impl Sets {
    fn ask(&mut self, fd: RawFd, want: Want) {
        for (set, on) in [(&mut self.read, want.read), (&mut self.write, want.write)] {
            if on { set.insert(fd) } else { set.remove(fd) }
        }
    }
}

impl Readiness for Sets {
    const EDGE: bool = false;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        let fd = fd.as_raw_fd();
        let at = usize::try_from(fd).unwrap_or_default();
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, 0);
        }
        self.tokens[at] = token;
        self.highest = self.highest.max(fd);
        self.ask(fd, want);
        Ok(())
    }

    fn change(&mut self, fd: BorrowedFd<'_>, _token: u32, want: Want) -> sys::Result<()> {
        self.ask(fd.as_raw_fd(), want);
        Ok(())
    }

    fn remove(&mut self, fd: BorrowedFd<'_>, _token: u32) {
        self.ask(fd.as_raw_fd(), Want::default());
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        self.found_read.copy_from(&self.read, self.highest);
        self.found_write.copy_from(&self.write, self.highest);
        let n = select(self.highest, &mut self.found_read, &mut self.found_write, &mut self.none, timeout_ns)?;
        if n == 0 {
            return Ok(());
        }
        for word in 0..=self.highest as usize / 64 {
            let (read, write) = (self.found_read.word(word), self.found_write.word(word));
            let mut bits = read | write;
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // A broken connection is reported as readable, and the next read returns the error.
                ready.push(Ready { token: self.tokens[word * 64 + bit], read: read >> bit & 1 != 0, gone: false });
            }
        }
        Ok(())
    }
}
