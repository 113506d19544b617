//! epoll(7): the kernel stores the watched descriptors, and keeps a list of the ready ones. The Windows study (Jones
//! and Deshpande, 2000) has no model that corresponds to epoll. All other I/O models are compared with the epoll
//! models.
//!
//! `epoll` is level-triggered, with one listening socket for all threads (with EPOLLEXCLUSIVE, a new connection does
//! not wake all threads). `epoll-et` is edge-triggered. `epoll-sharded` has one listening socket per thread.
//!
//! Cost of an event: one recv, one send, and a part of one epoll_wait, which several events share. The call epoll_ctl
//! runs once per connection, and again when a send buffer is full.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use sys::epoll::{Epoll, Events, Interest};

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{LISTENER, Readiness, Ready, Worker};

/// Maximum number of events per epoll_wait.
const BATCH: usize = 1024;

pub(super) fn level(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start::<false>(launch, false)
}

pub(super) fn edge(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start::<true>(launch, false)
}

pub(super) fn sharded(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    start::<false>(launch, true)
}

fn start<const EDGE: bool>(launch: &Launch<'_>, own: bool) -> Result<SocketAddr, ServeError> {
    let threads = launch.plan.threads.max(1);
    let (listeners, addr) = launch.listen(threads, own)?;
    for listener in listeners {
        let shard = launch.shard(Some(listener))?;
        launch.control.spawn("epoll", || {
            let poller = Poller::<EDGE>::new().map_err(|e| ServeError::os("make an epoll instance", e))?;
            Worker::new(shard, poller).run()
        })?;
    }
    Ok(addr)
}

struct Poller<const EDGE: bool> {
    epoll: Epoll,
    events: Events,
}

impl<const EDGE: bool> Poller<EDGE> {
    fn new() -> sys::Result<Self> {
        Ok(Self { epoll: Epoll::new()?, events: Events::with_capacity(BATCH) })
    }

    fn interest(token: u32, want: Want) -> Interest {
        if token == LISTENER {
            // Several epoll instances may watch one listening socket. With EPOLLEXCLUSIVE, a new connection does not
            // wake all threads that wait on these instances.
            return Interest::IN | Interest::EXCLUSIVE;
        }
        if EDGE {
            return Interest::IN | Interest::OUT | Interest::RDHUP | Interest::ET;
        }
        let mut interest = Interest::empty();
        interest.set(Interest::IN, want.read);
        interest.set(Interest::OUT, want.write);
        interest
    }
}

impl<const EDGE: bool> Readiness for Poller<EDGE> {
    const EDGE: bool = EDGE;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        self.epoll.add(fd, u64::from(token), Self::interest(token, want))
    }

    fn change(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        if EDGE { Ok(()) } else { self.epoll.modify(fd, u64::from(token), Self::interest(token, want)) }
    }

    /// Stops watching the listening socket, and does nothing for other sockets. The kernel removes a socket from the
    /// epoll instance when the socket is closed.
    fn remove(&mut self, fd: BorrowedFd<'_>, token: u32) {
        if token == LISTENER {
            let _ = self.epoll.delete(fd);
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        self.epoll.wait(&mut self.events, timeout_ns)?;
        const GONE: Interest = Interest::RDHUP.union(Interest::HUP).union(Interest::ERR);
        ready.extend(self.events.iter().map(|e| Ready {
            token: e.token as u32,
            read: e.flags.contains(Interest::IN),
            gone: e.flags.intersects(GONE),
        }));
        Ok(())
    }
}
