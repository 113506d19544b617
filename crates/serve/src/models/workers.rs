//! A fixed number of threads on one epoll instance: each takes one event, serves it to its end, and asks for the next
//! (EPOLLONESHOT keeps the others away from that connection meanwhile). Not in the source: the classic thread pool, whose
//! capacity is threads / service time when requests wait on something. With `sleep_ms` it is the planted
//! server-concurrency case.
//!
//! Cost of an event: epoll_wait, recv, send and epoll_ctl, and a lock of the connection, which is never contended.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};

use sys::epoll::{Epoll, Events, Interest};
use sys::{Errno, clock, socket};

use super::Launch;
use crate::conn::{Conn, End, Scratch, Turn, Want};
use crate::ready::{LISTENER, WAKER};
use crate::server::{Control, lock};
use crate::slab::Slab;
use crate::stats::Cell;
use crate::strategies::Policy;
use crate::{ServeError, Service};

/// How long accepting rests when no descriptor is left.
const PAUSE_NS: u64 = 100_000_000;

/// What the threads share.
struct Pool {
    epoll: Epoll,
    listener: Arc<OwnedFd>,
    conns: Mutex<Slab<Arc<Mutex<Conn>>>>,
    control: Arc<Control>,
    service: Arc<dyn Service>,
    cell: Arc<Cell>,
}

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    launch.no_pace("workers")?;
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
    });
    let waker = launch.control.waker()?;
    // Level-triggered and never taken: it wakes all threads when the server is to stop.
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
            self.epoll.wait(&mut events, None).map_err(|e| ServeError::os("wait for events", e))?;
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
                // This thread rests; the others go on with what is open.
                clock::sleep_until_ns(clock::monotonic_ns() + PAUSE_NS);
            }
            Err(_) => {}
        }
        let again = self.epoll.modify(&*self.listener, u64::from(LISTENER), Interest::IN | Interest::ONESHOT);
        again.map_err(|e| ServeError::os("watch the listening socket", e))
    }

    fn open(&self, fd: OwnedFd) {
        let conn = Arc::new(Mutex::new(Conn::new(fd, self.service.session(), 0)));
        self.cell.opened_shared();
        let token = lock(&self.conns).insert(conn.clone());
        let conn = lock(&conn);
        if self.epoll.add(conn.fd(), u64::from(token), interest(conn.first_want())).is_err() {
            self.close(token, End::Reset);
        }
    }

    fn turn(&self, token: u32, scratch: &mut Scratch) {
        let Some(conn) = lock(&self.conns).get(token).cloned() else { return };
        let mut conn = lock(&conn);
        // Counters of its own, added afterwards: several threads write the pool's.
        let own = Cell::default();
        let now_ms = (clock::monotonic_ns() / 1_000_000) as u32;
        let outcome = conn.turn(true, Policy::NONE.read, scratch, &own, now_ms);
        self.cell.bytes_in.add_shared(own.bytes_in.get());
        self.cell.bytes_out.add_shared(own.bytes_out.get());
        self.cell.requests.add_shared(own.requests.get());
        match outcome {
            Turn::Close(end) => self.close(token, end),
            Turn::Wait(want) | Turn::Again(want) => {
                if self.epoll.modify(conn.fd(), u64::from(token), interest(want)).is_err() {
                    self.close(token, End::Reset);
                }
            }
        }
    }

    fn close(&self, token: u32, end: End) {
        lock(&self.conns).remove(token);
        self.cell.closed_shared();
        match end {
            End::Done => {}
            End::Reset => self.cell.resets.add_shared(1),
            End::Fault => self.cell.faults.add_shared(1),
        }
    }
}

fn interest(want: Want) -> Interest {
    let mut interest = Interest::ONESHOT;
    interest.set(Interest::IN, want.read);
    interest.set(Interest::OUT, want.write);
    interest
}
