//! The explicit event API (G. Banga, J. Mogul, P. Druschel, USENIX 1999): a program declares its interest in a
//! descriptor once, and takes events from a queue. The crate `event` implements the event API on a chosen backend
//! (`--events epoll|uring|poll|select`). Each thread has its own event queue and its own listening socket.
//!
//! Cost of an event: one recv, one send, and a part of one get_next_event, which several events share. The backends
//! poll and select also scan all descriptors in every wait.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use event::{Backend, Event, EventQueue, Mask};
use sys::Errno;

use super::launch::Launch;
use crate::ServeError;
use crate::ready::Want;
use crate::ready::{LISTENER, Readiness, Ready, Worker};

/// Maximum number of events per get_next_event.
const BATCH: usize = 256;

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let name: String = launch.options.get("events")?.unwrap_or_else(|| "epoll".into());
    let backend = Backend::named(&name).map_err(|e| ServeError::Combination(e.to_string()))?;
    // The queue created here only tests whether the kernel allows the backend. Each thread creates its own event queue.
    EventQueue::new(backend).map_err(|e| ServeError::Combination(e.to_string()))?;
    let threads = launch.plan.threads.max(1);
    let (listeners, addr) = launch.listen(threads, threads > 1)?;
    for listener in listeners {
        let shard = launch.shard(Some(listener))?;
        launch.control.spawn("event", move || {
            let queue = EventQueue::new(backend).map_err(|e| ServeError::Combination(e.to_string()))?;
            if backend.spec().level {
                Worker::new(shard, Poller::<false>::new(queue)).run()
            } else {
                Worker::new(shard, Poller::<true>::new(queue)).run()
            }
        })?;
    }
    Ok(addr)
}

struct Poller<const EDGE: bool> {
    queue: EventQueue,
    events: Vec<Event>,
    tokens: Vec<u32>,
    /// Descriptor of the listening socket, if the last wait reported an event for it. After accepting, the thread
    /// declares interest in the listening socket again. The thread accepts only a limited number of connections per
    /// wake-up, so further connections may still wait in the accept queue.
    listener: Option<RawFd>,
}

impl<const EDGE: bool> Poller<EDGE> {
    fn new(queue: EventQueue) -> Self {
        Self { queue, events: vec![Event::default(); BATCH], tokens: Vec::new(), listener: None }
    }

    fn declare(&mut self, fd: RawFd, token: u32, want: Want) -> sys::Result<()> {
        let mut mask = if want.read { Mask::READ } else { Mask::NONE };
        if want.write {
            mask |= Mask::WRITE;
        }
        if EDGE && token != LISTENER {
            mask = Mask::READ | Mask::WRITE;
        }
        self.queue.declare_interest(fd, mask, false).map(drop).map_err(|e| Errno::from_raw_os_error(e.errno()))
    }
}

impl<const EDGE: bool> Readiness for Poller<EDGE> {
    const EDGE: bool = EDGE;

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        let number = fd.as_raw_fd();
        if self.tokens.len() <= number as usize {
            self.tokens.resize(number as usize + 1, 0);
        }
        self.tokens[number as usize] = token;
        self.declare(number, token, want)
    }

    fn change(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()> {
        if EDGE { Ok(()) } else { self.declare(fd.as_raw_fd(), token, want) }
    }

    fn remove(&mut self, fd: BorrowedFd<'_>, _token: u32) {
        if self.listener == Some(fd.as_raw_fd()) {
            self.listener = None;
        }
        self.queue.forget(fd.as_raw_fd());
    }

    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()> {
        if let Some(fd) = self.listener.take() {
            self.declare(fd, LISTENER, Want { read: true, write: false })?;
        }
        let count = self
            .queue
            .get_next_event(&mut self.events, timeout_ns.map(Duration::from_nanos))
            .map_err(|e| Errno::from_raw_os_error(e.errno()))?;
        for event in &self.events[..count] {
            let token = self.tokens.get(event.fd as usize).copied().unwrap_or(LISTENER);
            if EDGE && token == LISTENER {
                self.listener = Some(event.fd);
            }
            ready.push(Ready { token, read: event.mask.is_read(), gone: event.ended() });
        }
        Ok(())
    }
}
