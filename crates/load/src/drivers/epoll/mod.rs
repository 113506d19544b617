//! The epoll driver. A socket is registered once, at the connect, and its events are edge-triggered. A send first tries
//! to write, and waits for EPOLLOUT only if the write would block. Bytes are read until a read returns less than the
//! buffer can hold. A request on a kept connection takes one send and one receive, and shares one epoll_pwait2 with
//! other requests. Source: epoll(7).

mod adopt;
mod ops;
mod partner;

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use run::{Io, LoadPart};
use sys::epoll::{Epoll, Events, Interest};
use sys::{Errno, clock, socket, udp};

use self::adopt::adopt;
pub(crate) use self::ops::EpollOps;
use self::ops::Slot;
pub(crate) use self::partner::PartnerMessage;
use self::partner::{PARTNER_TOKEN, Partner};
use super::row::DriverSpec;
use super::setup::Setup;
use super::shard::{Shard, failed};
use crate::LoadError;
use crate::driver::{Batch, Completion, Driver, Op, Ops, Sent};

/// Row of the epoll driver in [`DRIVERS`](super::DRIVERS).
pub(super) const SPEC: DriverSpec = DriverSpec {
    io: Io::Epoll,
    name: "epoll",
    help: "edge-triggered readiness, one read and one write per request, no epoll_ctl; auto takes it for S-Clients, for \
           HTTP/3, and where io_uring is not allowed",
    system: "epoll",
    auto: true,
    ..DriverSpec::DEFAULT
};

/// Runs one shard (generator thread) with the epoll driver. With two-process S-Clients (sockets that connect again and
/// again), this process establishes the connections. This process adds the result of the process that handles
/// connections to its own result.
pub(super) fn run(mut shard: Shard<'_>) -> Result<LoadPart, LoadError> {
    let mut driver = EpollDriver::new(&shard.setup).map_err(failed)?;
    let Some((partner, theirs)) = shard.partner.take() else { return shard.drive(&mut driver) };
    let (end, listener) = partner.split();
    driver.hand_over_to(end);
    std::thread::scope(|scope| {
        let heard = std::thread::Builder::new()
            .spawn_scoped(scope, || listener.listen(theirs))
            .map_err(|e| LoadError::no_thread("starting the thread that listens to the other process", &e))?;
        let part = shard.drive(&mut driver);
        // When the driver is dropped, its end of the socketpair closes. The process that handles connections learns
        // from this close that no more connections will come.
        drop(driver);
        let mut handled = heard.join().map_err(|_| LoadError::ThreadLost)??;
        handled.merge(part?);
        Ok(handled)
    })
}

/// Maximum number of events per wait. A larger maximum would make times within a pass of the event loop inaccurate.
/// With a smaller maximum, fewer events would share the cost of the call.
const MAX_EVENTS: usize = 256;
/// Number of events after which the clock is read again within one pass of the event loop.
const CLOCK_EVERY: usize = 8;
/// Size of the receive buffer and of the request buffer, bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// The epoll driver.
#[derive(Debug)]
pub(crate) struct EpollDriver {
    ops: EpollOps,
    events: EventsBox,
    buffer: Box<[u8]>,
}

struct EventsBox(Events);

impl std::fmt::Debug for EventsBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

impl EpollDriver {
    /// Creates the driver for the connections of one shard (generator thread).
    pub(crate) fn new(setup: &Setup) -> Result<Self, Errno> {
        let slots = std::iter::repeat_with(Slot::default).take(setup.capacity as usize).collect();
        let ops = EpollOps {
            epoll: Epoll::new()?,
            slots,
            target: setup.target.clone(),
            targets: setup.targets(),
            sources: setup.source_addrs(),
            next_source: 0,
            nodelay: setup.nodelay,
            quick_ack: setup.quick_ack,
            receive_buffer: setup.receive_buffer,
            now_ns: clock::monotonic_ns(),
            scratch: vec![0; BUFFER_BYTES].into_boxed_slice(),
            partner: None,
        };
        let events = EventsBox(Events::with_capacity(MAX_EVENTS));
        Ok(Self { ops, events, buffer: vec![0; BUFFER_BYTES].into_boxed_slice() })
    }

    /// Makes this process pass its connections to the process that handles them, through the socket `end`.
    pub(crate) fn hand_over_to(&mut self, end: OwnedFd) {
        self.ops.partner = Some(Partner::establishing(end));
    }

    /// Makes this process handle the connections that another process establishes and passes through the socket `end`
    /// (S-Clients in two processes). Returns the cell with the latest message about a phase from the process that
    /// establishes connections.
    pub(crate) fn adopt_from(&mut self, end: OwnedFd) -> Result<Rc<Cell<PartnerMessage>>, Errno> {
        self.ops.epoll.add(&end, PARTNER_TOKEN, Interest::IN | Interest::RDHUP | Interest::ET)?;
        let partner = Partner::handling(end, self.ops.slots.len() as u32);
        let message = partner.message();
        self.ops.partner = Some(partner);
        Ok(message)
    }
}

impl Driver for EpollDriver {
    type Ops = EpollOps;
    const WAKES_LATE: bool = true;

    fn ops(&mut self) -> &mut EpollOps {
        &mut self.ops
    }

    fn wait(
        &mut self,
        until_ns: u64,
        _batch: Batch,
        mut f: impl FnMut(&mut EpollOps, Completion<'_>),
    ) -> Result<(), Errno> {
        let Self { ops, events, buffer } = self;
        let events = &mut events.0;
        if ops.partner.as_ref().is_some_and(Partner::behind) {
            adopt(ops, &mut f)?;
        }
        ops.epoll.wait(events, Some(until_ns.saturating_sub(ops.now_ns)))?;
        for at in 0..events.len() {
            if at % CLOCK_EVERY == 0 {
                ops.refresh();
            }
            let Some(event) = events.get(at) else { break };
            if event.token == PARTNER_TOKEN {
                adopt(ops, &mut f)?;
                continue;
            }
            let (conn, generation) = (event.token as u32, (event.token >> 32) as u32);
            if ops.is(conn, generation) {
                on_event(ops, buffer, conn, event.flags, &mut f);
            }
        }
        Ok(())
    }
}

/// Handles one event of a connection: the connect has finished, bytes can be written, bytes have arrived, or the
/// connection has ended.
#[inline]
fn on_event(
    ops: &mut EpollOps,
    buffer: &mut [u8],
    conn: u32,
    flags: Interest,
    f: &mut impl FnMut(&mut EpollOps, Completion<'_>),
) {
    let generation = ops.slots[conn as usize].generation;
    let broken = flags.intersects(Interest::ERR | Interest::HUP);
    if ops.slots[conn as usize].connecting {
        if !broken && !flags.contains(Interest::OUT) {
            return;
        }
        match if broken { ops.take_error(conn) } else { Ok(()) } {
            Ok(()) => {
                ops.slots[conn as usize].connecting = false;
                f(ops, Completion::Connected { conn });
            }
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Connect, errno }),
        }
    }
    if flags.contains(Interest::OUT) && ops.is(conn, generation) && ops.slots[conn as usize].waits() {
        match ops.write_rest(conn) {
            Ok(Sent::All) => f(ops, Completion::Writable { conn }),
            Ok(Sent::Pending) => {}
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Send, errno }),
        }
    }
    let ended = Interest::RDHUP | Interest::HUP | Interest::ERR;
    if flags.intersects(Interest::IN | ended) && ops.target.is_datagram() {
        read_datagrams(ops, buffer, conn, generation, f);
    } else if flags.intersects(Interest::IN | ended) {
        read_all(ops, buffer, conn, generation, flags.intersects(ended), f);
    }
}

/// Reads datagrams until none is left. A pending error of the socket, such as a refused datagram, is the result of a
/// read.
fn read_datagrams(
    ops: &mut EpollOps,
    buffer: &mut [u8],
    conn: u32,
    generation: u32,
    f: &mut impl FnMut(&mut EpollOps, Completion<'_>),
) {
    while ops.is(conn, generation) {
        let Some(fd) = &ops.slots[conn as usize].fd else { return };
        match udp::receive(fd, buffer) {
            // An empty read is an empty datagram, because a socket for datagrams reports no end of the data.
            Ok(group) if group.bytes == 0 => {}
            Ok(udp::Group { bytes, datagram_bytes, .. }) => {
                f(ops, Completion::Datagrams { conn, bytes: &buffer[..bytes], datagram_bytes });
                // The handling of received datagrams may have started requests, whose answers may come with the next
                // receive. Without a new reading of the clock, the next answer could seem to take no time.
                ops.refresh();
            }
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR) => {}
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Receive, errno }),
        }
    }
}

/// Reads until a read returns less than the buffer can hold. If the event announced the end of the stream, reads until
/// the end of the stream.
#[inline]
fn read_all(
    ops: &mut EpollOps,
    buffer: &mut [u8],
    conn: u32,
    generation: u32,
    to_the_end: bool,
    f: &mut impl FnMut(&mut EpollOps, Completion<'_>),
) {
    while ops.is(conn, generation) {
        let Some(fd) = &ops.slots[conn as usize].fd else { return };
        match socket::recv(fd, buffer) {
            Ok(0) => return f(ops, Completion::PeerClosed { conn }),
            Ok(n) => {
                f(ops, Completion::Received { conn, bytes: &buffer[..n] });
                if n < buffer.len() && !to_the_end {
                    return;
                }
                // A long answer may take many reads. Without a new reading of the clock, the last byte of a long answer
                // would seem to come together with its first byte.
                ops.refresh();
            }
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR) => {}
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Receive, errno }),
        }
    }
}

#[cfg(test)]
mod tests;
