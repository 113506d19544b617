//! A blocking stream over TCP or a Unix socket, or a blocking connected UDP socket.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A blocking stream over TCP or a Unix socket, or a connected UDP socket. Each read and each write of a UDP socket is
/// one datagram. A read or a write that a signal interrupts is repeated, within the same timeout.
#[derive(Debug)]
pub enum BlockingStream {
    /// A stream over TCP.
    Tcp(TcpStream),
    /// A stream over a Unix socket.
    Unix(UnixStream),
    /// A connected UDP socket, whose reads and writes are datagrams.
    Udp(UdpSocket),
}

impl BlockingStream {
    /// Sets the maximum time that each read and each write may take. Fails if the time is zero.
    pub fn set_timeout(&self, time: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.set_write_timeout(Some(time)))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.set_write_timeout(Some(time)))
            }
            Self::Udp(socket) => {
                socket.set_read_timeout(Some(time)).and_then(|()| socket.set_write_timeout(Some(time)))
            }
        }
    }

    /// Returns the maximum time that each read and each write may take; `None` if there is no maximum.
    fn timeout(&self) -> io::Result<Option<Duration>> {
        match self {
            Self::Tcp(stream) => stream.read_timeout(),
            Self::Unix(stream) => stream.read_timeout(),
            Self::Udp(socket) => socket.read_timeout(),
        }
    }

    /// Repeats a system call until no signal interrupts it, or until the timeout has passed since the first call. Linux
    /// interrupts a call that has a timeout even if the process handles no signals, for example when the process is
    /// stopped and continues. Source: signal(7).
    fn uninterrupted<T>(&mut self, mut call: impl FnMut(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let began = Instant::now();
        match call(self) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
        let Some(timeout) = self.timeout()? else { return until_uninterrupted(|| call(self)) };
        // Every call has the timeout of the socket, so a repeated call needs a shorter one.
        let result = until_uninterrupted(|| match timeout.saturating_sub(began.elapsed()) {
            Duration::ZERO => Err(io::ErrorKind::WouldBlock.into()),
            left => self.set_timeout(left).and_then(|()| call(self)),
        });
        self.set_timeout(timeout)?;
        result
    }
}

impl Read for BlockingStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.uninterrupted(|stream| match stream {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
            Self::Udp(socket) => socket.recv(into),
        })
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.uninterrupted(|stream| match stream {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Udp(socket) => socket.send(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Repeats a system call until no signal interrupts it.
fn until_uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::poll;
    use crate::uring::{Config, File, Ring};
    use crate::wake::Waker;

    /// Returns an eager ring and a waker. Each wake completes an operation of the ring, and each completion interrupts
    /// the system calls of the thread that created the ring. Returns `None` without io_uring.
    fn interrupter() -> Option<(Ring, Waker)> {
        let (mut ring, _) = match Ring::new(&Config { files: 1, eager: true, ..Config::default() }) {
            Ok(made) => made,
            Err(e) => {
                testkit::skip("io_uring", e);
                return None;
            }
        };
        let waker = Waker::new().unwrap();
        ring.poll(File::Fd(waker.as_raw_fd()), u32::from(poll::IN as u16), true, 1).unwrap();
        ring.submit().unwrap();
        Some((ring, waker))
    }

    /// An earlier version of loadline began the whole timeout again after each signal.
    #[test]
    fn interruptions_do_not_extend_the_timeout() {
        let timeout = Duration::from_millis(20);
        let Some((_ring, waker)) = interrupter() else { return };
        let (near, _far) = UnixStream::pair().unwrap();
        let mut stream = BlockingStream::Unix(near);
        stream.set_timeout(timeout).unwrap();
        let (ended, interrupts) = (AtomicBool::new(false), 100 * timeout);
        let read = std::thread::scope(|scope| {
            let interrupts_read = scope.spawn(|| {
                let began = Instant::now();
                while !ended.load(Ordering::Relaxed) && began.elapsed() < interrupts {
                    waker.wake();
                }
                ended.load(Ordering::Relaxed)
            });
            let read = stream.read(&mut [0]);
            ended.store(true, Ordering::Relaxed);
            assert!(interrupts_read.join().unwrap(), "the read lasted as long as it was interrupted");
            read
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(stream.timeout().unwrap(), Some(timeout), "the next read has the whole timeout");
    }

    #[test]
    fn an_interrupted_read_continues() {
        let Some((_ring, waker)) = interrupter() else { return };
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut stream = BlockingStream::Unix(near);
        stream.set_timeout(Duration::from_secs(30)).unwrap();
        let read = std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..20_000).for_each(|_| waker.wake());
                far.write_all(b"x").unwrap();
            });
            stream.read(&mut [0])
        });
        assert_eq!(read.unwrap(), 1);
    }
}
