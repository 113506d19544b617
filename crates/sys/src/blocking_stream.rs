//! A blocking stream over TCP or a Unix socket, or a blocking connected UDP socket.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A blocking stream over TCP or a Unix socket, or a connected UDP socket. Each read and each write of a UDP socket is
/// one datagram.
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
}

impl Read for BlockingStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
            Self::Udp(socket) => socket.recv(into),
        }
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Udp(socket) => socket.send(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
