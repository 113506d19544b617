//! A fixed number of threads that share one epoll instance. Each thread takes one event, serves the event's connection,
//! and waits for the next event. Because of EPOLLONESHOT, no other thread serves the same connection at the same time.
//!
//! The model is the classic thread pool, which the Windows study (Jones and Deshpande, 2000) does not have. If a thread
//! sleeps or blocks while it handles a request, the capacity is the number of threads divided by the service time. With
//! `sleep_ms`, the model is the test case for the verdict `server-concurrency`.
//!
//! Cost of an event: one call each of epoll_wait, recv, send and epoll_ctl. The thread also takes the connection's
//! lock, for which it rarely waits.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sys::epoll::{Epoll, Events, Interest};
use sys::{Errno, clock, socket};

use super::launch::Launch;
use crate::acceptor::PAUSE_NS;
use crate::connection::{Connection, End, HeadState, now_ms};
use crate::control::{Control, lock};
use crate::ready::{Conn, LISTENER, Scratch, Turn, WAKER, Want};
use crate::shard::SWEEP_NS;
use crate::slab::Slab;
use crate::stats::Cell;
use crate::strategies::{LimitHit, Policy};
use crate::{ServeError, Service};

/// State that the threads share.
struct Pool {
    epoll: Epoll,
    listener: Arc<OwnedFd>,
    conns: Mutex<Slab<Arc<Mutex<Conn>>>>,
    control: Arc<Control>,
    service: Arc<dyn Service>,
    cell: Arc<Cell>,
    /// Maximum time for the head of a request, milliseconds; 0 for no limit.
    head_ms: u32,
    /// Connections with an incomplete head.
    heads: Mutex<Vec<u32>>,
    /// Time of the next check of the connections in `heads`, nanoseconds; `u64::MAX` if `heads` is empty.
    sweep_ns: AtomicU64,
}

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    launch.refuse_pace("workers")?;
    let threads = launch.options.get("workers")?.unwrap_or(launch.plan.threads).clamp(1, 4096);
    let (mut listeners, addr) = launch.listen(1, false)?;
    let os = |what| move |e| ServeError::os(what, e);
    let pool = Arc::new(Pool {
        epoll: Epoll::new().map_err(os("make an epoll instance"))?,
        listener: listeners.remove(0),
        conns: Mutex::new(Slab::new()),
        control: launch.control.clone(),
        service: launch.service.clone(),
        cell: launch.control.cell(),
        head_ms: launch.policy.head_ms,
        heads: Mutex::default(),
        sweep_ns: AtomicU64::new(u64::MAX),
    });
    let waker = launch.control.waker()?;
    // The waker is level-triggered and never cleared, so it wakes all threads when the server stops.
    pool.epoll.add(waker.as_fd(), u64::from(WAKER), Interest::IN).map_err(os("watch the waker"))?;
    let once = Interest::IN | Interest::ONESHOT;
    pool.epoll.add(&*pool.listener, u64::from(LISTENER), once).map_err(os("watch the listening socket"))?;
    for _ in 0..threads {
        let pool = pool.clone();
        launch.control.spawn("worker", move || pool.serve())?;
    }
    Ok(addr)
}

impl Pool {
    fn serve(&self) -> Result<(), ServeError> {
        let mut scratch = Scratch::new();
        let mut events = Events::with_capacity(1);
        while !self.control.stopping() {
            let timeout = self.sweep(&mut scratch);
            self.epoll.wait(&mut events, timeout).map_err(|e| ServeError::os("wait for events", e))?;
            let Some(event) = events.get(0) else { continue };
            self.service.tick(clock::realtime_ns() / 1_000_000_000);
            match event.token as u32 {
                WAKER => {}
                LISTENER => self.accept()?,
                token => self.turn(token, &mut scratch),
            }
        }
        Ok(())
    }

    fn accept(&self) -> Result<(), ServeError> {
        match socket::accept(&*self.listener) {
            Ok(fd) => self.open(fd),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.cell.accept_paused.add_shared(1);
                // Only the thread that failed to accept pauses. All other threads serve the open connections.
                clock::sleep_until_ns(clock::monotonic_ns() + PAUSE_NS);
            }
            Err(_) => {}
        }
        let again = self.epoll.modify(&*self.listener, u64::from(LISTENER), Interest::IN | Interest::ONESHOT);
        again.map_err(|e| ServeError::os("watch the listening socket", e))
    }

    fn open(&self, fd: OwnedFd) {
        let conn = Arc::new(Mutex::new(Conn::new(fd, Connection::new(self.service.session(), now_ms(), false))));
        self.cell.opened_shared();
        let token = lock(&self.conns).insert(conn.clone());
        let conn = lock(&conn);
        if self.epoll.add(conn.fd(), u64::from(token), interest(conn.wants())).is_err() {
            self.close(token, End::Reset);
        }
    }

    fn turn(&self, token: u32, scratch: &mut Scratch) {
        let Some(conn) = lock(&self.conns).get(token).cloned() else { return };
        self.serve_one(token, &mut lock(&conn), true, scratch);
    }

    fn serve_one(&self, token: u32, conn: &mut Conn, readable: bool, scratch: &mut Scratch) {
        // Several threads write the counters of the pool. `turn` counts in its own counters, which are then added to
        // the pool's counters with atomic operations.
        let own = Cell::default();
        let outcome = conn.turn(readable, Policy::NONE.read, scratch, &own, now_ms());
        self.cell.bytes_in.add_shared(own.bytes_in.get());
        self.cell.bytes_out.add_shared(own.bytes_out.get());
        self.cell.requests.add_shared(own.requests.get());
        match outcome {
            Turn::Close(end) => self.close(token, end),
            Turn::Wait(want) | Turn::Again(want) => {
                if self.head_ms > 0 && conn.state.activity.starts_head_watch() {
                    self.watch_head(token);
                }
                if self.epoll.modify(conn.fd(), u64::from(token), interest(want)).is_err() {
                    self.close(token, End::Reset);
                }
            }
        }
    }

    fn watch_head(&self, token: u32) {
        lock(&self.heads).push(token);
        self.sweep_ns.fetch_min(clock::monotonic_ns() + SWEEP_NS, Ordering::Relaxed);
    }

    /// Checks the incomplete request heads if the time of their next check has come. Returns the time until the next
    /// check; the thread uses this time as the timeout of its next wait.
    fn sweep(&self, scratch: &mut Scratch) -> Option<u64> {
        let due = self.sweep_ns.load(Ordering::Relaxed);
        if due == u64::MAX {
            return None;
        }
        let now = clock::monotonic_ns();
        if due > now {
            return Some(due - now);
        }
        // The atomic exchange ensures that only one of the threads checks the incomplete request heads.
        if self.sweep_ns.compare_exchange(due, u64::MAX, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let heads = std::mem::take(&mut *lock(&self.heads));
            heads.into_iter().for_each(|token| self.check_head(token, scratch));
        }
        Some(SWEEP_NS)
    }

    fn check_head(&self, token: u32, scratch: &mut Scratch) {
        let Some(shared) = lock(&self.conns).get(token).cloned() else { return };
        // If another thread is serving the connection now, the deadline of the head is checked later.
        let Ok(mut conn) = shared.try_lock() else { return self.watch_head(token) };
        match conn.state.activity.check_head(now_ms(), self.head_ms) {
            HeadState::Complete => {}
            HeadState::Incomplete => self.watch_head(token),
            HeadState::Late => {
                self.cell.closed_slow.add_shared(1);
                self.control.close_at_limit(LimitHit::SlowHead, Some(conn.fd()));
                conn.state.head_is_late();
                self.serve_one(token, &mut conn, false, scratch);
            }
        }
    }

    fn close(&self, token: u32, end: End) {
        lock(&self.conns).remove(token);
        self.cell.closed_shared(end);
    }
}

fn interest(want: Want) -> Interest {
    let mut interest = Interest::ONESHOT;
    interest.set(Interest::IN, want.read);
    interest.set(Interest::OUT, want.write);
    interest
}
