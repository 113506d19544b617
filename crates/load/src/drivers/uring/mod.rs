//! The io_uring driver. Sockets are in the ring's table of registered files, and a connect is a sequence of operations
//! (socket, options, bind, connect). Every connection has one multishot receive, which writes into a buffer ring that
//! all connections share. A send of a small request produces no completion. The system call that waits for completions
//! also submits all operations that a pass of the driver's loop has queued. Under load, a wait collects several
//! completions, but only for a limited time. Sources: io_uring_enter(2) (min wait), io_uring_register_buf_ring(3),
//! io_uring_setup(2) (DEFER_TASKRUN).

mod ops;
#[cfg(test)]
mod tests;

use run::{Io, LoadPart};
use sys::peer::Peer;
use sys::uring::{Buffers, Config, Cqe, Ring};
use sys::{Errno, clock};

use self::ops::{CONNECT, HALF_CLOSE, NOTHING, OPEN, RECEIVE, SEND, Slot, State, UNRECEIVED, UringOps};
use super::row::DriverSpec;
use super::setup::Setup;
use super::shard::{Shard, failed};
use crate::LoadError;
use crate::driver::{Batch, Completion, Driver, Op, Ops as _};

/// Row of the io_uring driver in [`DRIVERS`](super::DRIVERS). Sockets are in the ring's own table. Such a socket cannot
/// be passed to another process, or used for another connect.
pub(super) const SPEC: DriverSpec = DriverSpec {
    io: Io::Uring,
    name: "uring",
    help: "io_uring: registered files, multishot receive into a buffer ring, batched sends; auto takes it where it is \
           allowed, because it makes fewer system calls",
    system: "io_uring",
    usable: || Ring::new(&Config { files: 1, buffers: 1, ..Config::default() }).map(drop),
    auto: true,
    joins_datagrams: false,
    plain_descriptors: false,
    ..DriverSpec::DEFAULT
};

/// Runs one shard (generator thread) with the io_uring driver.
pub(super) fn run(shard: Shard<'_>) -> Result<LoadPart, LoadError> {
    let mut driver = UringDriver::new(&shard.setup).map_err(failed)?;
    shard.drive(&mut driver)
}

/// Minimum size of the completion queue, in completions.
const MIN_COMPLETIONS: u32 = 4096;
/// Maximum number of completions that are taken from the ring at once.
const MAX_REAPED: usize = 256;
/// Number of completions after which the clock is read again within one pass of the event loop.
const CLOCK_EVERY: usize = 8;
/// Maximum time to wait at the end for connections that are still closing, nanoseconds.
const MAX_SHUTDOWN_NS: u64 = 1_000_000_000;
/// Range of the maximum number of receive buffers, which depends on the number of connections. The kernel uses the
/// buffers one after another, so a small number of buffers stays in the CPU's caches. However, a receive that finds no
/// free buffer ends and must be started again. Many receives find no free buffer if many answers come in one pass of
/// the event loop. The driver therefore starts with few buffers, and doubles their number whenever a receive has found
/// none.
const BUFFER_COUNTS: (u32, u32) = (16, 8192);
/// Maximum number of receive buffers when the driver starts.
const FIRST_BUFFERS: u16 = 256;
/// Size of one receive buffer, bytes.
const BUFFER_BYTES: u32 = 16 * 1024;
/// Size of the pieces in which a request is sent if it needs several writes, bytes. Each piece is sent after the peer
/// has acknowledged the previous piece.
const PIECE_BYTES: usize = 16 * 1024;
/// Maximum number of bytes that may be sent without completions. Sends without completions need a socket buffer with
/// space for all bytes, so that they never wait for the peer. The smallest buffer that the kernel gives to an
/// established connection is 87 kB.
const MAX_UNACKED_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of the socket buffer that a small segment uses.
const SEGMENT_BYTES: usize = 2304;

/// The io_uring driver.
#[derive(Debug)]
pub(crate) struct UringDriver {
    ops: UringOps,
    buffers: Buffers,
    done: Vec<Cqe>,
}

impl UringDriver {
    /// Creates the driver for the connections of one shard (generator thread). Fails with ENOSYS, EPERM or EINVAL if
    /// io_uring is not available.
    pub(crate) fn new(setup: &Setup) -> Result<Self, Errno> {
        let acked = setup.burst.is_none_or(|(writes, bytes)| writes * SEGMENT_BYTES + bytes > MAX_UNACKED_BYTES);
        let slot_bytes = match setup.burst {
            Some((_, bytes)) if !acked => (2 * bytes).next_power_of_two().max(256),
            _ => PIECE_BYTES,
        };
        let mut addresses = vec![setup.target.clone()];
        addresses.extend(setup.source_addrs().into_iter().map(Peer::from).chain(setup.further_peers()));
        let files = setup.capacity.min(setup.descriptors).max(1);
        let completions = (setup.capacity * 2).clamp(MIN_COMPLETIONS, 65_536);
        let config = Config {
            entries: 1024,
            completions,
            files,
            slots: files,
            slot_bytes: slot_bytes as u32,
            buffers: setup.capacity.next_power_of_two().clamp(BUFFER_COUNTS.0, BUFFER_COUNTS.1) as u16,
            buffers_at_first: FIRST_BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            addresses,
            ..Config::default()
        };
        let (ring, buffers) = Ring::new(&config)?;
        let ops = UringOps {
            ring,
            slots: vec![Slot::default(); setup.capacity as usize],
            files,
            slot_bytes,
            acked,
            nodelay: setup.nodelay,
            datagrams: setup.target.is_datagram(),
            sources: setup.sources.len() as u32,
            next_source: 0,
            now_ns: clock::monotonic_ns(),
            lacks_buffers: false,
            ending: 0,
            completions,
        };
        Ok(Self { ops, buffers: buffers.ok_or(Errno::NOMEM)?, done: Vec::with_capacity(MAX_REAPED) })
    }
}

impl Driver for UringDriver {
    type Ops = UringOps;
    const WAKES_LATE: bool = true;

    fn ops(&mut self) -> &mut UringOps {
        &mut self.ops
    }

    fn wait(
        &mut self,
        until_ns: u64,
        batch: Batch,
        mut f: impl FnMut(&mut UringOps, Completion<'_>),
    ) -> Result<(), Errno> {
        let Self { ops, buffers, done } = self;
        let timeout = until_ns.saturating_sub(ops.now_ns);
        let want = if ops.ring.has_min_wait() && batch.within_us > 0 { batch.want.max(1) } else { 1 };
        let want = want.max(ops.ending.min(ops.completions / 2));
        ops.ring.submit_and_wait(want, Some(timeout), batch.within_us)?;
        // One pass of the event loop handles at most as many completions as fit into the ring. Handling a completion
        // starts operations that may complete at once, so an unlimited pass might never end.
        let mut left = ops.completions as usize;
        loop {
            ops.ring.reap(done);
            let (taken, more) = (done.len(), done.len() == done.capacity());
            for (at, cqe) in done.drain(..).enumerate() {
                if at % CLOCK_EVERY == 0 {
                    ops.refresh();
                }
                on_completion(ops, buffers, cqe, &mut f);
            }
            if std::mem::take(&mut ops.lacks_buffers) {
                buffers.more();
            }
            buffers.publish();
            left = left.saturating_sub(taken);
            if !more || left == 0 {
                return Ok(());
            }
        }
    }
}

impl Drop for UringDriver {
    /// Waits for connections that are still closing, several at a time. If the ring were closed at once, the kernel
    /// would search a list of all operations for each connection. In a short run with 12,000 connections, the kernel's
    /// searches in its list of operations would take half of the CPU time.
    fn drop(&mut self) {
        let until_ns = clock::monotonic_ns() + MAX_SHUTDOWN_NS;
        while self.ops.ending > 0 && self.ops.refresh() < until_ns {
            if self.wait(until_ns, Batch::default(), |_, _| {}).is_err() {
                return;
            }
        }
    }
}

#[inline]
fn on_completion(
    ops: &mut UringOps,
    buffers: &mut Buffers,
    cqe: Cqe,
    f: &mut impl FnMut(&mut UringOps, Completion<'_>),
) {
    let (kind, conn, generation) = (cqe.user >> 56, cqe.user as u32, (cqe.user >> 32) as u32 & 0xff_ffff);
    if kind == HALF_CLOSE {
        if let Err(errno) = ops.half_closed(conn) {
            f(ops, Completion::Failed { conn, op: Op::Connect, errno });
        }
        return;
    }
    let current = ops.slots.get(conn as usize).is_some_and(|s| s.generation & 0xff_ffff == generation);
    // `ending` does not count sends for which the kernel reports only failures.
    let cancelled = !matches!(kind, NOTHING | OPEN | UNRECEIVED) && (kind != SEND || ops.acked);
    if !current && !cqe.more && cancelled {
        ops.ending = ops.ending.saturating_sub(1);
    }
    if kind == RECEIVE {
        if current {
            received(ops, buffers, conn, &cqe, f);
        }
        if let Some(id) = cqe.buffer {
            buffers.recycle(id);
        }
        return;
    }
    if !current {
        return;
    }
    match (kind, cqe.outcome()) {
        (CONNECT, Ok(_)) => {
            ops.slots[conn as usize].state = State::Open;
            if let Err(errno) = ops.receive(conn) {
                return f(ops, Completion::Failed { conn, op: Op::Connect, errno });
            }
            f(ops, Completion::Connected { conn });
        }
        (OPEN | CONNECT, Err(errno)) if errno != Errno::CANCELED => {
            if kind == CONNECT {
                ops.slots[conn as usize].state = State::Failed;
            }
            f(ops, Completion::Failed { conn, op: Op::Connect, errno });
        }
        (SEND, Ok(_)) => {
            ops.slots[conn as usize].sending = false;
            f(ops, Completion::Writable { conn });
        }
        (SEND, Err(errno)) => {
            ops.slots[conn as usize].sending = false;
            f(ops, Completion::Failed { conn, op: Op::Send, errno });
        }
        (UNRECEIVED, bytes) => {
            ops.slots[conn as usize].unreceived = bytes.unwrap_or(0);
            f(ops, Completion::PeerClosed { conn });
        }
        _ => {}
    }
}

#[inline]
fn received(
    ops: &mut UringOps,
    buffers: &mut Buffers,
    conn: u32,
    cqe: &Cqe,
    f: &mut impl FnMut(&mut UringOps, Completion<'_>),
) {
    ops.slots[conn as usize].receiving = cqe.more;
    let generation = ops.slots[conn as usize].generation;
    match (cqe.outcome(), &cqe.buffer) {
        // The end of the connection is reported after the kernel has said how many bytes the peer has not received. An
        // empty read is an empty datagram, because a socket for datagrams reports no end of the data.
        (Ok(0), _) if ops.datagrams => {}
        (Ok(n), Some(id)) if ops.datagrams => {
            let bytes = buffers.bytes(id, n as usize);
            f(ops, Completion::Datagrams { conn, bytes, datagram_bytes: bytes.len() });
        }
        (Ok(0), _) if ops.ask_unreceived(conn) => return,
        (Ok(0), _) => return f(ops, Completion::PeerClosed { conn }),
        (Ok(n), Some(id)) => {
            ops.slots[conn as usize].sent_last = false;
            f(ops, Completion::Received { conn, bytes: buffers.bytes(id, n as usize) });
        }
        (Ok(_), None) => {}
        // No receive buffer was free. The receive only has to be started again, because the buffers in use become free
        // before the next wait.
        (Err(Errno::NOBUFS), _) => ops.lacks_buffers = true,
        (Err(errno), _) => return f(ops, Completion::Failed { conn, op: Op::Receive, errno }),
    }
    let slot = ops.slots[conn as usize];
    if !cqe.more
        && slot.generation == generation
        && slot.state == State::Open
        && !slot.receiving
        && let Err(errno) = ops.receive(conn)
    {
        f(ops, Completion::Failed { conn, op: Op::Receive, errno });
    }
}
