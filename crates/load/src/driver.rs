//! Driver interface: submit operations, then wait for completions until a deadline. The worker is generic over the
//! driver, so no operation on a socket is a dynamic call.
//!
//! A driver owns descriptors, buffers and generations. A driver knows nothing of requests, protocols or rates.
//! Completions of a connection that was closed meanwhile never leave the driver.

use sys::Errno;

/// Due time and send time of a request, on the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Due time. Without an arrival process the due time equals `sent_ns`.
    pub intended_ns: u64,
    /// Time at which the request was sent.
    pub sent_ns: u64,
}

/// Event on a connection. `conn` is the number that the worker chose.
#[derive(Debug)]
pub enum Completion<'a> {
    /// The connect succeeded.
    Connected {
        /// Connection that was established.
        conn: u32,
    },
    /// Another process established this connection, sent its request and passed it on.
    Adopted {
        /// Connection that was taken over.
        conn: u32,
        /// Due time and send time of the request.
        start: Start,
    },
    /// Bytes arrived. The bytes are in the driver's buffer.
    Received {
        /// Connection on which the bytes arrived.
        conn: u32,
        /// Bytes that arrived.
        bytes: &'a [u8],
    },
    /// After [`Sent::Pending`]: the kernel has taken all bytes, so the worker can send more.
    Writable {
        /// Connection that accepts bytes again.
        conn: u32,
    },
    /// The peer will send nothing more.
    PeerClosed {
        /// Connection whose peer sent its FIN.
        conn: u32,
    },
    /// An operation failed. The connection is unusable and must be closed.
    Failed {
        /// Connection whose operation failed.
        conn: u32,
        /// Operation that failed.
        op: Op,
        /// Error of the kernel.
        errno: Errno,
    },
}

/// Kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opening or connecting.
    Connect,
    /// Sending bytes on a connection.
    Send,
    /// Receiving bytes on a connection.
    Receive,
}

/// Result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel took everything. More may be sent at once.
    All,
    /// A part waits in the driver. [`Completion::Writable`] follows when that part has left; until then nothing may be
    /// sent.
    Pending,
}

/// Limits for collecting completions before they are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of completions that ends the wait.
    pub want: u32,
    /// Delay in microseconds after which one completion suffices; 0 for no extra wait.
    pub within_us: u32,
}

/// Operations that the worker may submit while it handles a completion.
pub trait Ops {
    /// Returns the time of this pass in nanoseconds of the driver's clock. The clock is read once for several
    /// completions.
    fn now(&self) -> u64;

    /// Reads the clock again.
    fn refresh(&mut self) -> u64;

    /// Opens a socket for connection `conn` (a free number below the driver's capacity) and starts the connect. If this
    /// returns an error, no connect was started.
    fn connect(&mut self, conn: u32) -> Result<(), Errno>;

    /// Gives up an unfinished connect and starts a new one in its place.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        self.close(conn);
        self.connect(conn)
    }

    /// Sends the bytes that `fill` writes. `fill` is called once with a buffer and returns the number of bytes used.
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno>;

    /// Sends last bytes, after pending ones, before the connection is closed; bytes that do not leave at once are
    /// dropped. Returns false without calling `fill` if nothing can leave, for example because pending bytes wait for
    /// the peer.
    fn send_last(&mut self, _conn: u32, _fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        false
    }

    /// Closes a connection. The closed connection causes no more completions.
    fn close(&mut self, conn: u32);

    /// Closes the sending side of an established connection and keeps receiving. Returns false if the driver cannot.
    fn half_close(&mut self, _conn: u32) -> bool {
        false
    }

    /// Passes an established connection with a sent request to the handling process and closes it here. If the handover
    /// fails, the connection stays as it was.
    fn hand_over(&mut self, _conn: u32, _start: Start) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Tells the handling process that a phase starts at `at_ns`. The message keeps its order with the connections
    /// passed before.
    fn tell_phase(&mut self, _phase: run::Phase, _at_ns: u64) {}
}

/// A mechanism that moves bytes between the generator and its sockets.
pub trait Driver {
    /// Operations of this driver.
    type Ops: Ops;

    /// True if a wait may end slightly after its deadline, as with real timers.
    const WAKES_LATE: bool;

    /// Returns the operations, for use between two waits.
    fn ops(&mut self) -> &mut Self::Ops;

    /// Waits for completions until `until_ns` and passes each one to `f`. `batch` permits an extra wait to collect more
    /// completions. A driver that cannot wait for more returns at the first completion.
    fn wait(&mut self, until_ns: u64, batch: Batch, f: impl FnMut(&mut Self::Ops, Completion<'_>))
    -> Result<(), Errno>;
}
