//! A thread of the server: receives datagrams of all its connections, and sends their answers.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use proto::http3::ServerShard;
use sys::poll::{self, Entry};
use sys::wake::Waker;
use sys::{Errno, clock, udp};

use crate::ServeError;
use crate::behaviours::Delays;
use crate::connection::End;
use crate::control::Control;
use crate::services::http::Pages;
use crate::stats::Cell;

/// Maximum number of groups of datagrams that are received before answers are sent.
const MAX_GROUPS_PER_TURN: usize = 64;
/// Size of the receive buffer, bytes. The kernel joins at most 64 KiB of datagrams.
const BUFFER_BYTES: usize = 64 * 1024;
/// Maximum time to wait, nanoseconds, so that the Date header always contains the current second.
const MAX_WAIT_NS: u64 = 500_000_000;

/// One serving thread of an HTTP/3 server.
pub(super) struct Worker {
    shard: ServerShard<Pages>,
    site: Arc<Pages>,
    /// Planted weaknesses, which delay each completed request.
    delays: Delays,
    socket: Arc<OwnedFd>,
    control: Arc<Control>,
    waker: Arc<Waker>,
    cell: Arc<Cell>,
    buffer: Box<[u8]>,
    /// True if the socket was full, so the thread waits until it accepts datagrams again.
    is_full: bool,
}

impl Worker {
    pub(super) fn new(
        shard: ServerShard<Pages>,
        site: Arc<Pages>,
        delays: Delays,
        socket: Arc<OwnedFd>,
        control: Arc<Control>,
    ) -> Result<Self, ServeError> {
        let (waker, cell) = (control.waker()?, control.cell());
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(Self { shard, site, delays, socket, control, waker, cell, buffer, is_full: false })
    }

    /// Serves until the server stops. Before `run` returns, it closes all connections, so that clients need not wait
    /// for a timeout.
    pub(super) fn run(mut self) -> Result<(), ServeError> {
        while !self.control.stopping() {
            self.wait()?;
            self.site.set_now(clock::realtime_ns() / 1_000_000_000);
            self.receive()?;
            let delays = self.delays.clone();
            self.shard.tick(clock::monotonic_ns(), &mut || delays.iter().for_each(|delay| delay()));
            self.send()?;
            self.count();
        }
        self.shard.stop(clock::monotonic_ns());
        self.send()?;
        self.count();
        Ok(())
    }

    /// Waits for datagrams, for room in the socket if it was full, for a timer, or for the end of the server.
    fn wait(&self) -> Result<(), ServeError> {
        let wanted = if self.is_full { poll::IN | poll::OUT } else { poll::IN };
        let mut entries = [Entry::new(self.socket.as_raw_fd(), wanted), Entry::new(self.waker.as_raw_fd(), poll::IN)];
        let until_timer = self.shard.due_ns().map_or(MAX_WAIT_NS, |due| due.saturating_sub(clock::monotonic_ns()));
        let waited = poll::poll(&mut entries, Some(until_timer.min(MAX_WAIT_NS)));
        waited.map(drop).map_err(|e| ServeError::os("wait for datagrams", e))
    }

    fn receive(&mut self) -> Result<(), ServeError> {
        let delays = self.delays.clone();
        let mut completed = || delays.iter().for_each(|delay| delay());
        for _ in 0..MAX_GROUPS_PER_TURN {
            match udp::receive(&*self.socket, &mut self.buffer) {
                // A datagram from port 0 expects no answer (RFC 768), and no answer can be sent to port 0.
                Ok(udp::Group { bytes, datagram_bytes, from: Some(from) }) if from.port() != 0 => {
                    self.cell.bytes_in.add(bytes as u64);
                    let now_ns = clock::monotonic_ns();
                    self.shard.receive(now_ns, from, &self.buffer[..bytes], datagram_bytes, &mut completed);
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(e) => return Err(ServeError::os("receive datagrams", e)),
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), ServeError> {
        let (socket, cell, mut failed) = (&self.socket, &self.cell, None);
        let mut send = |bytes: &[u8], datagram_bytes: usize, to: SocketAddr| {
            match udp::send_to(&**socket, bytes, datagram_bytes, to) {
                Ok(()) => cell.bytes_out.add(bytes.len() as u64),
                Err(Errno::AGAIN | Errno::NOBUFS) => return false,
                Err(e) if is_fatal(e) => failed = Some(e),
                // The address, the route or a packet filter refuses the datagram, so only one client is affected. QUIC
                // notices by its own timers that datagrams are lost, or that a client has gone.
                Err(_) => {}
            }
            true
        };
        self.is_full = !self.shard.send(clock::monotonic_ns(), &mut send);
        failed.map_or(Ok(()), |e| Err(ServeError::os("send datagrams", e)))
    }

    /// Adds the counts of the shard to the counters of the thread.
    fn count(&mut self) {
        let counts = self.shard.take_counts();
        (0..counts.opened).for_each(|_| self.cell.opened());
        let normal = counts.closed.saturating_sub(counts.faults);
        (0..normal).for_each(|_| self.cell.closed(End::Done));
        (0..counts.faults).for_each(|_| self.cell.closed(End::Fault));
        self.cell.closed_silent.add(counts.silent);
        self.cell.requests.add(counts.requests);
    }
}

/// Returns true if the error of a send concerns the socket or its network device. All other errors concern only the
/// client to which the datagram was sent. EIO means that the network device cannot cut a group into datagrams.
fn is_fatal(error: Errno) -> bool {
    matches!(error, Errno::BADF | Errno::NOTSOCK | Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_concern_one_client_do_not_end_the_thread() {
        // EINVAL: port 0; EPERM: a packet filter drops the answer; EACCES: a broadcast address.
        for errno in [Errno::INVAL, Errno::PERM, Errno::ACCESS, Errno::CONNREFUSED] {
            assert!(!is_fatal(errno), "{errno}");
        }
        assert!(is_fatal(Errno::BADF));
    }
}
