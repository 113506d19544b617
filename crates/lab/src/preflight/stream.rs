//! One blocking connection to a server, over TCP or a Unix socket.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use run::Address;
use sys::blocking_stream::BlockingStream;
use sys::peer::{Peer, queue_is_full};

/// Interval between attempts to connect to a Unix socket whose accept queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Connects within a given time. If the accept queue of a Unix socket is full, tries again until `within` has passed.
pub(crate) fn connect(addr: &Address, within: Duration) -> io::Result<BlockingStream> {
    let path = match addr {
        Address::Inet(addr) => return TcpStream::connect_timeout(addr, within).map(BlockingStream::Tcp),
        Address::Unix(path) => path,
    };
    let (peer, end) = (Peer::unix(path)?, Instant::now() + within);
    loop {
        let fd = peer.socket()?;
        match peer.connect(&fd) {
            Ok(_) => {
                let stream = UnixStream::from(fd);
                stream.set_nonblocking(false)?;
                return Ok(BlockingStream::Unix(stream));
            }
            Err(e) if queue_is_full(e) && Instant::now() < end => std::thread::sleep(RETRY_INTERVAL),
            Err(e) if queue_is_full(e) => return Err(ErrorKind::TimedOut.into()),
            Err(e) => return Err(e.into()),
        }
    }
}
