//! The loop of the io_uring models: operations are given to a ring and come back completed. A model decides how receives
//! are posted ([`Receive`]), how many sends may be outstanding, and where connections come from.
//!
//! Conclusion first: a connection has at most one send outstanding, so answers keep their order; while it has, nothing
//! more is taken from it than a few buffers, so a peer that does not read cannot make the server hold its flood.

mod conn;
mod ends;
mod input;
mod literal;
mod posting;
mod turns;

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use sys::uring::{Buffers, Config, Cqe, File, How, Ring};
use sys::{Errno, clock};

use crate::ServeError;
use crate::conn::{BoxedSession, End};
use crate::ready::{Inbox, SWEEP_NS, Shard};
use crate::server::lock;
use crate::strategies::Policy;
use crate::strategies::high_throughput::Line;
use conn::{Conn, Sending};
pub(crate) use literal::OPERATIONS;

/// How receives are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// One that goes on until the peer closes (multishot).
    Lasting,
    /// One at a time.
    Single,
    /// One of zero bytes; when it completes, single ones until the socket would block.
    Empty,
}

/// What a model asks of the loop.
pub(crate) struct Setup {
    pub(crate) receive: Receive,
    /// Most sends outstanding.
    pub(crate) sends: u32,
    /// Bytes of one send.
    pub(crate) send_bytes: u32,
    /// Receive buffers, and their size. The kernel is given few of them until they do not suffice.
    pub(crate) buffers: u16,
    pub(crate) buffer_bytes: u32,
    /// Connections live in the ring's table of files.
    pub(crate) direct: bool,
    /// Submission entries.
    pub(crate) entries: u32,
    /// An eventfd is signalled for each operation, and the thread waits for those (at most 62 connections).
    pub(crate) literal: bool,
}

/// Bytes of a multishot receive's backlog before it is stopped, in buffers.
const BACKLOG: usize = 4;
/// Receive buffers that are used as long as they suffice: what is filled in turn should fit into a processor's cache.
const BUFFERS_AT_FIRST: u16 = 64;
const PAUSE_NS: u64 = 100_000_000;
/// How long connections without a buffer wait for one to come back before further memory is touched.
const STARVE_NS: u64 = 1_000_000;
const LINGER_MS: u32 = 2000;
const LINGER_BYTES: u32 = 1 << 20;
const SPARE: usize = 256;

/// What a completion belongs to: kind, generation and index in one number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ignore = 0,
    Accept = 1,
    Wake = 2,
    Recv = 3,
    Send = 4,
}

const fn user(kind: Kind, generation: u32, index: u32) -> u64 {
    (kind as u64) << 56 | ((generation & 0xff_ffff) as u64) << 32 | index as u64
}

/// A thread with its ring.
pub(crate) struct Worker {
    shard: Shard,
    setup: Setup,
    ring: Ring,
    buffers: Buffers,
    conns: Vec<Option<Box<Conn>>>,
    free: Vec<u32>,
    tickets: Vec<u32>,
    sends: Vec<Option<Sending>>,
    free_sends: Vec<u32>,
    /// Connections that wait for one of the outstanding sends to complete, first come first served.
    send_queue: VecDeque<(u32, u32)>,
    /// Connections whose receive found no buffer.
    starved: VecDeque<(u32, u32)>,
    /// They have waited a turn for buffers to come back.
    waited: bool,
    spare: Vec<BoxedSession>,
    line: Line,
    events: Option<literal::Events>,
    generation: u32,
    accepting: bool,
    resume_ns: Option<u64>,
    now_ns: u64,
    next_tick_ns: u64,
    next_sweep_ns: Option<u64>,
}

impl Worker {
    /// To be made in the thread that runs it.
    pub(crate) fn new(shard: Shard, setup: Setup) -> Result<Self, ServeError> {
        let files = if setup.direct { sys::limits::descriptors().0.min(1 << 20) as u32 } else { 0 };
        let config = Config {
            entries: setup.entries,
            completions: (setup.entries * 8).clamp(256, 16_384),
            files,
            slots: setup.sends,
            slot_bytes: setup.send_bytes,
            buffers: setup.buffers,
            buffers_at_first: BUFFERS_AT_FIRST,
            buffer_bytes: setup.buffer_bytes,
            eager: setup.literal,
            ..Config::default()
        };
        let (ring, buffers) = Ring::new(&config).map_err(|e| ServeError::os("make an io_uring", e))?;
        let Some(buffers) = buffers else {
            return Err(ServeError::os("make an io_uring with receive buffers", Errno::INVAL));
        };
        let now_ns = clock::monotonic_ns();
        let deadlines = shard.policy.limits.is_some() || shard.policy.active.is_some();
        Ok(Self {
            sends: (0..setup.sends).map(|_| None).collect(),
            free_sends: (0..setup.sends).rev().collect(),
            next_sweep_ns: deadlines.then_some(now_ns + SWEEP_NS),
            events: setup.literal.then(literal::Events::new).transpose()?,
            ring,
            buffers,
            shard,
            setup,
            conns: Vec::new(),
            free: Vec::new(),
            tickets: Vec::new(),
            send_queue: VecDeque::new(),
            starved: VecDeque::new(),
            waited: false,
            spare: Vec::new(),
            line: Line::default(),
            generation: 0,
            accepting: false,
            resume_ns: None,
            now_ns,
            next_tick_ns: 0,
        })
    }

    /// Serves until the server is stopped.
    pub(crate) fn run(mut self) -> Result<(), ServeError> {
        self.serve().map_err(|e| ServeError::os("use the io_uring", e))
    }

    fn serve(&mut self) -> sys::Result<()> {
        let waker = self.shard.inbox.waker.clone();
        let (bell, readable) = (File::Fd(waker.as_raw_fd()), u32::from(sys::poll::IN as u16));
        if self.events.is_none() {
            self.ring.poll(bell, readable, true, user(Kind::Wake, 0, 0))?;
        }
        let mut done: Vec<Cqe> = Vec::with_capacity(1024);
        while !self.shard.control.stopping() {
            self.accept()?;
            let starving = (!self.starved.is_empty()).then_some(self.now_ns + STARVE_NS);
            let timeout = self.resume_ns.into_iter().chain(self.next_sweep_ns).chain(starving).min();
            let timeout = timeout.map(|due| due.saturating_sub(self.now_ns));
            done.clear();
            if self.events.is_some() {
                self.wait_events(timeout, &waker, &mut done)?;
            } else {
                // No wait for a batch: its second timer costs more than the wakes that it saves (measured with nginx).
                self.ring.submit_and_wait(1, timeout, 0)?;
                self.ring.reap(&mut done);
            }
            self.tick();
            for cqe in done.drain(..) {
                self.completed(cqe, bell, readable)?;
            }
            self.feed_starved()?;
            self.buffers.publish();
            if self.next_sweep_ns.is_some_and(|due| due <= self.now_ns) {
                self.sweep()?;
            }
        }
        Ok(())
    }

    fn tick(&mut self) {
        self.now_ns = clock::monotonic_ns();
        if self.now_ns >= self.next_tick_ns {
            let unix_ns = clock::realtime_ns();
            self.next_tick_ns = self.now_ns + 1_000_000_000 - unix_ns % 1_000_000_000;
            self.shard.service.tick(unix_ns / 1_000_000_000);
        }
    }

    fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    /// Keeps an accept posted, but rests when no descriptor was left.
    fn accept(&mut self) -> sys::Result<()> {
        let Some(listener) = &self.shard.listener else { return Ok(()) };
        if self.accepting || self.resume_ns.is_some_and(|at| at > self.now_ns) {
            return Ok(());
        }
        self.resume_ns = None;
        self.accepting = true;
        self.ring.accept_multi(File::Fd(listener.as_raw_fd()), self.setup.direct, user(Kind::Accept, 0, 0))
    }

    fn completed(&mut self, cqe: Cqe, bell: File, readable: u32) -> sys::Result<()> {
        let (index, generation) = (cqe.user as u32, (cqe.user >> 32) as u32 & 0xff_ffff);
        match cqe.user >> 56 {
            k if k == Kind::Recv as u64 => self.received(index, generation, cqe),
            k if k == Kind::Send as u64 => self.sent(index, &cqe),
            k if k == Kind::Accept as u64 => self.accepted(&cqe),
            k if k == Kind::Wake as u64 => {
                self.take_inbox()?;
                if cqe.more { Ok(()) } else { self.ring.poll(bell, readable, true, user(Kind::Wake, 0, 0)) }
            }
            _ => Ok(()),
        }
    }

    fn take_inbox(&mut self) -> sys::Result<()> {
        let inbox: Arc<Inbox> = self.shard.inbox.clone();
        inbox.waker.clear();
        let fds = std::mem::take(&mut *lock(&inbox.fds));
        fds.into_iter().try_for_each(|fd| self.open(None, Some(fd)))
    }

    fn accepted(&mut self, cqe: &Cqe) -> sys::Result<()> {
        self.accepting = cqe.more;
        match cqe.outcome() {
            Ok(at) if self.setup.direct => self.open(Some(at), None),
            Ok(_) => self.open(None, Some(cqe.accepted()?)),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.shard.cell.accept_paused.add(1);
                self.resume_ns = Some(self.now_ns + PAUSE_NS);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// The file that operations of a connection name.
    fn file(index: u32, conn: &Conn) -> File {
        conn.fd.as_ref().map_or(File::Fixed(index), |fd| File::Fd(fd.as_raw_fd()))
    }

    fn conn(&mut self, index: u32, generation: u32) -> Option<&mut Conn> {
        let conn = self.conns.get_mut(index as usize)?.as_deref_mut()?;
        (conn.generation == generation).then_some(conn)
    }

    /// Goes on with a connection: sends what is to be sent, else takes what waits, else receives, else closes.
    fn advance(&mut self, index: u32) -> sys::Result<()> {
        let (now_ms, how) = (self.now_ms(), self.how());
        let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::as_deref_mut) else { return Ok(()) };
        if conn.sending || conn.queued {
            return Ok(());
        }
        if !conn.lingering && conn.session.wants_transmit() {
            let Some(send) = self.free_sends.pop() else {
                conn.queued = true;
                self.send_queue.push_back((index, conn.generation));
                return Ok(());
            };
            let n = conn.session.transmit(self.ring.slot(send));
            if n > 0 {
                conn.sending = true;
                conn.sent_ms = now_ms.max(1);
                self.sends[send as usize] =
                    Some(Sending { index, generation: conn.generation, len: n as u32, buffer: None });
                let file = Self::file(index, conn);
                self.ring.send(file, send, 0..n, how, user(Kind::Send, 0, send))?;
                self.told(index)?;
                return self.arm(index, false);
            }
            self.free_sends.push(send);
        }
        if let Some(backlog) = &mut conn.backlog {
            let next = backlog.pop_front();
            if let Some((id, n)) = next {
                return self.consume(index, id, n);
            }
            conn.backlog = None;
            if conn.peer_closed && !conn.closing {
                return self.tell_end(index);
            }
        }
        self.idle(index)
    }

    /// Nothing to send, nothing kept: is the connection over, does it give way, or does it receive?
    fn idle(&mut self, index: u32) -> sys::Result<()> {
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        if !conn.lingering {
            let progress = conn.session.flushed();
            conn.closing |= progress.close;
        }
        if conn.closing && !conn.lingering {
            if !conn.linger || conn.peer_closed {
                return self.close(index, End::Done);
            }
            conn.lingering = true;
            let file = Self::file(index, conn);
            self.next_sweep_ns.get_or_insert(self.now_ns + SWEEP_NS);
            self.ring.shutdown_write(file, How::SKIP_SUCCESS, user(Kind::Ignore, 0, 0))?;
        }
        if conn.peer_closed {
            return self.close(index, End::Done);
        }
        if conn.served && !conn.parked && self.shard.policy.active.is_some() && self.line.anybody() {
            return self.park(index);
        }
        self.arm(index, false)
    }
}

/// Whether connections may live in the ring's table only: strategies that name or refuse peers need descriptors.
pub(crate) fn direct(policy: &Policy) -> bool {
    policy.limits.is_none() && policy.active.is_none()
}

/// Whether a ring can be made here; an error says what forbids it. Tried in a thread of its own: the kernel tidies a
/// ring up in the thread that made it, which would interrupt the caller's system calls a moment later.
pub(crate) fn probe() -> Result<(), ServeError> {
    let config = Config { entries: 8, buffers: 1, buffer_bytes: 64, ..Config::default() };
    let tried = std::thread::spawn(move || Ring::new(&config).map(drop)).join();
    tried
        .unwrap_or(Err(Errno::NOSYS))
        .map_err(|e| ServeError::os("make an io_uring (use model epoll where it is forbidden)", e))
}
