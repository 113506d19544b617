//! What a driver must do: submit operations, wait for completions until a deadline. The worker is generic over it and
//! compiled once for each, so no operation on a socket is a call by table.
//!
//! A driver owns descriptors, buffers and generations; it knows nothing of requests, protocols or rates. A completion
//! of a connection that was closed meanwhile never leaves the driver.

use sys::Errno;

/// When a request was meant to begin and when it was sent, on the driver's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Due time; without an arrival process the same as `sent_ns`.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
}

/// What happened on a connection. `conn` is the number that the worker chose.
#[derive(Debug)]
pub enum Completion<'a> {
    /// The connect was successful.
    Connected {
        /// Connection.
        conn: u32,
    },
    /// Another process established this connection, sent its request and passed it on.
    Adopted {
        /// Connection.
        conn: u32,
        /// When the request was due and sent.
        start: Start,
    },
    /// Bytes came, in place in the driver's buffer.
    Received {
        /// Connection.
        conn: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// After [`Sent::Pending`]: everything has left, more can be sent.
    Writable {
        /// Connection.
        conn: u32,
    },
    /// The peer will send nothing more.
    PeerClosed {
        /// Connection.
        conn: u32,
    },
    /// An operation failed; the connection is of no use any more and is to be closed.
    Failed {
        /// Connection.
        conn: u32,
        /// Which operation.
        op: Op,
        /// Why.
        errno: Errno,
    },
}

/// Which operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opening or connecting.
    Connect,
    /// Sending.
    Send,
    /// Receiving.
    Receive,
}

/// What became of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Taken by the system; more may be sent at once.
    All,
    /// A part waits in the driver; [`Completion::Writable`] comes when it has left, until then nothing may be sent.
    Pending,
}

/// How long completions may be collected before they are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// This many are enough.
    pub want: u32,
    /// After this many microseconds one is enough; 0 for no extra wait.
    pub within_us: u32,
}

/// The submitting half: what the worker may do while it looks at a completion.
pub trait Ops {
    /// The time of this pass, nanoseconds of the driver's clock; read once for several completions.
    fn now(&self) -> u64;

    /// Reads the clock again.
    fn refresh(&mut self) -> u64;

    /// Opens a socket for connection `conn` (a free number below the driver's capacity) and starts the connect.
    /// An error at once means that nothing was started.
    fn connect(&mut self, conn: u32) -> Result<(), Errno>;

    /// Gives up a connect that is not up yet and starts a new one in its place.
    fn reconnect(&mut self, conn: u32) -> Result<(), Errno> {
        self.close(conn);
        self.connect(conn)
    }

    /// Sends what `fill` writes: it is called once with a buffer and says how many bytes it used.
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno>;

    /// Sends the last of a connection that is closed next behind what is still pending, as far as it leaves at once.
    /// False, and `fill` is not called, where nothing can: what is pending waits for the peer, say.
    fn send_last(&mut self, _conn: u32, _fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        false
    }

    /// Closes; nothing more is heard of this connection.
    fn close(&mut self, conn: u32);

    /// Ends our side of an established connection; its answers and its end are still heard. False where the driver cannot.
    fn half_close(&mut self, _conn: u32) -> bool {
        false
    }

    /// Passes an established connection, whose request was sent, to the handling process and closes it here. An error
    /// leaves it as it is.
    fn hand_over(&mut self, _conn: u32, _start: Start) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    /// Tells the handling process, behind all connections that it was passed, that a phase holds from `at_ns` on.
    fn tell_phase(&mut self, _phase: run::Phase, _at_ns: u64) {}
}

/// A way to move bytes.
pub trait Driver {
    /// The submitting half.
    type Ops: Ops;

    /// Whether a wait ends a little after its deadline, as timers of a real system do.
    const WAKES_LATE: bool;

    /// The submitting half, between two waits.
    fn ops(&mut self) -> &mut Self::Ops;

    /// Waits until there is something or `until_ns` is reached, and hands every completion to `f`. `batch` is an extra wait
    /// that is worth its delay; a driver that cannot do that returns with the first completion.
    fn wait(&mut self, until_ns: u64, batch: Batch, f: impl FnMut(&mut Self::Ops, Completion<'_>))
    -> Result<(), Errno>;
}
