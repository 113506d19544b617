//! Operations of the epoll driver: opening and registering sockets, and writing.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use proto::CLIENT_DATAGRAM_BYTES;
use run::Phase;
use sys::epoll::{Epoll, Interest};
use sys::peer::Peer;
use sys::{Errno, clock, socket, udp};

use super::partner::Partner;
use crate::driver::{Ops, Sent, Start};

/// Operations of the epoll driver.
#[derive(Debug)]
pub(crate) struct EpollOps {
    pub(super) epoll: Epoll,
    pub(super) slots: Vec<Slot>,
    /// Address for the next connect.
    pub(super) target: Peer,
    /// All addresses of the server.
    pub(super) targets: Vec<Peer>,
    pub(super) sources: Vec<SocketAddr>,
    pub(super) next_source: usize,
    pub(super) nodelay: bool,
    pub(super) quick_ack: bool,
    pub(super) receive_buffer: Option<u32>,
    pub(super) now_ns: u64,
    pub(super) scratch: Box<[u8]>,
    /// Link to the other process of two-process S-Clients (sockets that connect again and again); `None` for other
    /// loads.
    pub(super) partner: Option<Partner>,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) fd: Option<OwnedFd>,
    pub(super) generation: u32,
    pub(super) connecting: bool,
    // The unsent bytes are in a box, because few of the very many connections have unsent bytes.
    rest: Option<Box<Unsent>>,
}

/// Bytes that were not sent because a write would have blocked, and the index of the first unsent byte.
#[derive(Debug, Default)]
struct Unsent {
    bytes: Vec<u8>,
    at: usize,
}

impl Slot {
    /// Returns true if bytes wait for space in the socket's buffer.
    #[inline]
    pub(super) fn waits(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| !rest.bytes.is_empty())
    }
}

impl EpollOps {
    #[inline]
    pub(super) fn is(&self, conn: u32, generation: u32) -> bool {
        self.slots.get(conn as usize).is_some_and(|s| s.generation == generation && s.fd.is_some())
    }

    pub(super) fn take_error(&self, conn: u32) -> Result<(), Errno> {
        match &self.slots[conn as usize].fd {
            Some(fd) => socket::take_error(fd),
            None => Err(Errno::BADF),
        }
    }

    /// Opens a socket, and binds it to the next local address if the load plan has any.
    fn open(&mut self) -> Result<OwnedFd, Errno> {
        let fd = self.target.socket()?;
        if self.target.is_datagram() {
            udp::set_segment(&fd, CLIENT_DATAGRAM_BYTES)?;
            udp::join_received(&fd)?;
        }
        if self.nodelay {
            socket::set_nodelay(&fd, true)?;
        }
        // The size of the receive buffer is set before the connect, because the connect negotiates the TCP window
        // scale.
        if let Some(bytes) = self.receive_buffer {
            socket::set_recv_buffer(&fd, bytes as usize)?;
        }
        if !self.sources.is_empty() {
            socket::bind_address_no_port(&fd)?;
            socket::bind(&fd, self.sources[self.next_source])?;
            self.next_source = (self.next_source + 1) % self.sources.len();
        }
        Ok(fd)
    }

    pub(super) fn register(&mut self, conn: u32, fd: OwnedFd, connecting: bool) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let token = u64::from(conn) | u64::from(slot.generation) << 32;
        self.epoll.add(&fd, token, Interest::IN | Interest::OUT | Interest::RDHUP | Interest::ET)?;
        (slot.fd, slot.connecting, slot.rest) = (Some(fd), connecting, None);
        Ok(())
    }

    pub(super) fn write_rest(&mut self, conn: u32) -> Result<Sent, Errno> {
        let slot = &mut self.slots[conn as usize];
        let Some(fd) = &slot.fd else { return Err(Errno::BADF) };
        let Some(Unsent { bytes, at }) = slot.rest.as_deref_mut() else { return Ok(Sent::All) };
        while *at < bytes.len() {
            match socket::send(fd, &bytes[*at..]) {
                Ok(n) => *at += n,
                Err(Errno::AGAIN) => return Ok(Sent::Pending),
                Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
        }
        bytes.clear();
        *at = 0;
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

    fn aim(&mut self, _conn: u32, address: u32) {
        if let Some(target) = self.targets.get(address as usize) {
            self.target.clone_from(target);
        }
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        let fd = self.open()?;
        self.target.connect(&fd)?;
        // The socket is registered after the connect. Over loopback, the connection is established at once. Because the
        // socket is registered after the connect, the first wait reports the connection without an additional wake-up.
        self.register(conn, fd, true)
    }

    /// Gives up a connect and uses its socket again: connect(2) with AF_UNSPEC returns the socket to the bound state.
    /// Like close, a connect(2) with AF_UNSPEC sends nothing. The socket need not be created, bound and registered
    /// again.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        let Some(fd) = &slot.fd else { return self.connect(conn) };
        if !slot.connecting || socket::disconnect(fd).is_err() {
            self.close(conn);
            return self.connect(conn);
        }
        match self.target.connect(fd) {
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
            Ok(sent) if sent == n => {
                // After each send, the kernel delays acknowledgements again, so TCP_QUICKACK is set after each send.
                if self.quick_ack {
                    socket::set_quick_ack(fd, true)?;
                }
                return Ok(Sent::All);
            }
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(e) => return Err(e),
        };
        slot.rest.get_or_insert_default().bytes.extend_from_slice(&self.scratch[sent..n]);
        // After a write of only some of the bytes, the socket may have space again. However, epoll reports free space
        // only after a write that would block, so the driver tries another write.
        self.write_rest(conn)
    }

    fn unreceived(&mut self, conn: u32) -> usize {
        let fd = self.slots[conn as usize].fd.as_ref();
        fd.and_then(|fd| socket::unacknowledged(fd).ok()).unwrap_or(0)
    }

    #[inline]
    fn close(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        slot.generation = slot.generation.wrapping_add(1);
        let was = slot.fd.take();
        slot.connecting = false;
        if let Some(partner) = self.partner.as_mut().filter(|_| was.is_some()) {
            partner.give_back(conn);
        }
    }

    fn half_close(&mut self, conn: u32) -> bool {
        self.slots[conn as usize].fd.as_ref().is_some_and(|fd| socket::shutdown_write(fd).is_ok())
    }

    fn hand_over(&mut self, conn: u32, start: Start) -> Result<(), Errno> {
        let (Some(partner), Some(fd)) = (&self.partner, &self.slots[conn as usize].fd) else {
            return Err(Errno::NOSYS);
        };
        partner.pass_on(fd, start)?;
        // The socket stays open in the process that handles connections. Closing the copy in this process therefore
        // does not remove the socket's registration in epoll.
        let _ = self.epoll.delete(fd);
        self.close(conn);
        Ok(())
    }

    fn tell_phase(&mut self, phase: Phase, at_ns: u64) {
        if let Some(partner) = &self.partner {
            partner.tell(phase, at_ns);
        }
    }
}
