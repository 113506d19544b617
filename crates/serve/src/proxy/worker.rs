//! A thread of the proxy: takes events, serves the pairs of client and upstream connections one after another, and
//! checks deadlines.
//!
//! With an edge-triggered backend, interest in reading and writing a socket is declared only once, and the socket's
//! readiness is stored. With a level-triggered backend, the proxy declares interest in a socket again whenever the pair
//! needs other events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use event::{Event, EventQueue, Mask};
use sys::wake::Waker;
use sys::{Errno, clock, socket};

use super::batching::BatchPauses;
use super::counting::CountingClock;
use super::end::End;
use super::io::{Io, Role};
use super::pair::{Next, Pair, Phase};
use super::settings::Settings;
use super::timing::Stopwatch;
use super::watch::Queue;
use crate::ServeError;
use crate::control::Control;
use crate::slab::Slab;

/// Maximum number of connections accepted per iteration of the loop.
const MAX_ACCEPTS_PER_TURN: u32 = 64;
/// Time that a client has to read its last answer after the proxy has closed its side, milliseconds.
const LINGER_MS: u64 = 2000;

/// Deadlines of pairs, each with the place and the serial number of its pair. The earliest deadline is on top of the
/// heap. The deadlines must be sorted, because a deadline that is added later is not always the later one.
pub(super) type Deadlines = BinaryHeap<Reverse<(u64, u32, u32)>>;

pub(super) struct Worker {
    pub(super) io: Io,
    control: Arc<Control>,
    waker: Arc<Waker>,
    pub(super) listener: Arc<OwnedFd>,
    pub(super) accept: bool,
    pub(super) accept_again_ms: Option<u64>,
    pub(super) pairs: Slab<Box<Pair>>,
    serial: u32,
    pub(super) again: Vec<u32>,
    /// Deadlines of pairs, one entry per pair.
    pub(super) deadlines: Deadlines,
    pub(super) lingering: VecDeque<(u64, u32, u32)>,
    /// Deadlines of incomplete request heads.
    pub(super) heads: Deadlines,
    /// Clients that may have left, with the times of their checks (see `leaving`).
    pub(super) suspects: VecDeque<(u64, u32, u32)>,
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
        let mut io = Io::new(Queue::new(queue, clock, counting), settings, cell);
        io.set_role(listener.as_raw_fd(), Role::Listener);
        io.set_role(waker.as_raw_fd(), Role::Waker);
        Ok(Self {
            io,
            control,
            waker,
            listener,
            accept: false,
            accept_again_ms: None,
            pairs: Slab::new(),
            serial: 0,
            again: Vec::new(),
            deadlines: Deadlines::new(),
            lingering: VecDeque::new(),
            heads: Deadlines::new(),
            suspects: VecDeque::new(),
        })
    }

    pub(super) fn run(mut self) -> Result<(), ServeError> {
        let mut events = vec![Event::default(); self.io.settings.array];
        let (mut again, mut gather) = (Vec::new(), BatchPauses::new(self.io.settings.gather_us));
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
            if let Some(rest) =
                gather.after(count, room, self.io.attached).filter(|_| !self.accept && self.again.is_empty())
            {
                std::thread::sleep(rest);
            }
        }
        Ok(())
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        // An earlier event in the same loop has closed the event's descriptor. The number of the closed descriptor now
        // belongs to another socket.
        if !self.io.queue.is_current(event) {
            return;
        }
        match self.io.role(event.fd) {
            Role::None => {}
            Role::Waker => self.waker.clear(),
            Role::Listener => self.accept = self.accept_again_ms.is_none(),
            Role::Kept if event.mask.is_read() => self.io.drop_kept(event.fd),
            Role::Kept => {}
            Role::Client(place) => {
                if let Some(pair) = self.pairs.get(place) {
                    note(&mut pair.client, event);
                    if pair.may_miss_client(self.io.level) {
                        self.client_stirs(place);
                    } else {
                        self.turn(place);
                    }
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

    pub(super) fn turn(&mut self, place: u32) {
        let Some(pair) = self.pairs.get(place) else { return };
        let before = pair.upstream.as_ref().map(End::fd);
        let next = pair.turn(&mut self.io);
        self.settle(place, next, before);
    }

    /// Declares the interest that a pair now needs, and adds the pair to the lists of deadlines.
    pub(super) fn settle(&mut self, place: u32, next: Next, before: Option<RawFd>) {
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
        let (read, write) = (pair.watches_client(), pair.wants_client_write());
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
        let suspicious = pair.may_miss_client(level);
        if next == Next::Again && !std::mem::replace(&mut pair.again, true) {
            self.again.push(place);
        }
        if let Some(since) = pair.head_since_ms.filter(|_| self.io.settings.head_ms > 0)
            && !std::mem::replace(&mut pair.head_watched, true)
        {
            self.heads.push(Reverse((since + self.io.settings.head_ms, place, serial)));
        }
        if phase == Phase::Exchange && !std::mem::replace(&mut pair.watched, true) {
            self.deadlines.push(Reverse((due, place, serial)));
        } else if phase == Phase::Lingering && next == Next::Wait {
            self.lingering.push_back((self.io.now_ms + LINGER_MS, place, serial));
        }
        if suspicious {
            self.suspect(place);
        }
    }

    pub(super) fn close(&mut self, place: u32) {
        let Some(mut pair) = self.pairs.remove(place) else { return };
        if let Some(end) = pair.detach(&mut self.io) {
            self.io.drop_end(end);
        }
        self.io.drop_end(pair.client);
        self.io.cell.closed(crate::connection::End::Done);
    }

    fn accept(&mut self) {
        for _ in 0..MAX_ACCEPTS_PER_TURN {
            match socket::accept(&*self.listener) {
                Ok(fd) => self.open(fd),
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => return self.pause_accepting(),
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
            self.io.cell.closed(crate::connection::End::Done);
            return;
        }
        let place = self.pairs.insert(pair);
        self.io.set_role(number, Role::Client(place));
        if full && let Some(pair) = self.pairs.get(place) {
            // The proxy cannot take another client, and refuses the request, which is about to arrive. The socket is
            // marked as readable, so the proxy reads the request before it closes the connection.
            pair.client.readable = true;
            let next = pair.refuse(&mut self.io, 503);
            self.settle(place, next, None);
        }
    }
}

#[inline]
fn note(end: &mut End, event: &Event) {
    end.readable |= event.mask.is_read();
    end.writable |= event.mask.is_write();
    end.ended |= event.ended();
}
