//! Activity of a thread: it runs, is ready to run, or waits for something.

use serde::{Deserialize, Serialize};

/// Activity of a thread in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// The thread runs on a CPU.
    OnCpu,
    /// The thread is ready to run, but has no CPU.
    Runnable,
    /// The thread waits for a futex: a lock, a condition variable, a semaphore, or another thread.
    Futex,
    /// The thread waits for a reply from another server, or for a connection to it.
    Peer,
    /// The thread sleeps for a fixed time.
    Sleep,
    /// The thread waits for a file: a read, a write or a flush to its disk.
    Disk,
    /// The thread waits for a lock on a file or for a System V semaphore.
    FileLock,
    /// The thread waits until a client takes more data.
    ClientWrite,
    /// The thread waits for data from a pipe, or for an event descriptor.
    Pipe,
    /// The thread waits until another program takes data out of a full pipe.
    FullPipe,
    /// The thread waits for a child process.
    Child,
    /// The thread waits for a memory page (page fault).
    Memory,
    /// A signal or a debugger stopped the thread.
    Stopped,
    /// The thread waits for events on descriptors (epoll, poll, select, io_uring).
    Events,
    /// The thread waits for the next request on a client's connection.
    ClientRead,
    /// The thread waits for the next connection.
    Accept,
    /// The thread waits for a signal.
    Signal,
    /// The thread waits for a socket whose purpose is unknown, because the socket was opened after loadline last listed
    /// the sockets.
    NewSocket,
    /// The thread waits in another system call, whose number is in `WaitGroup::key`.
    #[default]
    Other,
}

impl ThreadState {
    /// Returns true if the thread waits for work to arrive.
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Events | Self::ClientRead | Self::Accept | Self::Signal)
    }

    /// Returns true if the thread runs on a CPU or is ready to run.
    pub const fn wants_cpu(self) -> bool {
        matches!(self, Self::OnCpu | Self::Runnable)
    }

    /// Returns true if the thread works, or waits in the middle of its work. Some threads are neither idle nor active,
    /// for example threads that wait for a futex or in an unknown system call.
    pub const fn is_active(self) -> bool {
        !self.is_idle() && !matches!(self, Self::Futex | Self::Pipe | Self::Stopped | Self::NewSocket | Self::Other)
    }
}
