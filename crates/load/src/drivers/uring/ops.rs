//! Operations of the io_uring driver. A connect is a sequence of operations, a small send produces no completion, and a
//! close cancels operations that are running. The number of an operation (`user_data`) contains its kind, its
//! connection and the connection's generation.

use proto::CLIENT_DATAGRAM_BYTES;
use sys::uring::{File, OpFlags, Ring, SEGMENT_BYTES};
use sys::{Errno, clock};

use crate::driver::{Ops, Sent};

// The kernel cuts sends into the datagrams that QUIC has joined.
const _: () = assert!(CLIENT_DATAGRAM_BYTES == SEGMENT_BYTES);

// Kinds of operations, which are in the top byte of an operation's number.
pub(super) const OPEN: u64 = 1;
pub(super) const CONNECT: u64 = 2;
pub(super) const RECEIVE: u64 = 3;
pub(super) const SEND: u64 = 4;
pub(super) const NOTHING: u64 = 5;
pub(super) const HALF_CLOSE: u64 = 6;
pub(super) const UNRECEIVED: u64 = 7;

/// Operations of the io_uring driver (see the module documentation).
#[derive(Debug)]
pub(crate) struct UringOps {
    pub(super) ring: Ring,
    pub(super) slots: Vec<Slot>,
    pub(super) files: u32,
    pub(super) slot_bytes: usize,
    pub(super) acked: bool,
    pub(super) nodelay: bool,
    /// True if the sockets are for UDP.
    pub(super) datagrams: bool,
    pub(super) sources: u32,
    pub(super) next_source: u32,
    pub(super) now_ns: u64,
    /// True if a receive has found no free buffer since buffers were last added.
    pub(super) lacks_buffers: bool,
    // Number of cancelled operations that have not yet ended. In one wait, the kernel ends at most twenty cancelled
    // operations, unless the wait requests more completions. Until its cancelled operations end, a socket stays open
    // and sends its SYN again.
    pub(super) ending: u32,
    pub(super) completions: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) generation: u32,
    pub(super) state: State,
    pub(super) receiving: bool,
    pub(super) sending: bool,
    // Position of the next request in the connection's send buffer. Requests are stored one after the other, so that
    // bytes that wait to be sent are never overwritten.
    pub(super) at: u32,
    /// True if something was sent after the last received bytes.
    pub(super) sent_last: bool,
    /// Number of sent bytes that the peer had not acknowledged when it closed the connection.
    pub(super) unreceived: u32,
    /// Index of the server's address in the ring's list of addresses.
    pub(super) target: u32,
    pub(super) half_close: HalfClose,
}

/// A half-close in progress, and the operations that wait for its end. A worker thread of the kernel makes the
/// half-close, and looks up the file by its number only when it runs. If another file had the number by then, the
/// kernel would close the sending side of that file instead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HalfClose {
    pub(super) runs: bool,
    closes: bool,
    connects: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Closed,
    Connecting,
    /// The connect has failed, and the socket is not yet closed. No operation of the socket is running.
    Failed,
    Open,
}

pub(super) fn user(kind: u64, conn: u32, generation: u32) -> u64 {
    kind << 56 | u64::from(generation & 0xff_ffff) << 32 | u64::from(conn)
}

impl UringOps {
    pub(super) fn receive(&mut self, conn: u32) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        slot.receiving = true;
        self.ring.recv_multi(File::Fixed(conn), user(RECEIVE, conn, slot.generation))
    }

    /// Submits the operations socket, options, bind and connect. The kernel reports only the connect, or the first of
    /// the four operations that fails. The operations need not be linked: all except the connect complete in order
    /// while they are submitted. If the operations were linked, each would be a separate task, and the kernel runs only
    /// twenty tasks per wait. If an operation of a connect fails, the later operations of this connect fail, too. The
    /// reports of operations after the failed one are ignored, because the connection has a new generation when they
    /// arrive.
    fn open(&mut self, conn: u32, generation: u32) -> Result<(), Errno> {
        let (file, open) = (File::Fixed(conn), user(OPEN, conn, generation));
        let quiet = OpFlags::SKIP_SUCCESS;
        let target = self.slots[conn as usize].target;
        self.ring.socket(conn, target, quiet, open)?;
        if self.datagrams {
            self.ring.segment(file, quiet, open)?;
        }
        if self.nodelay {
            self.ring.nodelay(file, quiet, open)?;
        }
        if self.sources > 0 {
            self.ring.bind_address_no_port(file, quiet, open)?;
            self.ring.bind(file, 1 + self.next_source, quiet, open)?;
            self.next_source = (self.next_source + 1) % self.sources;
        }
        self.ring.connect(file, target, OpFlags::empty(), user(CONNECT, conn, generation))
    }

    /// Asks the kernel how many of the sent bytes the peer has not received. Returns false if no bytes were sent since
    /// the last bytes came from the peer, because an answer shows that the peer received the request.
    pub(super) fn ask_unreceived(&mut self, conn: u32) -> bool {
        let slot = self.slots[conn as usize];
        let user = user(UNRECEIVED, conn, slot.generation);
        slot.sent_last && self.ring.unacknowledged(File::Fixed(conn), user).is_ok()
    }

    /// Starts the operations that have waited for the end of a half-close.
    pub(super) fn half_closed(&mut self, conn: u32) -> Result<(), Errno> {
        let slot = &mut self.slots[conn as usize];
        let (ended, generation) = (std::mem::take(&mut slot.half_close), slot.generation);
        if ended.closes {
            let _ = self.ring.close(conn, OpFlags::SKIP_SUCCESS, user(NOTHING, conn, 0));
        }
        if ended.connects { self.open(conn, generation) } else { Ok(()) }
    }
}

impl Ops for UringOps {
    #[inline]
    fn now(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn refresh(&mut self) -> u64 {
        self.now_ns = clock::monotonic_ns();
        self.now_ns
    }

    fn aim(&mut self, conn: u32, address: u32) {
        // The order of the ring's addresses is: first address of the server, local addresses, other addresses of the
        // server.
        let target = if address == 0 { 0 } else { self.sources + address };
        self.slots.get_mut(conn as usize).into_iter().for_each(|slot| slot.target = target);
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        // The table of registered files has no entry for the connection index `conn`. The limit on descriptors
        // determines the size of the table of registered files.
        if conn >= self.files {
            return Err(Errno::MFILE);
        }
        let slot = &mut self.slots[conn as usize];
        let generation = slot.generation.wrapping_add(1);
        *slot = Slot {
            generation,
            state: State::Connecting,
            half_close: slot.half_close,
            target: slot.target,
            ..Slot::default()
        };
        if slot.half_close.runs {
            slot.half_close.connects = true;
            return Ok(());
        }
        self.open(conn, generation)
    }

    #[inline]
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        let slot = &mut self.slots[conn as usize];
        let at = if self.acked || slot.at as usize > self.slot_bytes / 2 { 0 } else { slot.at as usize };
        let bytes = &mut self.ring.slot(conn)[at..];
        let n = fill(bytes).min(self.slot_bytes - at);
        (slot.at, slot.sent_last) = ((at + n) as u32, true);
        let (how, sent) =
            if self.acked { (OpFlags::empty(), Sent::Pending) } else { (OpFlags::SKIP_SUCCESS, Sent::All) };
        slot.sending = self.acked;
        self.ring.send(File::Fixed(conn), conn, at..at + n, how, user(SEND, conn, slot.generation))?;
        Ok(sent)
    }

    /// An earlier send and the last bytes are passed to the kernel in one call, in order. If the socket's buffer has no
    /// space for the earlier send, it has none for the last bytes either. The bytes of a connection are therefore never
    /// sent in the wrong order.
    fn send_last(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let slot = &mut self.slots[conn as usize];
        let at = slot.at as usize;
        if at >= self.slot_bytes {
            return false;
        }
        let n = fill(&mut self.ring.slot(conn)[at..]).min(self.slot_bytes - at);
        slot.at = (at + n) as u32;
        self.ring.send_now(File::Fixed(conn), conn, at..at + n, OpFlags::SKIP_SUCCESS, user(NOTHING, conn, 0)).is_ok()
    }

    fn unreceived(&mut self, conn: u32) -> usize {
        self.slots[conn as usize].unreceived as usize
    }

    fn half_close(&mut self, conn: u32) -> bool {
        let began = self.ring.shutdown_write(File::Fixed(conn), OpFlags::empty(), user(HALF_CLOSE, conn, 0)).is_ok();
        self.slots[conn as usize].half_close.runs |= began;
        began
    }

    fn close(&mut self, conn: u32) {
        let slot = &mut self.slots[conn as usize];
        let was = std::mem::take(slot);
        (slot.generation, slot.half_close) = (was.generation.wrapping_add(1), was.half_close);
        if was.state == State::Closed {
            return;
        }
        if std::mem::take(&mut slot.half_close.connects) {
            // The connect still waited for the end of a half-close, so there is nothing to close.
            return;
        }
        let nothing = user(NOTHING, conn, 0);
        // An operation that is running would keep the socket open, so it is cancelled. The kernel finds the operation
        // directly by its number (`user_data`). Cancelling by file would make the kernel search all operations of the
        // ring. An error here means that the ring is broken, which the next wait reports.
        let running = [(was.state == State::Connecting, CONNECT), (was.receiving, RECEIVE), (was.sending, SEND)];
        for (_, kind) in running.into_iter().filter(|&(runs, _)| runs) {
            self.ending += 1;
            let _ = self.ring.cancel(user(kind, conn, was.generation), OpFlags::SKIP_SUCCESS, nothing);
        }
        if was.half_close.runs {
            self.slots[conn as usize].half_close.closes = true;
            return;
        }
        let _ = self.ring.close(conn, OpFlags::SKIP_SUCCESS, nothing);
    }
}
