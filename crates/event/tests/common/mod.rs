//! Helpers for tests: connected pairs of Unix and TCP sockets, and options for every kind of queue.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub)] // helper; not every test uses all of it

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use loadline_event::{BACKENDS, Backend, EventQueue, Options, Revocation};

/// One end of a non-blocking connection.
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub fn pair(tcp: bool) -> (Self, Self) {
        if !tcp {
            let (a, b) = UnixStream::pair().unwrap();
            a.set_nonblocking(true).unwrap();
            b.set_nonblocking(true).unwrap();
            return (Self::Unix(a), Self::Unix(b));
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let b = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (a, _) = listener.accept().unwrap();
        a.set_nonblocking(true).unwrap();
        b.set_nonblocking(true).unwrap();
        b.set_nodelay(true).unwrap();
        (Self::Tcp(a), Self::Tcp(b))
    }

    pub fn fd(&self) -> RawFd {
        match self {
            Self::Unix(s) => s.as_raw_fd(),
            Self::Tcp(s) => s.as_raw_fd(),
        }
    }

    /// Writes as many bytes as the send buffer accepts. Returns `false` if the buffer accepts no byte or the peer has
    /// closed.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        match self {
            Self::Unix(s) => s.write(bytes).is_ok(),
            Self::Tcp(s) => s.write(bytes).is_ok(),
        }
    }

    /// Returns the number of bytes that have arrived at a TCP socket and are not read yet, at most 4,096.
    pub fn unread(&self) -> usize {
        match self {
            Self::Unix(_) => 0,
            Self::Tcp(s) => s.peek(&mut [0; 4096]).unwrap_or(0),
        }
    }

    /// Waits until a TCP socket has more than `unread` unread bytes. Bytes arrive at a Unix socket at once.
    pub fn await_more_than(&self, unread: usize) {
        if let Self::Tcp(_) = self {
            testkit::eventually(|| (self.unread() > unread).then_some(()));
        }
    }

    /// Reads until a read would block or the input ends. Returns the number of bytes, and true if the input ended.
    pub fn drain(&mut self) -> (usize, bool) {
        let (mut total, mut buffer) = (0, [0; 4096]);
        loop {
            let outcome = match self {
                Self::Unix(s) => s.read(&mut buffer),
                Self::Tcp(s) => s.read(&mut buffer),
            };
            match outcome {
                Ok(0) => return (total, true),
                Ok(n) => total += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return (total, false),
                Err(_) => return (total, true),
            }
        }
    }

    pub fn end_sending(&self) {
        let _ = match self {
            Self::Unix(s) => s.shutdown(Shutdown::Write),
            Self::Tcp(s) => s.shutdown(Shutdown::Write),
        };
    }
}

/// Returns the name and the options of every kind of queue that the running kernel supports.
pub fn every() -> Vec<(String, Options)> {
    let mut list: Vec<_> = BACKENDS.iter().map(|row| (row.name.to_owned(), Options::new(row.backend))).collect();
    for backend in [Backend::Epoll, Backend::Uring] {
        let name = format!("{} lazy", backend.spec().name);
        list.push((name, Options::new(backend).revocation(Revocation::Lazy)));
    }
    list.push(("uring unchecked".into(), Options::new(Backend::Uring).recheck(false)));
    list.retain(|(name, options)| {
        let there = EventQueue::with(*options).is_ok();
        if !there {
            testkit::skip(name, "the kernel does not give it here");
        }
        there
    });
    list
}

/// Raises the limit on open descriptors to the hard limit and returns the new limit.
pub fn descriptors() -> usize {
    usize::try_from(sys::limits::raise_descriptors().unwrap()).unwrap()
}
