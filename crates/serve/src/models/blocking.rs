//! Two threads a connection: one receives and puts what is to be sent into a queue, the other sends. The source's
//! blocking server. Every call blocks; nothing is waited for but the call itself.
//!
//! What ends it is the number of threads (memory of their stacks, pids, threads-max); a connection for which no threads
//! can be made is reset, because a Linux listener itself never refuses.
//!
//! Cost of an event: a recv, a send, and two switches of threads with a condition variable between them.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use sys::clock;
use sys::poll::{self, Entry};

use super::Launch;
use crate::conn::{BoxedSession, PIECE};
use crate::listener::{Accepted, Acceptor, Pace};
use crate::server::{Control, lock};
use crate::slab::Slab;
use crate::stats::{Cell, Counter};
use crate::strategies::Limits;
use crate::{ServeError, Service};

/// Pieces that wait for the sender before the receiver waits too.
const QUEUE: usize = 4;
/// How long and how much a peer is read after our side has ended.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1 << 20;

/// What all threads of the server share.
struct Shared {
    control: Arc<Control>,
    service: Arc<dyn Service>,
    limits: Option<Limits>,
    cell: Arc<Cell>,
    /// To wake blocked threads when the server stops.
    open: Mutex<Slab<Arc<TcpStream>>>,
}

/// The queue between the two threads of a connection.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Vec<u8>>,
    /// Nothing more will be put in.
    ended: bool,
    /// Nothing more will be taken out.
    broken: bool,
}

/// Why a connection ended early.
enum Stop {
    Reset,
    Fault,
    Silent,
}

pub(super) fn start(launch: &Launch<'_>) -> Result<SocketAddr, ServeError> {
    let (mut listeners, addr) = launch.listen(1, false)?;
    let pace = Pace::from(launch.options)?;
    let acceptor = Acceptor::new(listeners.remove(0), pace, clock::monotonic_ns());
    let waker = launch.control.waker()?;
    let shared = Arc::new(Shared {
        control: launch.control.clone(),
        service: launch.service.clone(),
        limits: launch.policy.limits,
        cell: launch.control.cell(),
        open: Mutex::new(Slab::new()),
    });
    launch.control.spawn("accept", move || accept(&shared, acceptor, &waker))?;
    Ok(addr)
}

fn accept(shared: &Arc<Shared>, mut acceptor: Acceptor, waker: &sys::wake::Waker) -> Result<(), ServeError> {
    while !shared.control.stopping() {
        let asked = if acceptor.on_readiness() { poll::IN } else { 0 };
        let mut entries = [Entry::new(waker.as_raw_fd(), poll::IN), Entry::new(acceptor.fd().as_raw_fd(), asked)];
        let timeout = acceptor.due_ns().map(|due| due.saturating_sub(clock::monotonic_ns()));
        poll::poll(&mut entries, timeout).map_err(|e| ServeError::os("wait for connections", e))?;
        let now_ns = clock::monotonic_ns();
        for _ in 0..acceptor.allowance(now_ns) {
            match acceptor.take(now_ns, &shared.cell) {
                Accepted::One(fd) => open(shared, fd),
                Accepted::Enough | Accepted::Pause => break,
            }
        }
    }
    for (_, stream) in lock(&shared.open).iter() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    Ok(())
}

/// Makes the two threads of a connection.
fn open(shared: &Arc<Shared>, fd: OwnedFd) {
    let stream = TcpStream::from(fd);
    let (silent, unsent) = shared.limits.map_or((None, None), |l| (Some(l.silent_ms), Some(l.unsent_ms)));
    let ms = |ms: Option<u32>| ms.map(|ms| Duration::from_millis(u64::from(ms.max(1))));
    let ready = stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_read_timeout(ms(silent)))
        .and_then(|()| stream.set_write_timeout(ms(unsent)));
    shared.cell.opened_shared();
    if ready.is_err() {
        return shared.cell.closed_shared();
    }
    let stream = Arc::new(stream);
    let token = lock(&shared.open).insert(stream.clone());
    let queue = Arc::new(Queue::default());
    let (sender, receiver) = (queue.clone(), queue.clone());
    let (a, b) = (shared.clone(), shared.clone());
    let (to, from) = (stream.clone(), stream);
    let sends = shared.control.spawn_detached("send", move || {
        send(&a, &to, &sender);
        Ok(())
    });
    let receives = sends.and_then(|_| {
        b.clone().control.spawn_detached("recv", move || {
            receive(&b, &from, &receiver);
            // Both directions are over when the receiver is; the sender empties the queue first.
            lock(&b.open).remove(token);
            b.cell.closed_shared();
            Ok(())
        })
    });
    if let Err(e) = receives {
        queue.end();
        if let Some(stream) = lock(&shared.open).remove(token) {
            let _ = sys::socket::set_reset_on_close(&*stream);
        }
        shared.cell.closed_shared();
        shared.cell.refused.add_shared(1);
        if shared.cell.refused.get() == 1 {
            shared.control.fail(e.to_string());
        }
    }
}

/// The receiving thread.
fn receive(shared: &Shared, stream: &TcpStream, queue: &Queue) {
    let mut session = shared.service.session();
    let outcome = exchange(shared, stream, queue, &mut session);
    queue.end();
    match outcome {
        Ok(true) => linger(shared, stream, queue),
        Ok(false) => queue.wait_empty(),
        Err(Stop::Reset) => shared.cell.resets.add_shared(1),
        Err(Stop::Fault) => shared.cell.faults.add_shared(1),
        Err(Stop::Silent) => over(shared, stream, &shared.cell.closed_silent, "is silent"),
    }
}

/// Receives until the connection ends; true: the peer may still be sending.
fn exchange(shared: &Shared, stream: &TcpStream, queue: &Queue, session: &mut BoxedSession) -> Result<bool, Stop> {
    let mut input = vec![0; PIECE];
    let mut close = pump(session, queue)?;
    let mut linger = false;
    let mut peer_closed = false;
    while !close {
        shared.service.tick(clock::realtime_ns() / 1_000_000_000);
        let progress = match (&*stream).read(&mut input) {
            Ok(0) if peer_closed => return Ok(false),
            Ok(0) => {
                peer_closed = true;
                session.peer_closed()
            }
            Ok(n) => {
                shared.cell.bytes_in.add_shared(n as u64);
                session.receive(&input[..n])
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Err(Stop::Silent),
            Err(_) => return Err(Stop::Reset),
        };
        let progress = progress.map_err(|_| Stop::Fault)?;
        shared.cell.requests.add_shared(u64::from(progress.completed));
        linger |= progress.linger;
        close = pump(session, queue)? || progress.close;
    }
    Ok(linger && !peer_closed)
}

/// Puts everything that the session has to send into the queue; true when the connection is over then.
fn pump(session: &mut BoxedSession, queue: &Queue) -> Result<bool, Stop> {
    while session.wants_transmit() {
        let mut piece = vec![0; PIECE];
        let n = session.transmit(&mut piece);
        if n == 0 {
            break;
        }
        piece.truncate(n);
        piece.shrink_to_fit();
        queue.put(piece)?;
    }
    Ok(session.flushed().close)
}

/// Reads on for a while after the last answer, so that a close does not destroy it on its way.
fn linger(shared: &Shared, stream: &TcpStream, queue: &Queue) {
    queue.wait_empty();
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(LINGER));
    let (mut input, mut dropped) = ([0; 4096], 0);
    while let Ok(n @ 1..) = (&*stream).read(&mut input) {
        shared.cell.bytes_in.add_shared(n as u64);
        dropped += n;
        if dropped > LINGER_BYTES {
            break;
        }
    }
}

/// The sending thread.
fn send(shared: &Shared, stream: &TcpStream, queue: &Queue) {
    while let Some(piece) = queue.take() {
        let mut at = 0;
        while at < piece.len() {
            match (&*stream).write(&piece[at..]) {
                Ok(n) => {
                    at += n;
                    shared.cell.bytes_out.add_shared(n as u64);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
                        over(shared, stream, &shared.cell.closed_unread, "sends and does not read");
                    }
                    queue.give_up();
                    // The receiver may be blocked in a read.
                    let _ = stream.shutdown(Shutdown::Both);
                    return;
                }
            }
        }
        queue.sent();
    }
}

/// Counts and names a peer that a limit closes.
fn over(shared: &Shared, stream: &TcpStream, counter: &Counter, words: &str) {
    counter.add_shared(1);
    let peer = stream.peer_addr().map_or_else(|_| "a peer".to_owned(), |a| a.to_string());
    shared.control.name_peer(format!("{peer} {words}"));
    let _ = sys::socket::set_reset_on_close(stream);
}

impl Queue {
    fn wait<'a>(&'a self, state: std::sync::MutexGuard<'a, State>) -> std::sync::MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, piece: Vec<u8>) -> Result<(), Stop> {
        let mut state = lock(&self.state);
        while state.pieces.len() >= QUEUE && !state.broken {
            state = self.wait(state);
        }
        if state.broken {
            return Err(Stop::Reset);
        }
        state.pieces.push_back(piece);
        self.changed.notify_all();
        Ok(())
    }

    /// The next piece, which stays counted until [`Queue::sent`]; nothing when there will be none.
    fn take(&self) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(piece) = state.pieces.front_mut() {
                return Some(std::mem::take(piece));
            }
            if state.ended {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn sent(&self) {
        lock(&self.state).pieces.pop_front();
        self.changed.notify_all();
    }

    fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    fn give_up(&self) {
        let mut state = lock(&self.state);
        state.broken = true;
        state.pieces.clear();
        self.changed.notify_all();
    }

    fn wait_empty(&self) {
        let mut state = lock(&self.state);
        while !state.pieces.is_empty() && !state.broken {
            state = self.wait(state);
        }
    }
}
