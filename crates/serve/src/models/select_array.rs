//! The non-blocking server of the Windows study (Jones and Deshpande, 2000), as in its sample code: select with sets
//! that are arrays of descriptors. The model has one thread.
//!
//! FD_SET searches the array entry by entry to avoid duplicates, and FD_ISSET also searches the array. Before every
//! wait, each socket is put into all three sets (read, write, exceptional). After the wait, each socket is looked up in
//! all three sets. The time for the searches grows with the square of the number of connections.
//!
//! Almost every socket can be written at any time, so each wait ends immediately. While clients are connected, the
//! thread never sleeps. Only one connection is accepted after each wait, so accepting becomes slower as the number of
//! connections grows. With the option `accept_all`, all waiting connections are accepted, and only the cost of the
//! searches remains.
//!
//! The call poll(2) takes the place of the kernel's select, and scans the list of sockets. The searches of the
//! descriptor arrays run in this process.
//!
//! Cost of a wait with n connections: n searches to build each of the three sets, and n searches of each set for the
//! ready entries. Each search of an array covers up to n entries. All connections that are ready after a wait share the
//! cost of this wait. Under load, most connections are ready.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use sys::poll::{self, Entry};

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{Readiness, Ready, WAKER};

/// Events that poll(2) reports even if they were not requested.
const BROKEN: i16 = poll::ERR | poll::HUP | poll::NVAL;

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let accept_all = launch.options.on("accept_all")?;
    launch.one_thread("select-array", move || Arrays { accept_all, ..Arrays::default() })
}

/// Descriptor set as on Windows: an array of descriptors.
#[derive(Default)]
struct FdArray(Vec<RawFd>);

impl FdArray {
    /// FD_ISSET: compares one entry after another, as Windows does. (The method `contains` of slices would compare
    /// several entries at the same time, but Windows compares one after another.)
    #[inline(never)]
    fn is_set(&self, fd: RawFd) -> bool {
        for entry in &self.0 {
            if *entry == fd {
                return true;
            }
        }
        false
    }

    /// FD_SET: adds a descriptor unless the set already contains it.
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
    except: FdArray,
    list: Vec<Entry>,
    accept_all: bool,
}

impl Arrays {
    fn place(&self, token: u32) -> Option<usize> {
        self.sockets.iter().position(|s| s.1 == token)
    }

    fn sets(&mut self) -> [(&mut FdArray, i16); 3] {
        [(&mut self.read, poll::IN), (&mut self.write, poll::OUT), (&mut self.except, poll::PRI)]
    }

    /// Empties the sets (FD_ZERO) and fills them again (FD_SET). The write set and the exception set get every socket.
    /// The read set gets the sockets from which the server wants to read now (see [`Want`]).
    fn fill(&mut self) {
        self.sets().into_iter().for_each(|(set, _)| set.0.clear());
        self.list.clear();
        for (fd, token, want) in &self.sockets {
            let mut asked = 0;
            if want.read {
                self.read.set(*fd);
                asked |= poll::IN;
            }
            // The waker is not a socket, and can be written to at any time. Only the set of descriptors to read
            // contains the waker.
            if *token != WAKER {
                self.write.set(*fd);
                self.except.set(*fd);
                asked |= poll::OUT | poll::PRI;
            }
            // All three sets share one entry per descriptor in the list. The call poll(2) refuses a list with more
            // entries than the limit on open descriptors.
            self.list.push(Entry::new(*fd, asked));
        }
    }

    /// Leaves only the ready sockets in the sets, as select() does. A socket with an error counts as ready in every set
    /// that contains the socket.
    fn select(&mut self, timeout_ns: Option<u64>) -> sys::Result<()> {
        self.sets().into_iter().for_each(|(set, _)| set.0.clear());
        let mut list = std::mem::take(&mut self.list);
        poll::poll(&mut list, timeout_ns)?;
        for entry in list.iter().filter(|e| e.found() != 0) {
            let found = if entry.found() & BROKEN == 0 { entry.found() } else { entry.requested() };
            self.sets().into_iter().filter(|(_, event)| found & event != 0).for_each(|(set, _)| set.0.push(entry.fd()));
        }
        self.list = list;
        Ok(())
    }
}

impl Readiness for Arrays {
    const EDGE: bool = false;

    fn accepts(&self) -> u32 {
        if self.accept_all { u32::MAX } else { 1 }
    }

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
        self.fill();
        self.select(timeout_ns)?;
        for (fd, token, want) in &self.sockets {
            let (read, write) = (self.read.is_set(*fd), self.write.is_set(*fd));
            let gone = self.except.is_set(*fd);
            // A socket is reported as writable only if its connection has output.
            if read || gone || (write && want.write) {
                ready.push(Ready { token: *token, read, gone });
            }
        }
        Ok(())
    }
}
