//! Blocking server of the Windows study (Jones and Deshpande, 2000), with two threads per connection. One thread
//! receives and puts answers into a queue, and the other thread sends the answers in the queue. The system calls on
//! sockets block.
//!
//! The number of connections is limited by the number of threads (memory of their stacks, process IDs, threads-max). A
//! connection for which no threads can be started is reset, because a Linux listener itself never refuses a connection.
//!
//! Cost of an event: one recv, one send, and two thread switches by means of a condition variable.

mod head_timer;
mod queue;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sys::clock;

use self::head_timer::HeadTimer;
use self::queue::{Broken, Queue};
use super::launch::Launch;
use crate::acceptor::{Acceptor, Pace};
use crate::connection::{Connection, End, LINGER_MS, Next, PIECE_BYTES, now_ms};
use crate::control::{Control, lock};
use crate::slab::Slab;
use crate::stats::Cell;
use crate::strategies::{LimitHit, Limits};
use crate::{ServeError, Service};

/// State shared by all threads of the server.
struct Shared {
    control: Arc<Control>,
    service: Arc<dyn Service>,
    limits: Option<Limits>,
    /// Maximum time for the head of a request, milliseconds; 0 for no limit.
    head_ms: u32,
    cell: Arc<Cell>,
    /// Sockets of all open connections. When the server stops, it shuts down these sockets to wake blocked threads.
    open: Mutex<Slab<Arc<TcpStream>>>,
}

impl From<Broken> for End {
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

/// Starts the two threads of a connection.
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
        return shared.cell.closed_shared(End::Done);
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
            let end = receive(&b, &from, &receiver);
            // On a normal close, the receiving thread ends last: it waits until the sending thread has sent everything
            // in the queue.
            lock(&b.open).remove(token);
            b.cell.closed_shared(end);
            Ok(())
        })
    });
    if let Err(e) = receives {
        queue.end();
        if let Some(stream) = lock(&shared.open).remove(token) {
            let _ = sys::socket::set_reset_on_close(&*stream);
        }
        shared.cell.closed_shared(End::Done);
        shared.cell.refused.add_shared(1);
        if shared.cell.refused.get() == 1 {
            shared.control.fail(e.to_string());
        }
    }
}

/// Runs the receiving thread of a connection. Returns the reason why the connection ended.
fn receive(shared: &Shared, stream: &TcpStream, queue: &Queue) -> End {
    let mut connection = Connection::new(shared.service.session(), now_ms(), false);
    let end = exchange(shared, stream, queue, &mut connection);
    queue.end();
    end
}

/// Receives and answers until the connection ends.
fn exchange(shared: &Shared, stream: &TcpStream, queue: &Queue, connection: &mut Connection) -> End {
    let mut input = vec![0; PIECE_BYTES];
    let mut timer = HeadTimer::default();
    loop {
        match answer(connection, queue) {
            Ok(Next::Wait) => {}
            Ok(Next::EndSide) => return linger(shared, stream, connection, &mut input),
            Ok(Next::Close(end)) | Err(end) => return end,
        }
        if !timer.before_read(&connection.activity, now_ms(), shared.head_ms, shared.limits, stream) {
            // The close is counted before the peer gets the response. The close is therefore already counted when the
            // peer has read the response.
            close_at_limit(shared, stream, LimitHit::SlowHead);
            connection.head_is_late();
            continue;
        }
        match read(shared, stream, connection, &mut input) {
            Ok(completed) => shared.cell.requests.add_shared(completed.into()),
            // The next call of `before_read` decides whether the head took too long.
            Err(ReadEnd::TimedOut) if timer.is_for_head() => {}
            Err(ReadEnd::TimedOut) => {
                close_at_limit(shared, stream, LimitHit::Silent);
                return End::Done;
            }
            Err(ReadEnd::Over(end)) => return end,
        }
    }
}

/// Reason why no bytes were read.
enum ReadEnd {
    TimedOut,
    Over(End),
}

/// Reads from the socket once, and returns the number of requests that the bytes completed.
fn read(shared: &Shared, stream: &TcpStream, connection: &mut Connection, input: &mut [u8]) -> Result<u32, ReadEnd> {
    shared.service.tick(clock::realtime_ns() / 1_000_000_000);
    let completed = match (&*stream).read(input) {
        Ok(0) => connection.end_of_input(),
        Ok(n) => {
            shared.cell.bytes_in.add_shared(n as u64);
            connection.received(&input[..n], now_ms())
        }
        Err(e) if e.kind() == ErrorKind::Interrupted => Ok(0),
        Err(e) if timed_out(&e) => return Err(ReadEnd::TimedOut),
        Err(_) => Err(End::Reset),
    };
    completed.map_err(ReadEnd::Over)
}

fn timed_out(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Puts all available output into the queue. Returns the next step of the connection.
fn answer(connection: &mut Connection, queue: &Queue) -> Result<Next, End> {
    while connection.wants_write() {
        let mut piece = vec![0; PIECE_BYTES];
        let n = connection.transmit(&mut piece);
        if n == 0 {
            break;
        }
        piece.truncate(n);
        piece.shrink_to_fit();
        queue.put(piece)?;
    }
    if !connection.takes_input() {
        // The connection ends only after its last reply was sent.
        queue.wait_empty();
    }
    Ok(connection.settle(now_ms()))
}

/// Closes the server's side and continues to read for some time. If the socket were closed immediately, the last reply
/// could be lost.
fn linger(shared: &Shared, stream: &TcpStream, connection: &mut Connection, input: &mut [u8]) -> End {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(LINGER_MS.into())));
    while !connection.activity.lingered_enough(now_ms()) && read(shared, stream, connection, input).is_ok() {}
    End::Done
}

/// Runs the sending thread of a connection.
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
                        close_at_limit(shared, stream, LimitHit::Unread);
                    }
                    queue.give_up();
                    // The shutdown wakes the receiving thread, which may be blocked in a read.
                    let _ = stream.shutdown(Shutdown::Both);
                    return;
                }
            }
        }
        queue.sent();
    }
}

/// Counts and reports a peer whose connection is closed because of a limit.
fn close_at_limit(shared: &Shared, stream: &TcpStream, hit: LimitHit) {
    shared.cell.limit_counter(hit).add_shared(1);
    shared.control.close_at_limit(hit, Some(stream.as_fd()));
}
