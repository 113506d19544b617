//! State that all client connections of a proxy thread share: the event queue, the role of each descriptor, and unused
//! upstream connections.

use std::os::fd::RawFd;
use std::sync::Arc;

use event::Mask;
use sys::{clock, socket};

use super::end::{End, Read};
use super::settings::Settings;
use super::watch::Queue;
use crate::stats::Cell;

/// Role of a descriptor in the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    None,
    Listener,
    Waker,
    Client(u32),
    Upstream(u32),
    Kept,
}

/// State of a proxy thread that all pairs of this thread use. A pair is a client connection with its upstream
/// connection.
pub(super) struct Io {
    pub(super) queue: Queue,
    roles: Vec<Role>,
    kept: Vec<End>,
    pub(super) level: bool,
    pub(super) settings: Arc<Settings>,
    pub(super) cell: Arc<Cell>,
    pub(super) buffer: Vec<u8>,
    pub(super) now_ms: u64,
    /// Number of upstream connections that are currently paired with a client's connection.
    pub(super) attached: usize,
    /// Number of requests that were sent a second time because the upstream server had closed a kept connection.
    pub(super) repeated: u64,
}

impl Io {
    pub(super) fn new(queue: Queue, settings: Arc<Settings>, cell: Arc<Cell>) -> Self {
        Self {
            queue,
            roles: Vec::new(),
            kept: Vec::new(),
            level: settings.events.backend.spec().level,
            buffer: vec![0; settings.read_bytes],
            settings,
            cell,
            now_ms: clock::monotonic_ns() / 1_000_000,
            attached: 0,
            repeated: 0,
        }
    }

    #[inline]
    pub(super) fn sent(&self, bytes: usize) {
        self.cell.bytes_out.add(bytes as u64);
    }

    #[inline]
    pub(super) fn received(&self, bytes: usize) {
        self.cell.bytes_in.add(bytes as u64);
    }

    pub(super) fn refused(&self, status: u16) {
        if status >= 500 { self.cell.refused.add(1) } else { self.cell.faults.add(1) }
    }

    pub(super) fn set_role(&mut self, fd: RawFd, role: Role) {
        let at = fd as usize;
        if at >= self.roles.len() {
            self.roles.resize((at + 1).next_power_of_two(), Role::None);
        }
        self.roles[at] = role;
    }

    pub(super) fn role(&self, fd: RawFd) -> Role {
        self.roles.get(fd as usize).copied().unwrap_or_default()
    }

    pub(super) fn declare(&mut self, end: &mut End, mask: Mask) -> Result<(), ()> {
        self.queue.declare(end, mask).map_err(drop)
    }

    /// Reads from a socket once, into the shared buffer. If no data is left in the socket, reports to the event queue
    /// that everything was read.
    #[inline]
    pub(super) fn read(&mut self, end: &mut End) -> Read {
        let read = end.read(&mut self.buffer);
        if !end.readable {
            self.queue.drained(end.fd());
        }
        read
    }

    /// Takes an unused upstream connection that, according to the events so far, is still open.
    pub(super) fn take_kept(&mut self) -> Option<End> {
        self.kept.pop()
    }

    /// Keeps an upstream connection for a later request.
    pub(super) fn keep(&mut self, mut end: End) {
        if end.readable
            || self.kept.len() >= self.settings.pool
            || self.level && self.declare(&mut end, Mask::READ).is_err()
        {
            return self.drop_end(end);
        }
        self.set_role(end.fd(), Role::Kept);
        self.kept.push(end);
    }

    /// Starts a new upstream connection. The caller sets the role of the descriptor later, when the connection belongs
    /// to a client's connection (a pair).
    pub(super) fn connect(&mut self) -> Result<End, ()> {
        let to = self.settings.upstream;
        let fd = socket::tcp(to).map_err(drop)?;
        let _ = socket::set_nodelay(&fd, true);
        if let Some(bytes) = self.settings.upstream_buffer {
            // The receive buffer must be set before `connect`, because the SYN packet announces the receive window to
            // the server.
            let _ = socket::set_recv_buffer(&fd, bytes);
        }
        socket::connect(&fd, to).map_err(drop)?;
        Ok(End::new(fd, false))
    }

    /// Closes a socket.
    pub(super) fn drop_end(&mut self, end: End) {
        self.set_role(end.fd(), Role::None);
        self.queue.forget(end.fd());
    }

    /// Drops an unused upstream connection that has become readable. The upstream server has closed the connection, or
    /// has sent bytes that were not requested.
    pub(super) fn drop_kept(&mut self, fd: RawFd) {
        if let Some(at) = self.kept.iter().position(|end| end.fd() == fd) {
            let end = self.kept.swap_remove(at);
            self.drop_end(end);
        }
    }
}
