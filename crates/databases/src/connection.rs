//! A blocking connection to a database, over TCP or a unix socket.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use run::Behind;
use sys::blocking_stream::BlockingStream;

/// Maximum time for a connect, a read or a write. loadline could not sample a slower database often enough.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to a database.
pub(crate) fn open(behind: &Behind) -> io::Result<BlockingStream> {
    let stream = match behind.socket() {
        Some(path) => BlockingStream::Unix(UnixStream::connect(path)?),
        None => BlockingStream::Tcp(connect(&behind.host, behind.port)?),
    };
    stream.set_timeout(TIMEOUT)?;
    Ok(stream)
}

/// Connects to the first of a host's addresses that accepts a connection.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for addr in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&addr, TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns true if the connection stays on this machine, so nobody on the network can read the password that loadline
/// sends.
pub(crate) fn is_local(stream: &BlockingStream) -> bool {
    match stream {
        BlockingStream::Unix(_) => true,
        BlockingStream::Tcp(stream) => stream.peer_addr().is_ok_and(|addr| addr.ip().is_loopback()),
        BlockingStream::Udp(socket) => socket.peer_addr().is_ok_and(|addr| addr.ip().is_loopback()),
    }
}
