//! A blocking connection to a database, over TCP or a unix socket.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use run::Behind;

/// Maximum time for a connect, a read or a write. A database that is slower cannot be sampled 20 times a second.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection.
#[derive(Debug)]
pub(crate) enum Connection {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    /// Connects to a database.
    pub(crate) fn open(behind: &Behind) -> io::Result<Self> {
        if let Some(path) = behind.socket() {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            return Ok(Self::Unix(stream));
        }
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for addr in (behind.host.as_str(), behind.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&addr, TIMEOUT) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(TIMEOUT))?;
                    stream.set_write_timeout(Some(TIMEOUT))?;
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Returns true if nobody on the way can read what is sent.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp(stream) => stream.peer_addr().is_ok_and(|addr| addr.ip().is_loopback()),
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(buffer),
            Self::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
