//! One blocking connection to a server, over TCP, UDP or a Unix socket.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use run::Address;
use sys::blocking_stream::BlockingStream;
use sys::peer::{Peer, queue_is_full};
use sys::udp;

/// Interval between attempts to connect to a Unix socket whose accept queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Opens a UDP socket that sends to an address. A UDP socket cannot show that a server exists before the server
/// answers.
fn datagrams(addr: SocketAddr) -> io::Result<BlockingStream> {
    let peer = Peer::Udp(addr);
    let fd = peer.socket()?;
    udp::set_segment(&fd, proto::CLIENT_DATAGRAM_BYTES)?;
    peer.connect(&fd)?;
    let socket = UdpSocket::from(fd);
    socket.set_nonblocking(false)?;
    Ok(BlockingStream::Udp(socket))
}

/// Connects within the time `within`, with a protocol over UDP if `over_udp` is true. If the accept queue of a Unix
/// socket is full, tries again until `within` has passed.
pub(crate) fn connect(addr: &Address, over_udp: bool, within: Duration) -> io::Result<BlockingStream> {
    let path = match addr {
        Address::Inet(addr) if over_udp => return datagrams(*addr),
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
