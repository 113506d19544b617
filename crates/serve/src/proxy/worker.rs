//! A thread of the proxy: takes events, gives each pair its turn, watches the deadlines.
//!
//! With an edge-triggered back end a socket is declared once for reading and writing, and readiness is remembered;
//! with the level-triggered baselines interest follows what a pair waits for.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use event::{Event, EventQueue, Mask};
use sys::wake::Waker;
use sys::{Errno, clock, socket};

use super::end::End;
use super::pair::{Next, Pair, Phase};
use super::settings::Settings;
use super::timing::{CountingClock, Stopwatch};
use super::watch::Queue;
use crate::ServeError;
use crate::server::Control;
use crate::slab::Slab;
use crate::stats::Cell;

/// Connections accepted at one turn.
const BURST: u32 = 64;
/// How long a client may take to read its answer after our side has ended.
const LINGER_MS: u64 = 2000;
/// How long accepting rests when no descriptor is left.
const REST_MS: u64 = 100;

/// Whose a descriptor is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Role {
    #[default]
    None,
    Listener,
    Waker,
    Client(u32),
    Upstream(u32),
    Kept,
}

/// What pairs use of their thread.
pub(super) struct Io {
    queue: Queue,
    roles: Vec<Role>,
    kept: Vec<End>,
    level: bool,
    pub(super) settings: Arc<Settings>,
    pub(super) cell: Arc<Cell>,
    pub(super) buffer: Vec<u8>,
    pub(super) now_ms: u64,
    /// Requests sent once more because a kept connection was gone.
    pub(super) repeated: u64,
}

impl Io {
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

    fn set_role(&mut self, fd: RawFd, role: Role) {
        let at = fd as usize;
        if at >= self.roles.len() {
            self.roles.resize((at + 1).next_power_of_two(), Role::None);
        }
        self.roles[at] = role;
    }

    fn role(&self, fd: RawFd) -> Role {
        self.roles.get(fd as usize).copied().unwrap_or_default()
    }

    fn declare(&mut self, end: &mut End, mask: Mask) -> Result<(), ()> {
        self.queue.declare(end, mask).map_err(drop)
    }

    /// A kept upstream connection about which nothing bad is known.
    pub(super) fn take_kept(&mut self) -> Option<End> {
        self.kept.pop()
    }

    /// Keeps an upstream connection for the next request.
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

    /// A new upstream connection, in progress. Its role is given when its pair is settled.
    pub(super) fn connect(&mut self) -> Result<End, ()> {
        let to = self.settings.upstream;
        let fd = socket::tcp(to).map_err(drop)?;
        let _ = socket::set_nodelay(&fd, true);
        if let Some(bytes) = self.settings.upstream_buffer {
            // Before the connect, which announces the window that follows from it.
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
}

pub(super) struct Worker {
    io: Io,
    control: Arc<Control>,
    waker: Arc<Waker>,
    listener: Arc<OwnedFd>,
    accept: bool,
    rest_until_ms: Option<u64>,
    pairs: Slab<Box<Pair>>,
    serial: u32,
    again: Vec<u32>,
    /// Pairs with a deadline, one entry each, oldest first.
    deadlines: VecDeque<(u64, u32, u32)>,
    lingering: VecDeque<(u64, u32, u32)>,
}

impl Worker {
    pub(super) fn new(
        settings: Arc<Settings>,
        control: Arc<Control>,
        listener: Arc<OwnedFd>,
        waker: Arc<Waker>,
        clock: Option<Box<Stopwatch>>,
    ) -> Result<Self, ServeError> {
        let failed = |e: event::EventError| ServeError::Combination(e.to_string());
        let mut queue = EventQueue::with(settings.events).map_err(failed)?;
        queue.declare_interest(listener.as_raw_fd(), Mask::READ, false).map_err(failed)?;
        queue.declare_interest(waker.as_raw_fd(), Mask::READ, false).map_err(failed)?;
        let cell = control.cell();
        let counting = settings.timed.then(|| CountingClock::new(cell.clone()));
        let mut io = Io {
            queue: Queue::new(queue, clock, counting),
            roles: Vec::new(),
            kept: Vec::new(),
            level: settings.events.backend.spec().level,
            buffer: vec![0; settings.read_bytes],
            settings,
            cell,
            now_ms: clock::monotonic_ns() / 1_000_000,
            repeated: 0,
        };
        io.set_role(listener.as_raw_fd(), Role::Listener);
        io.set_role(waker.as_raw_fd(), Role::Waker);
        Ok(Self {
            io,
            control,
            waker,
            listener,
            accept: false,
            rest_until_ms: None,
            pairs: Slab::new(),
            serial: 0,
            again: Vec::new(),
            deadlines: VecDeque::new(),
            lingering: VecDeque::new(),
        })
    }

    pub(super) fn run(mut self) -> Result<(), ServeError> {
        let mut events = vec![Event::default(); self.io.settings.array];
        let mut again = Vec::new();
        while !self.control.stopping() {
            let timeout = self.timeout();
            let room = self.io.queue.room(events.len());
            let found = self.io.queue.next(&mut events[..room], timeout);
            let count = found.map_err(|e| ServeError::Combination(e.to_string()))?;
            self.io.now_ms = clock::monotonic_ns() / 1_000_000;
            for event in &events[..count] {
                self.event(event);
            }
            if self.accept {
                self.accept();
            }
            std::mem::swap(&mut again, &mut self.again);
            for place in again.drain(..) {
                if let Some(pair) = self.pairs.get(place) {
                    pair.again = false;
                    self.turn(place);
                }
            }
            self.timers();
        }
        Ok(())
    }

    fn timeout(&self) -> Option<Duration> {
        if self.accept || !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let first = |line: &VecDeque<(u64, u32, u32)>| line.front().map(|entry| entry.0);
        let due = [self.rest_until_ms, first(&self.deadlines), first(&self.lingering)].into_iter().flatten().min()?;
        // One more, so that the wait does not end just before the deadline.
        Some(Duration::from_millis(due.saturating_sub(self.io.now_ms) + 1))
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        // An event of a descriptor that was closed earlier in this batch and is another one by now.
        if !self.io.queue.is_current(event) {
            return;
        }
        match self.io.role(event.fd) {
            Role::None => {}
            Role::Waker => self.waker.clear(),
            Role::Listener => self.accept = self.rest_until_ms.is_none(),
            Role::Kept => self.drop_kept(event),
            Role::Client(place) => {
                if let Some(pair) = self.pairs.get(place) {
                    note(&mut pair.client, event);
                    self.turn(place);
                }
            }
            Role::Upstream(place) => {
                if let Some(pair) = self.pairs.get(place) {
                    if let Some(end) = &mut pair.upstream {
                        note(end, event);
                    }
                    self.turn(place);
                }
            }
        }
    }

    /// A kept connection has something to read: it ended, or says what nobody asked for.
    fn drop_kept(&mut self, event: &Event) {
        if event.mask.is_read()
            && let Some(at) = self.io.kept.iter().position(|end| end.fd() == event.fd)
        {
            let end = self.io.kept.swap_remove(at);
            self.io.drop_end(end);
        }
    }

    fn turn(&mut self, place: u32) {
        let Some(pair) = self.pairs.get(place) else { return };
        let before = pair.upstream.as_ref().map(End::fd);
        let next = pair.turn(&mut self.io);
        self.settle(place, next, before);
    }

    /// Declares what the pair waits for now and puts it in the lines where it belongs.
    fn settle(&mut self, place: u32, next: Next, before: Option<RawFd>) {
        let Some(pair) = self.pairs.get(place) else { return };
        if next == Next::Close {
            return self.close(place);
        }
        let (phase, level) = (pair.phase, self.io.level);
        let mask = |read: bool, write: bool| match (level, read, write) {
            (false, ..) | (true, true, true) => Mask::READ | Mask::WRITE,
            (true, true, false) => Mask::READ,
            (true, false, true) => Mask::WRITE,
            (true, false, false) => Mask::NONE,
        };
        let (read, write) = (pair.wants_client_read(), pair.wants_client_write());
        let mut failed = self.io.declare(&mut pair.client, mask(read, write)).is_err();
        let (read, write) = (pair.wants_upstream_read(), pair.wants_upstream_write());
        if let Some(end) = &mut pair.upstream {
            if before != Some(end.fd()) || end.declared.is_none() {
                self.io.set_role(end.fd(), Role::Upstream(place));
            }
            failed |= self.io.declare(end, mask(read, write)).is_err();
        }
        if failed {
            return self.close(place);
        }
        let (serial, due) = (pair.serial, pair.progress_ms + self.io.settings.timeout_ms);
        if next == Next::Again && !std::mem::replace(&mut pair.again, true) {
            self.again.push(place);
        }
        if phase == Phase::Exchange && !std::mem::replace(&mut pair.watched, true) {
            self.deadlines.push_back((due, place, serial));
        } else if phase == Phase::Lingering && next == Next::Wait {
            self.lingering.push_back((self.io.now_ms + LINGER_MS, place, serial));
        }
    }

    fn close(&mut self, place: u32) {
        let Some(pair) = self.pairs.remove(place) else { return };
        let Pair { client, upstream, .. } = *pair;
        self.io.drop_end(client);
        if let Some(end) = upstream {
            self.io.drop_end(end);
        }
        self.io.cell.closed();
    }

    fn accept(&mut self) {
        for _ in 0..BURST {
            match socket::accept(&*self.listener) {
                Ok(fd) => self.open(fd),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => return self.rest(),
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(_) => {
                    self.accept = false;
                    return;
                }
            }
        }
    }

    fn open(&mut self, fd: OwnedFd) {
        let full = self.io.cell.connections.get() >= self.io.settings.max_connections;
        self.serial = self.serial.wrapping_add(1);
        let (number, now_ms) = (fd.as_raw_fd(), self.io.now_ms);
        let mut pair = Box::new(Pair::new(End::new(fd, true), self.serial, now_ms));
        let mask = if self.io.level { Mask::READ } else { Mask::READ | Mask::WRITE };
        self.io.cell.opened();
        if self.io.declare(&mut pair.client, mask).is_err() {
            self.io.cell.closed();
            return;
        }
        let place = self.pairs.insert(pair);
        self.io.set_role(number, Role::Client(place));
        if full && let Some(pair) = self.pairs.get(place) {
            // Its request is on the way: taken as there, so that it is read before the close.
            pair.client.readable = true;
            let next = pair.refuse(&mut self.io, 503);
            self.settle(place, next, None);
        }
    }

    /// No descriptor is left: accepting rests, what is open goes on.
    fn rest(&mut self) {
        self.io.cell.accept_paused.add(1);
        self.accept = false;
        self.rest_until_ms = Some(self.io.now_ms + REST_MS);
        let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::NONE);
    }

    fn timers(&mut self) {
        let now = self.io.now_ms;
        if self.rest_until_ms.is_some_and(|due| due <= now) {
            self.rest_until_ms = None;
            self.accept = true;
            let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::READ);
        }
        while let Some(&(due, place, serial)) = self.deadlines.front()
            && due <= now
        {
            self.deadlines.pop_front();
            self.deadline(place, serial);
        }
        while let Some(&(due, place, serial)) = self.lingering.front()
            && due <= now
        {
            self.lingering.pop_front();
            if self.pairs.get(place).is_some_and(|pair| pair.serial == serial) {
                self.close(place);
            }
        }
    }

    /// A pair's entry has come to the front: is it really late, or has something moved since?
    fn deadline(&mut self, place: u32, serial: u32) {
        let (now, timeout) = (self.io.now_ms, self.io.settings.timeout_ms);
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.watched = false;
        if pair.phase != Phase::Exchange {
            return;
        }
        if pair.waits_for_client() {
            // Slow readers are no fault of the upstream.
            pair.progress_ms = now;
        }
        let due = pair.progress_ms + timeout;
        if due > now {
            pair.watched = true;
            self.deadlines.push_back((due, place, serial));
            return;
        }
        let before = pair.upstream.as_ref().map(End::fd);
        let next = pair.refuse(&mut self.io, 504);
        self.settle(place, next, before);
    }
}

#[inline]
fn note(end: &mut End, event: &Event) {
    end.readable |= event.mask.is_read();
    end.writable |= event.mask.is_write();
    end.ended |= event.ended();
}
