//! Event loop of the io_uring models: operations are posted to a ring, and the ring reports the completions of these
//! operations. An I/O model decides how receives are posted ([`Receive`]), how many sends may be outstanding, and
//! whether connections have descriptors.
//!
//! A connection has at most one outstanding send, so that answers stay in order. While a connection has an outstanding
//! send, the server receives only a few buffers of input from this connection. Otherwise, a peer that does not read its
//! answers could fill the server's memory.

mod conn;
mod ends;
mod events;
mod input;
mod literal;
mod posting;
mod setup;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;
use std::os::fd::AsRawFd;

use sys::Errno;
use sys::uring::{Buffers, Cqe, File, Ring, RingCloseWatcher};

use crate::ServeError;
use crate::acceptor::PAUSE_NS;
use crate::connection::Next;
use crate::shard::{Shard, ShardSetup};
use conn::{Conn, Sending, Waiting};
pub(crate) use events::OPERATIONS;
pub(crate) use setup::{Receive, Setup, allows_direct, probe};

/// Maximum number of buffers in a connection's backlog. A backlog with this many buffers cancels the multishot receive.
const MAX_BACKLOG: usize = 4;
/// Maximum time, nanoseconds, for which connections without a receive buffer wait until another connection returns a
/// buffer. If no connection returns a buffer within this maximum, the server allocates more buffers.
const MAX_BUFFER_WAIT_NS: u64 = 1_000_000;
/// Maximum wait until the kernel has freed the ring, nanoseconds.
const MAX_RING_CLOSE_NS: u64 = 5_000_000_000;

/// Kind of a posted operation. The operation's user data is one number: the kind, and the generation and the index of
/// the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Ignore = 0,
    Accept = 1,
    Wake = 2,
    Recv = 3,
    Send = 4,
    Shutdown = 5,
}

const fn user_data(kind: Operation, generation: u32, index: u32) -> u64 {
    (kind as u64) << 56 | ((generation & 0xff_ffff) as u64) << 32 | index as u64
}

/// A serving thread with its ring and its connections.
pub(crate) struct Worker {
    shard: Shard,
    setup: Setup,
    ring: Ring,
    close_watcher: Option<RingCloseWatcher>,
    buffers: Buffers,
    conns: Vec<Option<Box<Conn>>>,
    free: Vec<u32>,
    sends: Vec<Option<Sending>>,
    free_sends: Vec<u32>,
    /// Connections that may send only after another send has completed, in order of arrival.
    send_queue: VecDeque<(u32, u32)>,
    /// Connections whose receive operation found no free buffer.
    starved: VecDeque<(u32, u32)>,
    /// Number of receive buffers whose data is in a backlog, or is being sent back as an echo.
    held_buffers: usize,
    /// True if, during one iteration of the loop, connections waited for returned buffers and no buffer was returned.
    waited: bool,
    events: Option<events::Events>,
    generation: u32,
    accepting: bool,
    /// True if each request is slow on purpose (see [`crate::Service::is_slowed`]).
    is_slowed: bool,
    resume_ns: Option<u64>,
}

impl Worker {
    /// Creates the worker of one serving thread. The worker must be created in the thread that will run it.
    pub(crate) fn new(shard: ShardSetup, setup: Setup) -> Result<Self, ServeError> {
        let (ring, buffers, close_watcher) = setup.ring()?;
        Ok(Self {
            sends: (0..setup.sends).map(|_| None).collect(),
            free_sends: (0..setup.sends).rev().collect(),
            events: setup.literal.then(events::Events::new).transpose()?,
            ring,
            close_watcher: Some(close_watcher),
            buffers,
            setup,
            conns: Vec::new(),
            free: Vec::new(),
            send_queue: VecDeque::new(),
            starved: VecDeque::new(),
            held_buffers: 0,
            waited: false,
            generation: 0,
            accepting: false,
            is_slowed: shard.service.is_slowed(),
            resume_ns: None,
            shard: Shard::new(shard),
        })
    }

    /// Serves until the server is stopped. Returns only after the kernel has freed the ring, because the ring keeps the
    /// listening socket open.
    pub(crate) fn run(mut self) -> Result<(), ServeError> {
        let served = self.serve().map_err(|e| ServeError::os("use the io_uring", e));
        let close_watcher = self.close_watcher.take();
        drop(self);
        let _ = close_watcher.is_none_or(|close_watcher| close_watcher.wait(MAX_RING_CLOSE_NS));
        served
    }

    fn serve(&mut self) -> sys::Result<()> {
        let waker = self.shard.setup.inbox.waker.clone();
        let (bell, readable) = (File::Fd(waker.as_raw_fd()), u32::from(sys::poll::IN as u16));
        if self.events.is_none() {
            self.ring.poll(bell, readable, true, user_data(Operation::Wake, 0, 0))?;
        }
        let mut done: Vec<Cqe> = Vec::with_capacity(1024);
        while !self.shard.setup.control.stopping() {
            self.accept()?;
            let starving = (!self.starved.is_empty()).then_some(self.shard.now_ns + MAX_BUFFER_WAIT_NS);
            let timeout = self.resume_ns.into_iter().chain(self.shard.next_sweep_ns).chain(starving).min();
            let timeout = timeout.map(|due| due.saturating_sub(self.shard.now_ns));
            done.clear();
            if self.events.is_some() {
                self.wait_events(timeout, &waker, &mut done)?;
            } else {
                // A wait for several completions needs a second timer. In measurements against nginx, a second timer
                // cost more than the wake-ups that it saved.
                self.ring.submit_and_wait(1, timeout, 0)?;
                self.ring.reap(&mut done);
            }
            self.shard.tick();
            for cqe in done.drain(..) {
                self.completed(cqe, bell, readable)?;
                if self.is_slowed {
                    // Without `submit` after each completion, all answers of one iteration would be sent only after the
                    // last answer is ready. With 43 waiting requests of 2 ms each, an answer was up to 86 ms late.
                    self.ring.submit()?;
                }
            }
            self.feed_starved()?;
            self.buffers.publish();
            if self.shard.sweep_due() {
                self.sweep()?;
            }
        }
        Ok(())
    }

    /// Keeps an accept operation posted. No operation is posted during the pause after descriptors ran out.
    fn accept(&mut self) -> sys::Result<()> {
        let Some(listener) = &self.shard.setup.listener else { return Ok(()) };
        if self.accepting || self.resume_ns.is_some_and(|at| at > self.shard.now_ns) {
            return Ok(());
        }
        self.resume_ns = None;
        self.accepting = true;
        self.ring.accept_multi(File::Fd(listener.as_raw_fd()), self.setup.direct, user_data(Operation::Accept, 0, 0))
    }

    fn completed(&mut self, cqe: Cqe, bell: File, readable: u32) -> sys::Result<()> {
        let (index, generation) = (cqe.user as u32, (cqe.user >> 32) as u32 & 0xff_ffff);
        match cqe.user >> 56 {
            k if k == Operation::Recv as u64 => self.received(index, generation, cqe),
            k if k == Operation::Send as u64 => self.sent(index, &cqe),
            k if k == Operation::Accept as u64 => self.accepted(&cqe),
            k if k == Operation::Shutdown as u64 => self.side_ended(index, generation),
            k if k == Operation::Wake as u64 => {
                self.take_inbox()?;
                if cqe.more { Ok(()) } else { self.ring.poll(bell, readable, true, user_data(Operation::Wake, 0, 0)) }
            }
            _ => Ok(()),
        }
    }

    fn take_inbox(&mut self) -> sys::Result<()> {
        self.shard.setup.inbox.take().into_iter().try_for_each(|fd| self.open(None, Some(fd)))
    }

    fn accepted(&mut self, cqe: &Cqe) -> sys::Result<()> {
        self.accepting = cqe.more;
        match cqe.outcome() {
            Ok(at) if self.setup.direct => self.open(Some(at), None),
            Ok(_) => self.open(None, Some(cqe.accepted()?)),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.shard.setup.cell.accept_paused.add(1);
                self.resume_ns = Some(self.shard.now_ns + PAUSE_NS);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// Returns the file that a connection's operations use.
    fn file(index: u32, conn: &Conn) -> File {
        conn.fd.as_ref().map_or(File::Fixed(index), |fd| File::Fd(fd.as_raw_fd()))
    }

    fn conn(&mut self, index: u32, generation: u32) -> Option<&mut Conn> {
        let conn = self.conns.get_mut(index as usize)?.as_deref_mut()?;
        (conn.generation == generation).then_some(conn)
    }

    /// Continues with a connection: sends its output if there is any. If there is no output, processes the backlog of
    /// received data. If there is neither output nor a backlog, receives from the connection or closes it.
    fn advance(&mut self, index: u32) -> sys::Result<()> {
        let (now_ms, how) = (self.shard.now_ms(), self.link_flags());
        let Some(conn) = self.conns.get_mut(index as usize).and_then(Option::as_deref_mut) else { return Ok(()) };
        if conn.sending || conn.queued {
            return Ok(());
        }
        if conn.state.wants_write() {
            let Some(send) = self.free_sends.pop() else {
                conn.queued = true;
                self.send_queue.push_back((index, conn.generation));
                return Ok(());
            };
            let n = conn.state.transmit(self.ring.slot(send));
            if n > 0 {
                conn.sending = true;
                conn.state.activity.output_waits(now_ms);
                self.sends[send as usize] =
                    Some(Sending { index, generation: conn.generation, len: n as u32, buffer: None });
                let file = Self::file(index, conn);
                self.ring.send(file, send, 0..n, how, user_data(Operation::Send, 0, send))?;
                self.signal_end(index)?;
                return self.arm(index, false);
            }
            self.free_sends.push(send);
        }
        if let Some(backlog) = &mut conn.backlog {
            let next = backlog.pop_front();
            if let Some(waiting) = next {
                return self.consume_waiting(index, waiting);
            }
            conn.backlog = None;
            if conn.input_ended {
                return self.tell_end(index);
            }
        }
        self.settle(index)
    }

    /// Performs the next step of a connection whose output was sent and whose backlog is empty.
    fn settle(&mut self, index: u32) -> sys::Result<()> {
        let now_ms = self.shard.now_ms();
        let Some(conn) = self.conns[index as usize].as_deref_mut() else { return Ok(()) };
        match conn.state.settle(now_ms) {
            Next::Close(end) => return self.close(index, end),
            Next::EndSide => {
                self.shard.note_lingering();
                self.end_side(index)?;
            }
            Next::Wait if self.shard.gives_way(&conn.state.activity) => return self.park(index),
            Next::Wait => {}
        }
        self.arm(index, false)
    }
}
