//! The loop of every readiness model: wait, then give each ready connection a turn. A model is a [`Readiness`]: how
//! descriptors are watched and how waiting is done; everything else is here, once.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use sys::{clock, socket, wake::Waker};

use crate::conn::{BoxedSession, Conn, End, Scratch, Turn, Want};
use crate::listener::{Accepted, Acceptor, Pace};
use crate::server::{Control, lock};
use crate::slab::Slab;
use crate::stats::Cell;
use crate::strategies::high_throughput::Line;
use crate::strategies::limits::Over;
use crate::strategies::{Policy, Refuse};
use crate::{ServeError, Service};

/// Token of the listener.
pub(crate) const LISTENER: u32 = u32::MAX;
/// Token of the waker.
pub(crate) const WAKER: u32 = u32::MAX - 1;
/// How often deadlines are looked at while there are any.
pub(crate) const SWEEP_NS: u64 = 100_000_000;
/// How long a peer is read after our side has ended.
const LINGER_MS: u32 = 2000;
/// Sessions kept for further connections.
const SPARE: usize = 256;

/// A way to learn which descriptors are ready. For one thread.
pub(crate) trait Readiness {
    /// It tells of changes only (edge-triggered), so a connection has to be served until it would block.
    const EDGE: bool;
    /// What is ready when a descriptor is added is not told: it has to be tried.
    const TRY_NEW: bool = false;

    /// Most connections accepted at one wake.
    fn accepts(&self) -> u32 {
        u32::MAX
    }

    fn add(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()>;
    fn change(&mut self, fd: BorrowedFd<'_>, token: u32, want: Want) -> sys::Result<()>;
    /// The descriptor is about to be closed.
    fn remove(&mut self, fd: BorrowedFd<'_>, token: u32);
    /// Waits at most `timeout_ns` (`None`: without end) and appends what is ready.
    fn wait(&mut self, timeout_ns: Option<u64>, ready: &mut Vec<Ready>) -> sys::Result<()>;
}

/// One descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) token: u32,
    pub(crate) read: bool,
    /// The peer has ended its side or the connection is broken.
    pub(crate) gone: bool,
}

/// Connections handed to a thread by another one.
pub(crate) struct Inbox {
    pub(crate) waker: Arc<Waker>,
    pub(crate) fds: Mutex<Vec<OwnedFd>>,
}

/// What a thread needs to serve.
pub(crate) struct Shard {
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
    pub(crate) listener: Option<Arc<OwnedFd>>,
    pub(crate) pace: Option<Pace>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) cell: Arc<Cell>,
    /// Called for every connection that ends (models that spread connections over groups).
    pub(crate) on_close: Option<Box<dyn Fn() + Send>>,
}

/// A thread at work.
pub(crate) struct Worker<R> {
    shard: Shard,
    poller: R,
    acceptor: Option<Acceptor>,
    /// Whether the poller watches the listener now.
    listening: bool,
    conns: Slab<Conn>,
    tickets: Vec<u32>,
    scratch: Scratch,
    spare: Vec<BoxedSession>,
    again: Vec<u32>,
    line: Line,
    blocked: u32,
    /// limits: too many have output outstanding, the others are not read.
    held: bool,
    now_ns: u64,
    next_tick_ns: u64,
    next_sweep_ns: Option<u64>,
}

impl<R: Readiness> Worker<R> {
    pub(crate) fn new(shard: Shard, poller: R) -> Self {
        let now_ns = clock::monotonic_ns();
        let acceptor = shard.listener.clone().map(|fd| Acceptor::new(fd, shard.pace, now_ns));
        let deadlines = shard.policy.limits.is_some() || shard.policy.active.is_some();
        Self {
            acceptor,
            poller,
            listening: false,
            conns: Slab::new(),
            tickets: Vec::new(),
            scratch: Scratch::new(),
            spare: Vec::new(),
            again: Vec::new(),
            line: Line::default(),
            blocked: 0,
            held: false,
            now_ns,
            next_tick_ns: 0,
            next_sweep_ns: deadlines.then_some(now_ns + SWEEP_NS),
            shard,
        }
    }

    /// Serves until the server is stopped.
    pub(crate) fn run(mut self) -> Result<(), ServeError> {
        let os = |what| move |e| ServeError::os(what, e);
        let waker = self.shard.inbox.waker.clone();
        self.poller.add(waker.as_fd(), WAKER, Want { read: true, write: false }).map_err(os("watch the waker"))?;
        let (mut ready, mut again) = (Vec::with_capacity(1024), Vec::new());
        while !self.shard.control.stopping() {
            self.watch_listener().map_err(os("watch the listening socket"))?;
            let timeout = self.timeout();
            ready.clear();
            self.poller.wait(timeout, &mut ready).map_err(os("wait for events"))?;
            self.tick();
            for event in &ready {
                match event.token {
                    WAKER => self.take_inbox(),
                    LISTENER => self.accept(),
                    token => self.turn(token, event.read, event.gone),
                }
            }
            std::mem::swap(&mut again, &mut self.again);
            again.drain(..).for_each(|token| self.turn(token, true, true));
            self.timers();
        }
        Ok(())
    }

    fn now_ms(&self) -> u32 {
        (self.now_ns / 1_000_000) as u32
    }

    /// Reads the clock, and tells the service of a new second.
    fn tick(&mut self) {
        self.now_ns = clock::monotonic_ns();
        if self.now_ns >= self.next_tick_ns {
            let unix_ns = clock::realtime_ns();
            self.next_tick_ns = self.now_ns + 1_000_000_000 - unix_ns % 1_000_000_000;
            self.shard.service.tick(unix_ns / 1_000_000_000);
        }
    }

    fn timeout(&self) -> Option<u64> {
        if !self.again.is_empty() {
            return Some(0);
        }
        let accept = self.acceptor.as_ref().and_then(Acceptor::due_ns);
        let due = accept.into_iter().chain(self.next_sweep_ns).min()?;
        Some(due.saturating_sub(self.now_ns))
    }

    /// Watches the listener while readiness of it matters.
    fn watch_listener(&mut self) -> sys::Result<()> {
        let Some(acceptor) = &self.acceptor else { return Ok(()) };
        match (acceptor.on_readiness(), self.listening) {
            (true, false) => self.poller.add(acceptor.fd().as_fd(), LISTENER, Want { read: true, write: false })?,
            (false, true) => self.poller.remove(acceptor.fd().as_fd(), LISTENER),
            _ => return Ok(()),
        }
        self.listening = !self.listening;
        Ok(())
    }

    fn accept(&mut self) {
        let most = self.poller.accepts();
        let allowance = self.acceptor.as_mut().map_or(0, |a| a.allowance(self.now_ns).min(most));
        for _ in 0..allowance {
            let Some(acceptor) = &mut self.acceptor else { return };
            match acceptor.take(self.now_ns, &self.shard.cell) {
                Accepted::One(fd) => self.open(fd),
                Accepted::Enough | Accepted::Pause => return,
            }
        }
    }

    fn take_inbox(&mut self) {
        let inbox = self.shard.inbox.clone();
        inbox.waker.clear();
        let fds = std::mem::take(&mut *lock(&inbox.fds));
        fds.into_iter().for_each(|fd| self.open(fd));
    }

    /// A new connection: watch it, refuse it, or let it wait.
    fn open(&mut self, fd: OwnedFd) {
        let mut parked = false;
        if let Some(active) = &self.shard.policy.active {
            parked = !self.line.enter(active);
            if parked && !self.line.may_wait(active) {
                return self.refuse(&fd, active.refuse);
            }
        }
        let session = self.spare.pop().unwrap_or_else(|| self.shard.service.session());
        let mut conn = Conn::new(fd, session, self.now_ms());
        conn.parked = parked || self.held;
        let first = conn.first_want();
        conn.want = first;
        let token = self.conns.insert(conn);
        if parked {
            let ticket = self.line.wait(token);
            self.set_ticket(token, ticket);
        }
        self.shard.cell.opened();
        let Some(conn) = self.conns.get(token) else { return };
        if self.poller.add(conn.fd(), token, first).is_err() {
            return self.close(token, End::Reset);
        }
        if R::TRY_NEW || (R::EDGE && first.write) {
            self.again.push(token);
        }
    }

    fn refuse(&self, fd: &OwnedFd, how: Refuse) {
        self.shard.cell.accepted.add(1);
        self.shard.cell.refused.add(1);
        match how {
            Refuse::Busy => drop(socket::send(fd, self.shard.service.busy_reply())),
            Refuse::Reset => drop(socket::set_reset_on_close(fd)),
            Refuse::Close => {}
        }
    }

    fn turn(&mut self, token: u32, read: bool, gone: bool) {
        let now_ms = self.now_ms();
        let mut turn = self.shard.policy.read;
        turn.drain |= R::EDGE && gone;
        let Some(conn) = self.conns.get(token) else { return };
        let was_blocked = conn.blocked();
        let outcome = conn.turn(read || gone || R::EDGE, turn, &mut self.scratch, &self.shard.cell, now_ms);
        let blocked = conn.blocked();
        if was_blocked != blocked {
            self.blocked = if blocked { self.blocked + 1 } else { self.blocked - 1 };
            self.hold_back();
        }
        match outcome {
            Turn::Close(end) => return self.close(token, end),
            Turn::Wait(want) => self.set_want(token, want),
            Turn::Again(want) => {
                self.set_want(token, want);
                if R::EDGE {
                    self.again.push(token);
                }
            }
        }
        self.give_way(token);
    }

    fn set_want(&mut self, token: u32, want: Want) {
        let Some(conn) = self.conns.get(token) else { return };
        if conn.lingering() && self.next_sweep_ns.is_none() {
            self.next_sweep_ns = Some(self.now_ns + SWEEP_NS);
        }
        if conn.want == want {
            return;
        }
        conn.want = want;
        if self.poller.change(conn.fd(), token, want).is_err() {
            self.close(token, End::Reset);
        }
    }

    fn close(&mut self, token: u32, end: End) {
        let Some(conn) = self.conns.remove(token) else { return };
        self.poller.remove(conn.fd(), token);
        self.shard.cell.closed();
        match end {
            End::Done => {}
            End::Reset => self.shard.cell.resets.add(1),
            End::Fault => self.shard.cell.faults.add(1),
        }
        if conn.blocked() {
            self.blocked -= 1;
            self.hold_back();
        }
        let had_place = !conn.parked;
        let mut session = conn.into_session();
        if self.spare.len() < SPARE {
            session.reset();
            self.spare.push(session);
        }
        if had_place && self.shard.policy.active.is_some() {
            self.set_ticket(token, 0);
            self.pass_place();
        }
        if let Some(told) = &self.shard.on_close {
            told();
        }
    }

    fn set_ticket(&mut self, token: u32, ticket: u32) {
        let at = token as usize;
        if self.tickets.len() <= at {
            self.tickets.resize(at + 1, 0);
        }
        self.tickets[at] = ticket;
    }

    /// high-throughput: a free place goes to the next in the line.
    fn pass_place(&mut self) {
        let tickets = &self.tickets;
        let next = self.line.next(|token, ticket| tickets.get(token as usize) == Some(&ticket));
        let Some(token) = next else { return };
        self.set_ticket(token, 0);
        let now_ms = self.now_ms();
        let Some(conn) = self.conns.get(token) else { return };
        conn.parked = false;
        conn.heard_ms = now_ms;
        self.again.push(token);
    }

    /// high-throughput: whoever finished an exchange while others wait goes to the end of the line.
    fn give_way(&mut self, token: u32) {
        if self.shard.policy.active.is_none() || !self.line.anybody() {
            return;
        }
        let Some(conn) = self.conns.get(token) else { return };
        if conn.parked || conn.served == 0 || conn.blocked() {
            return;
        }
        self.park(token);
    }

    fn park(&mut self, token: u32) {
        let Some(conn) = self.conns.get(token) else { return };
        conn.parked = true;
        conn.served = 0;
        let want = conn.first_want();
        let ticket = self.line.wait(token);
        self.set_ticket(token, ticket);
        self.set_want(token, want);
        self.pass_place();
    }

    /// limits: while as many connections as may have output outstanding, only those are served.
    fn hold_back(&mut self) {
        let Some(limits) = self.shard.policy.limits else { return };
        let over = self.blocked >= limits.sends;
        if over == self.held {
            return;
        }
        self.held = over;
        let held: Vec<u32> = self
            .conns
            .iter()
            .filter(|(_, c)| c.parked != over && !c.blocked() && !c.lingering())
            .map(|(token, c)| {
                c.parked = over;
                token
            })
            .collect();
        for token in held {
            let Some(conn) = self.conns.get(token) else { continue };
            let want = conn.first_want();
            self.set_want(token, want);
            if !over {
                self.again.push(token);
            }
        }
    }

    fn timers(&mut self) {
        if self.acceptor.as_ref().and_then(Acceptor::due_ns).is_some_and(|due| due <= self.now_ns) {
            self.accept();
        }
        if self.next_sweep_ns.is_some_and(|due| due <= self.now_ns) {
            self.sweep();
        }
    }

    /// Looks at the deadlines of all connections.
    fn sweep(&mut self) {
        let (now_ms, policy) = (self.now_ms(), self.shard.policy);
        let (mut over, mut idle, mut lingering) = (Vec::new(), Vec::new(), false);
        for (token, conn) in self.conns.iter() {
            let quiet_ms = now_ms.saturating_sub(conn.heard_ms);
            if conn.lingering() {
                lingering = true;
                if quiet_ms >= LINGER_MS {
                    over.push((token, None));
                }
            } else if let Some(why) = policy.limits.and_then(|l| l.over(now_ms, conn.heard_ms, conn.blocked_ms)) {
                over.push((token, Some(why)));
            } else if policy.active.is_some_and(|a| !conn.parked && quiet_ms >= a.idle_ms) {
                idle.push(token);
            }
        }
        over.into_iter().for_each(|(token, why)| self.close_over(token, why));
        for token in idle {
            if self.line.anybody() {
                self.park(token);
            }
        }
        let deadlines = lingering || policy.limits.is_some() || policy.active.is_some();
        self.next_sweep_ns = deadlines.then_some(self.now_ns + SWEEP_NS);
    }

    fn close_over(&mut self, token: u32, why: Option<Over>) {
        if let (Some(why), Some(conn)) = (why, self.conns.get(token)) {
            let (counter, words) = match why {
                Over::Unread => (&self.shard.cell.closed_unread, "sends and does not read"),
                Over::Silent => (&self.shard.cell.closed_silent, "is silent"),
            };
            counter.add(1);
            let peer = socket::peer_addr(conn.fd()).map_or_else(|_| "a peer".to_owned(), |a| a.to_string());
            self.shard.control.name_peer(format!("{peer} {words}"));
            // What it never read would otherwise stay in the kernel until its own timeout.
            let _ = socket::set_reset_on_close(conn.fd());
        }
        self.close(token, End::Done);
    }
}
