//! Interface of a driver: submit operations, then wait for completions until a deadline. The worker is compiled for
//! each driver, so operations on sockets are not called dynamically.
//!
//! A driver owns descriptors, buffers and generation numbers. A driver knows nothing of requests, protocols or rates.
//! If a connection was closed in the meantime, the driver reports no more of its completions.

use sys::Errno;

/// Due time and send time of a request, on the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Due time of the request. If there is no arrival process, the due time equals `sent_ns`.
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
    /// Follows [`Sent::Pending`]: the kernel has taken all bytes, so the worker can send more.
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
    /// Opening a socket, or connecting it.
    Connect,
    /// Sending bytes on a connection.
    Send,
    /// Receiving bytes on a connection.
    Receive,
}

/// Result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has taken all bytes. More may be sent at once.
    All,
    /// Some bytes wait in the driver. [`Completion::Writable`] follows when these bytes were sent; nothing may be sent
    /// before that.
    Pending,
}

/// Limits for collecting completions before they are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of completions after which the wait ends.
    pub want: u32,
    /// Time in microseconds after which a single completion ends the wait; 0 to wait no longer for more.
    pub within_us: u32,
}

/// Operations that the worker may submit while it handles a completion.
pub trait Ops {
    /// Returns the time of this pass in nanoseconds of the driver's clock. The clock is read once for several
    /// completions.
    fn now(&self) -> u64;

    /// Reads the clock again.
    fn refresh(&mut self) -> u64;

    /// Sets the address, by its index, to which the next connect of a connection goes. A driver without a network ignores
    /// it.
    fn aim(&mut self, _conn: u32, _address: u32) {}

    /// Opens a socket for connection `conn` (a free number below the driver's capacity) and starts the connect. If the
    /// function returns an error, no connect was started.
    fn connect(&mut self, conn: u32) -> Result<(), Errno>;

    /// Gives up an unfinished connect and starts another one in its place.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        self.close(conn);
        self.connect(conn)
    }

    /// Sends the bytes that `fill` writes. `fill` is called once with a buffer and returns the number of bytes used.
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno>;

    /// Sends the last bytes of a connection, after those that wait, before it is closed. Bytes that cannot be sent at
    /// once are dropped. Returns false without calling `fill` if nothing can be sent, for example because other bytes
    /// wait for the peer.
    fn send_last(&mut self, _conn: u32, _fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        false
    }

    /// After [`Completion::PeerClosed`], returns the number of sent bytes that the peer had not received when it closed
    /// the connection; 0 if this is unknown.
    fn unreceived(&mut self, _conn: u32) -> usize {
        0
    }

    /// Closes a connection. No more completions of this connection are reported.
    fn close(&mut self, conn: u32);

    /// Closes the sending side of an established connection and keeps receiving. Returns false if the driver does not
    /// support this.
    fn half_close(&mut self, _conn: u32) -> bool {
        false
    }

    /// Passes an established connection whose request was sent to the handling process, and closes it in this process.
    /// If this fails, the connection is unchanged.
    fn hand_over(&mut self, _conn: u32, _start: Start) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Tells the handling process that a phase starts at `at_ns`. The message stays in order with the connections that
    /// were passed before.
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

    /// Waits for completions until `until_ns` and passes each one to `f`. `batch` allows the driver to wait longer and
    /// collect more completions. A driver that cannot do this returns at the first completion.
    fn wait(&mut self, until_ns: u64, batch: Batch, f: impl FnMut(&mut Self::Ops, Completion<'_>))
    -> Result<(), Errno>;
}
