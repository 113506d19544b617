//! select with sets that are arrays of descriptors, as on Windows: putting one in searches the array for it (FD_SET
//! refuses doubles), and asking whether one is in a set searches it again (FD_ISSET). The server asks for each of its
//! sockets after every wait, so the cost of a wait grows with the square of the connections: this is what ended the
//! source's non-blocking server at a throughput of zero. One thread.
//!
//! What the kernel does below is poll(2), a scan of the list; the searches are the model's own.
//!
//! Cost of a wait: n searches of up to n entries to build each set, n searches of the ready ones to read them.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use sys::poll::{self, Entry};

use super::Launch;
use crate::ServeError;
use crate::conn::Want;
use crate::ready::{Readiness, Ready};

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    launch.one_thread("select-array", Arrays::default)
}

/// The set of the original: a count and an array.
#[derive(Default)]
struct FdArray(Vec<RawFd>);

impl FdArray {
    fn is_set(&self, fd: RawFd) -> bool {
        self.0.contains(&fd)
    }

    fn set(&mut self, fd: RawFd) {
        if !self.is_set(fd) {
            self.0.push(fd);
        }
    }
}

#[derive(Default)]
struct Arrays {
    sockets: Vec<(RawFd, u32, Want)>,
    read: FdArray,
    write: FdArray,
    list: Vec<Entry>,
}

impl Arrays {
    fn place(&self, token: u32) -> Option<usize> {
        self.sockets.iter().position(|s| s.1 == token)
    }

    /// select(): leaves in the sets what is ready.
    fn select(&mut self, timeout_ns: Option<u64>) -> sys::Result<()> {
        self.list.clear();
        self.list.extend(self.read.0.iter().map(|fd| Entry::new(*fd, poll::IN)));
        self.list.extend(self.write.0.iter().map(|fd| Entry::new(*fd, poll::OUT)));
        let readers = self.read.0.len();
        poll::poll(&mut self.list, timeout_ns)?;
        self.read.0.clear();
        self.write.0.clear();
        for (at, entry) in self.list.iter().enumerate().filter(|(_, e)| e.found() != 0) {
            if at < readers { self.read.0.push(entry.fd()) } else { self.write.0.push(entry.fd()) }
        }
        Ok(())
    }
}

impl Readiness for Arrays {
    const EDGE: bool = false;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        self.sockets.push((fd.as_raw_fd(), token, want));
        Ok(())
    }

    fn change(&mut self, _fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        if let Some(at) = self.place(token) {
            self.sockets[at].2 = want;
        }
        Ok(())
    }

    fn remove(&mut self, _fd: BorrowedFd<'_>, token: u32) {
        if let Some(at) = self.place(token) {
            self.sockets.swap_remove(at);
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        self.read.0.clear();
        self.write.0.clear();
        for (fd, _, want) in &self.sockets {
            if want.read {
                self.read.set(*fd);
            }
            if want.write {
                self.write.set(*fd);
            }
        }
        self.select(timeout_ns)?;
        for (fd, token, _) in &self.sockets {
            let (read, write) = (self.read.is_set(*fd), self.write.is_set(*fd));
            if read || write {
                ready.push(Ready { token: *token, read, gone: false });
            }
        }
        Ok(())
    }
}
