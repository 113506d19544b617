//! Two threads a connection: one receives and puts what is to be sent into a queue, the other sends. The source's
//! blocking server. Every call blocks; nothing is waited for but the call itself.
//!
//! What ends it is the number of threads (memory of their stacks, pids, threads-max); a connection for which no threads
//! can be made is reset, because a Linux listener itself never refuses.
//!
//! Cost of an event: a recv, a send, and two switches of threads with a condition variable between them.

mod head_timer;
mod queue;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sys::clock;

use self::head_timer::HeadTimer;
use self::queue::{Broken, Queue};
use super::launch::Launch;
use crate::conn::{BoxedSession, PIECE};
use crate::listener::{Acceptor, Pace};
use crate::server::{Control, lock};
use crate::slab::Slab;
use crate::stats::{Cell, Counter};
use crate::strategies::Limits;
use crate::{ServeError, Service};

/// How long and how much a peer is read after our side has ended.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 1 << 20;

/// What all threads of the server share.
struct Shared {
    control: Arc<Control>,
    service: Arc<dyn Service>,
    limits: Option<Limits>,
    /// How long the head of a request may take, milliseconds; 0: for ever.
    head_ms: u32,
    cell: Arc<Cell>,
    /// To wake blocked threads when the server stops.
    open: Mutex<Slab<Arc<TcpStream>>>,
}

/// Why a connection ended early.
enum Stop {
    Reset,
    Fault,
    Silent,
    Slow,
}

impl From<Broken> for Stop {
    fn from(_: Broken) -> Self {
        Self::Reset
    }
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
        head_ms: launch.policy.head_ms,
        cell: launch.control.cell(),
        open: Mutex::new(Slab::new()),
    });
    launch.control.spawn("accept", move || accept(&shared, acceptor, &waker))?;
    Ok(addr)
}

fn accept(shared: &Arc<Shared>, acceptor: Acceptor, waker: &sys::wake::Waker) -> Result<(), ServeError> {
    acceptor.run(&shared.control, waker, &shared.cell, |fd| open(shared, fd))?;
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
        Err(Stop::Silent) => over(shared, stream, &shared.cell.closed_silent, "is silent", true),
        Err(Stop::Slow) => queue.wait_empty(),
    }
}

/// Receives until the connection ends; true: the peer may still be sending.
fn exchange(shared: &Shared, stream: &TcpStream, queue: &Queue, session: &mut BoxedSession) -> Result<bool, Stop> {
    let mut input = vec![0; PIECE];
    let mut close = pump(session, queue)?;
    let mut linger = false;
    let mut peer_closed = false;
    let mut timer = HeadTimer::default();
    while !close {
        shared.service.tick(clock::realtime_ns() / 1_000_000_000);
        if !timer.before_read(shared.head_ms, shared.limits, stream) {
            // Counted before it is told: who reads the answer finds the count.
            over(shared, stream, &shared.cell.closed_slow, "takes too long for a request's head", false);
            session.head_is_late();
            let _ = pump(session, queue);
            return Err(Stop::Slow);
        }
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
            // The timer says whether it was the head that took too long.
            Err(e) if timed_out(&e) && timer.runs() => continue,
            Err(e) if timed_out(&e) => return Err(Stop::Silent),
            Err(_) => return Err(Stop::Reset),
        };
        let progress = progress.map_err(|_| Stop::Fault)?;
        timer.heard(progress.completed, session.awaits_head());
        shared.cell.requests.add_shared(u64::from(progress.completed));
        linger |= progress.linger;
        close = pump(session, queue)? || progress.close;
    }
    Ok(linger && !peer_closed)
}

fn timed_out(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
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
    let (mut input, mut dropped, since) = ([0; 4096], 0, Instant::now());
    while let Ok(n @ 1..) = (&*stream).read(&mut input) {
        shared.cell.bytes_in.add_shared(n as u64);
        dropped += n;
        if dropped > LINGER_BYTES || since.elapsed() > LINGER {
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
                    if timed_out(&e) {
                        over(shared, stream, &shared.cell.closed_unread, "sends and does not read", true);
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
fn over(shared: &Shared, stream: &TcpStream, counter: &Counter, words: &str, reset: bool) {
    counter.add_shared(1);
    let peer = stream.peer_addr().map_or_else(|_| "a peer".to_owned(), |a| a.to_string());
    shared.control.name_peer(format!("{peer} {words}"));
    if reset {
        let _ = sys::socket::set_reset_on_close(stream);
    }
}
