//! The epoll driver: edge-triggered, everything registered once at the connect, write first and look at EPOLLOUT only
//! after a write that would block, read until a short read. A keep-alive request costs one send and one receive, and a
//! share of one epoll_pwait2. Source: epoll(7).

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use run::Phase;
use sys::epoll::{Epoll, Events, Interest};
use sys::{Errno, clock, pass, socket};

use super::Setup;
use crate::driver::{Batch, Completion, Driver, Op, Ops, Sent, Start};

/// Events taken by one wait: few enough that times within a pass stay true, enough to spread the cost of the call.
const EVENTS: usize = 256;
/// The clock is read again after so many events of a pass.
const CLOCK_EVERY: usize = 8;
/// Bytes of the receive buffer, and of the buffer that requests are written to.
const BUFFER: usize = 64 * 1024;

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

/// Its submitting half.
#[derive(Debug)]
pub(crate) struct EpollOps {
    epoll: Epoll,
    slots: Vec<Slot>,
    target: SocketAddr,
    sources: Vec<SocketAddr>,
    next_source: usize,
    nodelay: bool,
    now_ns: u64,
    scratch: Box<[u8]>,
    /// The other process of a two-process S-Client.
    partner: Option<Partner>,
}

/// The way to the other process, and on the handling side what came over it.
#[derive(Debug)]
pub(crate) struct Partner {
    end: OwnedFd,
    /// Numbers without a connection; only the handling side gives them itself.
    free: Vec<u32>,
    handles: bool,
    /// Something waits in the socketpair that no number was free for.
    behind: bool,
    told: Rc<Cell<Told>>,
}

/// What the establishing process said last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) phase: Phase,
    pub(crate) at_ns: u64,
    pub(crate) gone: bool,
}

/// The number of the socketpair among the connections.
const PARTNER: u64 = u64::MAX;
// Kinds of messages.
const CONNECTION: u8 = 1;
const PHASE: u8 = 2;

fn message(kind: u8, small: u8, values: [u64; 2]) -> [u8; pass::MESSAGE] {
    let mut bytes = [0; pass::MESSAGE];
    (bytes[0], bytes[1]) = (kind, small);
    bytes[8..].chunks_exact_mut(8).zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_ne_bytes()));
    bytes
}

#[derive(Debug, Default)]
struct Slot {
    fd: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    // What a write that would block left over, and from where on.
    rest: Vec<u8>,
    rest_at: usize,
}

impl EpollDriver {
    /// A driver for the connections of one shard.
    pub(crate) fn new(setup: &Setup) -> Result<Self, Errno> {
        let slots = std::iter::repeat_with(Slot::default).take(setup.capacity as usize).collect();
        let ops = EpollOps {
            epoll: Epoll::new()?,
            slots,
            target: setup.target,
            sources: setup.source_addrs(),
            next_source: 0,
            nodelay: setup.nodelay,
            now_ns: clock::monotonic_ns(),
            scratch: vec![0; BUFFER].into_boxed_slice(),
            partner: None,
        };
        let events = EventsBox(Events::with_capacity(EVENTS));
        Ok(Self { ops, events, buffer: vec![0; BUFFER].into_boxed_slice() })
    }

    /// Makes this the establishing side: connections can be passed to the process at the other end.
    pub(crate) fn hand_over_to(&mut self, end: OwnedFd) {
        let told = Rc::default();
        self.ops.partner = Some(Partner { end, free: Vec::new(), handles: false, behind: false, told });
    }

    /// Makes this the handling side; what the other one says of phases appears in the cell.
    pub(crate) fn adopt_from(&mut self, end: OwnedFd) -> Result<Rc<Cell<Told>>, Errno> {
        let told: Rc<Cell<Told>> = Rc::default();
        self.ops.epoll.add(&end, PARTNER, Interest::IN | Interest::RDHUP | Interest::ET)?;
        let free = (0..self.ops.slots.len() as u32).rev().collect();
        self.ops.partner = Some(Partner { end, free, handles: true, behind: true, told: Rc::clone(&told) });
        Ok(told)
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
        if ops.partner.as_ref().is_some_and(|p| p.behind) {
            adopt(ops, &mut f)?;
        }
        ops.epoll.wait(events, Some(until_ns.saturating_sub(ops.now_ns)))?;
        for at in 0..events.len() {
            if at % CLOCK_EVERY == 0 {
                ops.refresh();
            }
            let Some(event) = events.get(at) else { break };
            if event.token == PARTNER {
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

/// Takes what the establishing process sent, for as long as there are numbers for it.
fn adopt(ops: &mut EpollOps, f: &mut impl FnMut(&mut EpollOps, Completion<'_>)) -> Result<(), Errno> {
    loop {
        let Some(partner) = ops.partner.as_mut().filter(|p| p.handles) else { return Ok(()) };
        partner.behind = partner.free.is_empty();
        if partner.behind {
            return Ok(());
        }
        let mut told = partner.told.get();
        let (bytes, fd) = match pass::recv(&partner.end) {
            Ok(Some(got)) => got,
            Ok(None) => {
                told.gone = true;
                partner.told.set(told);
                return Ok(());
            }
            Err(Errno::AGAIN) => return Ok(()),
            Err(e) => return Err(e),
        };
        let value = |n: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[8 * n + i]));
        match (bytes[0], fd) {
            (CONNECTION, Some(fd)) => {
                let Some(conn) = partner.free.pop() else { return Ok(()) };
                ops.register(conn, fd, false)?;
                f(ops, Completion::Adopted { conn, start: Start { intended_ns: value(1), sent_ns: value(2) } });
            }
            (PHASE, _) => {
                (told.phase, told.at_ns) = (phase_of(bytes[1]), value(1));
                partner.told.set(told);
            }
            _ => {}
        }
    }
}

fn phase_of(number: u8) -> Phase {
    match number {
        0 => Phase::WarmUp,
        1 => Phase::Measure,
        _ => Phase::Drain,
    }
}

/// All that one event means: the end of a connect, room to write, bytes, the end.
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
    if flags.contains(Interest::OUT) && ops.is(conn, generation) && !ops.slots[conn as usize].rest.is_empty() {
        match ops.write_rest(conn) {
            Ok(Sent::All) => f(ops, Completion::Writable { conn }),
            Ok(Sent::Pending) => {}
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Send, errno }),
        }
    }
    let ended = Interest::RDHUP | Interest::HUP | Interest::ERR;
    if flags.intersects(Interest::IN | ended) {
        read_all(ops, buffer, conn, generation, flags.intersects(ended), f);
    }
}

/// Reads until a short read; when the end was announced, until the end.
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
            }
            Err(Errno::AGAIN) => return,
            Err(Errno::INTR) => {}
            Err(errno) => return f(ops, Completion::Failed { conn, op: Op::Receive, errno }),
        }
    }
}

impl EpollOps {
    #[inline]
    fn is(&self, conn: u32, generation: u32) -> bool {
        self.slots.get(conn as usize).is_some_and(|s| s.generation == generation && s.fd.is_some())
    }

    fn take_error(&self, conn: u32) -> Result<(), Errno> {
        match &self.slots[conn as usize].fd {
            Some(fd) => socket::take_error(fd),
            None => Err(Errno::BADF),
        }
    }

    /// A socket, bound to the next source address if there are any.
    fn open(&mut self) -> Result<OwnedFd, Errno> {
        let fd = socket::tcp(self.target)?;
        if self.nodelay {
            socket::set_nodelay(&fd, true)?;
        }
        if !self.sources.is_empty() {
            socket::bind_address_no_port(&fd)?;
            socket::bind(&fd, self.sources[self.next_source])?;
            self.next_source = (self.next_source + 1) % self.sources.len();
        }
        Ok(fd)
    }

    fn register(&mut self, conn: u32, fd: OwnedFd, connecting: bool) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let token = u64::from(conn) | u64::from(slot.generation) << 32;
        self.epoll.add(&fd, token, Interest::IN | Interest::OUT | Interest::RDHUP | Interest::ET)?;
        (slot.fd, slot.connecting) = (Some(fd), connecting);
        slot.rest.clear();
        slot.rest_at = 0;
        Ok(())
    }

    fn write_rest(&mut self, conn: u32) -> Result<Sent, Errno> {
        let slot = &mut self.slots[conn as usize];
        let Some(fd) = &slot.fd else { return Err(Errno::BADF) };
        while slot.rest_at < slot.rest.len() {
            match socket::send(fd, &slot.rest[slot.rest_at..]) {
                Ok(n) => slot.rest_at += n,
                Err(Errno::AGAIN) => return Ok(Sent::Pending),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        slot.rest.clear();
        slot.rest_at = 0;
        Ok(Sent::All)
    }
}

impl Ops for EpollOps {
    #[inline]
    fn now(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn refresh(&mut self) -> u64 {
        self.now_ns = clock::monotonic_ns();
        self.now_ns
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        let fd = self.open()?;
        socket::connect(&fd, self.target)?;
        // Registered after the connect: when it is up already (loopback), this tells without a wake-up.
        self.register(conn, fd, true)
    }

    /// The socket itself is used again: connect(2) with AF_UNSPEC takes it back to where bind left it and sends nothing,
    /// as close would, and spares the making, binding and registering of a new one.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        let Some(fd) = &slot.fd else { return self.connect(conn) };
        if !slot.connecting || socket::disconnect(fd).is_err() {
            self.close(conn);
            return self.connect(conn);
        }
        match socket::connect(fd, self.target) {
            Ok(_) => Ok(()),
            Err(e) => {
                self.close(conn);
                Err(e)
            }
        }
    }

    #[inline]
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        let slot = &mut self.slots[conn as usize];
        let Some(fd) = &slot.fd else { return Err(Errno::BADF) };
        let n = fill(&mut self.scratch).min(self.scratch.len());
        let sent = match socket::send(fd, &self.scratch[..n]) {
            Ok(sent) if sent == n => return Ok(Sent::All),
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(e) => return Err(e),
        };
        slot.rest.extend_from_slice(&self.scratch[sent..n]);
        // A short write may have met a socket that has room again: only a write that would block arms the edge.
        self.write_rest(conn)
    }

    #[inline]
    fn close(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let was = slot.fd.take();
        slot.connecting = false;
        if let Some(partner) = self.partner.as_mut().filter(|p| p.handles && was.is_some()) {
            partner.free.push(conn);
        }
    }

    fn half_close(&mut self, conn: u32) -> bool {
        self.slots[conn as usize].fd.as_ref().is_some_and(|fd| socket::shutdown_write(fd).is_ok())
    }

    fn hand_over(&mut self, conn: u32, start: Start) -> Result<(), Errno> {
        let (Some(partner), Some(fd)) = (&self.partner, &self.slots[conn as usize].fd) else {
            return Err(Errno::NOSYS);
        };
        pass::send(&partner.end, &message(CONNECTION, 0, [start.intended_ns, start.sent_ns]), Some(fd.as_fd()))?;
        // The socket lives on over there, so closing our copy would leave it registered here.
        let _ = self.epoll.delete(fd);
        self.close(conn);
        Ok(())
    }

    fn tell_phase(&mut self, phase: Phase, at_ns: u64) {
        let Some(partner) = self.partner.as_ref().filter(|p| !p.handles) else { return };
        // A few times in a run, and the other side must hear of it: wait while it is behind.
        while pass::send(&partner.end, &message(PHASE, phase as u8, [at_ns, 0]), None) == Err(Errno::AGAIN) {
            clock::sleep_until_ns(clock::monotonic_ns() + 100_000);
        }
    }
}
