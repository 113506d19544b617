//! Interface of a driver: the connection engine submits operations, and then waits for completions until a deadline.
//! The connection engine is compiled once for each driver, so operations on sockets need no dynamic dispatch.
//!
//! A driver owns descriptors, buffers and generation numbers. A driver does not deal with requests, protocols or rates.
//! After a connection is closed, the driver reports no more completions of this connection.

use sys::Errno;

/// Due time and send time of a request, on the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Due time of the request. Without an arrival process, the due time equals `sent_ns`.
    pub intended_ns: u64,
    /// Time at which the request was sent.
    pub sent_ns: u64,
}

/// Event on a connection. `conn` is the number that the connection engine gave to the connection.
#[derive(Debug)]
pub enum Completion<'a> {
    /// The connect succeeded.
    Connected {
        /// Connection that was established.
        conn: u32,
    },
    /// Another process established the connection, sent a request on it and passed it to this process.
    Adopted {
        /// Connection that was taken over.
        conn: u32,
        /// Due time and send time of the request.
        start: Start,
    },
    /// Bytes arrived, and are now in the driver's buffer.
    Received {
        /// Connection on which the bytes arrived.
        conn: u32,
        /// Bytes that arrived.
        bytes: &'a [u8],
    },
    /// Datagrams arrived, and are now in the driver's buffer.
    Datagrams {
        /// Connection on which the datagrams arrived.
        conn: u32,
        /// Bytes of all datagrams.
        bytes: &'a [u8],
        /// Size of each datagram, bytes; the last one may be shorter.
        datagram_bytes: usize,
    },
    /// The kernel has taken all bytes of a send that was [`Sent::Pending`], so more bytes may be sent.
    Writable {
        /// Connection that accepts bytes again.
        conn: u32,
    },
    /// The peer will send nothing more on the connection.
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
        /// Error that the kernel returned.
        errno: Errno,
    },
}

/// Kind of operation on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opening a socket, or connecting it.
    Connect,
    /// Sending bytes on a connection.
    Send,
    /// Receiving bytes on a connection.
    Receive,
}

/// Result of a send that has not failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel has taken all bytes. The next bytes may be sent immediately.
    All,
    /// Some bytes wait in the driver. [`Completion::Writable`] follows when the kernel has taken the waiting bytes.
    /// Before `Writable` is reported, nothing more may be sent.
    Pending,
}

/// Limits for collecting completions before the connection engine handles them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of completions after which the wait ends.
    pub want: u32,
    /// Time after which one completion is enough to end the wait, microseconds; 0 to handle each completion as it
    /// arrives.
    pub within_us: u32,
}

/// Operations that the connection engine may submit while it handles a completion.
pub trait Ops {
    /// Returns the time of the current pass of the event loop, nanoseconds of the driver's clock. The clock is read
    /// only once for several completions.
    fn now(&self) -> u64;

    /// Reads the clock again, and returns its time.
    fn refresh(&mut self) -> u64;

    /// Sets the address, by its index, for the next connect of a connection. A driver without a network ignores the
    /// address.
    fn aim(&mut self, _conn: u32, _address: u32) {}

    /// Opens a socket for connection `conn` and starts the connect. `conn` is an unused number below the driver's
    /// capacity. If this method returns an error, the connect was not started.
    fn connect(&mut self, conn: u32) -> Result<(), Errno>;

    /// Gives up an unfinished connect, and starts a new connect with the same connection index.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        self.close(conn);
        self.connect(conn)
    }

    /// Sends the bytes that `fill` writes. `fill` is called once with a buffer, and returns the number of bytes that it
    /// wrote.
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno>;

    /// Sends the last bytes of a connection before it is closed, after any bytes that wait to be sent. Bytes that
    /// cannot be sent at once are dropped. If nothing can be sent, for example because earlier bytes wait for the peer,
    /// returns false without calling `fill`.
    fn send_last(&mut self, _conn: u32, _fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        false
    }

    /// After [`Completion::PeerClosed`], returns the number of sent bytes that the peer had not received when it closed
    /// the connection. Returns 0 if this number is unknown.
    fn unreceived(&mut self, _conn: u32) -> usize {
        0
    }

    /// Closes a connection. After this call, the driver reports no more completions of the connection.
    fn close(&mut self, conn: u32);

    /// Closes the sending side of an established connection, and continues to receive. Returns false if the driver
    /// cannot close one side only.
    fn half_close(&mut self, _conn: u32) -> bool {
        false
    }

    /// Passes an established connection to the process that handles connections after a request was sent on it, and
    /// closes it in this process. If passing the connection fails, the connection is unchanged.
    fn hand_over(&mut self, _conn: u32, _start: Start) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Tells the process that handles connections that a phase starts at `at_ns`. This process gets the message after
    /// all connections that were passed to it earlier.
    fn tell_phase(&mut self, _phase: run::Phase, _at_ns: u64) {}
}

/// A mechanism that moves bytes between the generator and its sockets.
pub trait Driver {
    /// Type of this driver's operations.
    type Ops: Ops;

    /// True if a wait may end slightly after its deadline, as with real timers.
    const WAKES_LATE: bool;

    /// Returns the driver's operations, such as sends. The connection engine uses the operations of a driver between
    /// two waits.
    fn ops(&mut self) -> &mut Self::Ops;

    /// Waits until `until_ns` for completions, and passes each to `f`. If `batch` allows it, the driver waits longer to
    /// collect more completions. A driver that cannot collect completions returns after the first completion.
    fn wait(&mut self, until_ns: u64, batch: Batch, f: impl FnMut(&mut Self::Ops, Completion<'_>))
    -> Result<(), Errno>;
}
