//! One blocking connection to a server, by TCP or a Unix socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use run::Address;
use sys::peer::{Peer, queue_is_full};

/// Interval between attempts at a Unix socket whose accept queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// A blocking connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Connects within a time. A Unix socket with a full accept queue is retried until then.
    pub(crate) fn connect(addr: &Address, within: Duration) -> io::Result<Self> {
        let path = match addr {
            Address::Inet(addr) => return TcpStream::connect_timeout(addr, within).map(Self::Tcp),
            Address::Unix(path) => path,
        };
        let (peer, end) = (Peer::unix(path)?, Instant::now() + within);
        loop {
            let fd = peer.socket()?;
            match peer.connect(&fd) {
                Ok(_) => {
                    let stream = UnixStream::from(fd);
                    stream.set_nonblocking(false)?;
                    return Ok(Self::Unix(stream));
                }
                Err(e) if queue_is_full(e) && Instant::now() < end => std::thread::sleep(RETRY_INTERVAL),
                Err(e) if queue_is_full(e) => return Err(ErrorKind::TimedOut.into()),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Sets the timeout of the next read or write.
    pub(crate) fn patience(&self, time: Duration) {
        // Fails only for a timeout of zero, which no caller gives.
        let _ = match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.set_write_timeout(Some(time)))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.set_write_timeout(Some(time)))
            }
        };
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
