//! TCP sockets as the kernel reports them (sock_diag): listeners with their accept queues, and `tcp_info` of
//! connections. Source: sock_diag(7), linux/inet_diag.h, linux/tcp.h.

mod parse;
mod request;
mod sockets;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SOCK_DIAG;

use crate::netlink::{DumpControl, Netlink, u32_at};
use crate::{Errno, Result};
use parse::{connection, ends_of, listener, other, state_of};
use request::{INET6, INFO, SKMEMINFO, SYN_SENT, bytecode, excluding_port, request, to_port};
pub use sockets::{Connection, ConnectionFilter, Listener, OtherConnection, SocketName, TcpInfo, Traffic};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Attributes requested for a connection: `tcp_info` and socket memory.
const CONNECTION_EXTENSIONS: u8 = 1 << (INFO - 1) | 1 << (SKMEMINFO - 1);
const ESTABLISHED: u32 = 1 << 1;
/// States of a connection that this end has closed, or that both ends have closed: FIN_WAIT1, FIN_WAIT2, TIME_WAIT,
/// LAST_ACK and CLOSING.
const CLOSED: u32 = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9 | 1 << 11;
const CLOSE_WAIT: u32 = 1 << 8;
const LISTEN: u32 = 1 << 10;

/// A netlink socket of the sock_diag family.
#[derive(Debug)]
pub struct Diag(Netlink);

impl Diag {
    /// Opens a socket in the caller's network namespace. Opening the socket requires no privilege.
    pub fn open() -> Result<Self> {
        Netlink::open(Some(SOCK_DIAG)).map(Self)
    }

    /// Uses a sock_diag socket that was opened in another network namespace. The dumps of the returned `Diag` contain
    /// the sockets of the namespace in which the netlink socket was opened.
    pub fn over(fd: OwnedFd) -> Result<Self> {
        Netlink::over(fd).map(Self)
    }

    /// Requests a dump and calls `each` with the payload of each message.
    pub(crate) fn ask(&mut self, kind: u16, request: &[u8], mut each: impl FnMut(&[u8]) -> DumpControl) -> Result<()> {
        self.0.ask(kind, true, &[request], |_, payload| each(payload)).map(drop)
    }

    /// Calls `each` with every listener of IPv4 (`v6` false) or IPv6, on port `port` or on all ports (`None`).
    pub fn listeners(&mut self, v6: bool, port: Option<u16>, mut each: impl FnMut(&Listener)) -> Result<()> {
        let head = request(v6, 1 << (SKMEMINFO - 1), LISTEN);
        let filter = bytecode(ConnectionFilter { local_port: port, remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| {
            if let Some(listener) = listener(payload) {
                each(&listener);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with the remote address and the inode of every established connection to a local port. The inode is
    /// 0 while the connection waits to be accepted. The request does not ask for `tcp_info`, so a dump of tens of
    /// thousands of connections takes little time.
    pub fn peers(&mut self, v6: bool, port: u16, mut each: impl FnMut(SocketAddr, u32)) -> Result<()> {
        let filter = bytecode(ConnectionFilter { local_port: Some(port), remote_port: None });
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&request(v6, 0, ESTABLISHED), &filter], |_, payload| {
            if let (Some((_, remote)), Some(inode)) = (ends_of(payload), u32_at(payload, 68)) {
                each(remote, inode);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with every connection that does not use `port` at either end, and that is established or being
    /// opened by this end. The kernel, and not this process, selects the connections. With `traffic`, the kernel adds
    /// `tcp_info`, for which it must lock each connection.
    pub fn others(&mut self, v6: bool, port: u16, traffic: bool, each: impl FnMut(&OtherConnection)) -> Result<()> {
        let extensions = if traffic { 1 << (INFO - 1) } else { 0 };
        self.each_other(&request(v6, extensions, ESTABLISHED | SYN_SENT), &excluding_port(port), each)
    }

    /// Calls `each` with the local and the remote address of recently closed connections (for TCP, closed up to a
    /// minute ago). Ends when `each` returns [`DumpControl::Stop`]. Leaves out connections that use `port` at either
    /// end. No process holds a closed connection, so it has no inode. After [`DumpControl::Stop`], the caller must drop
    /// this socket and open another one, because the kernel still keeps the rest of its answer for this socket.
    pub fn closed(
        &mut self,
        v6: bool,
        port: u16,
        mut each: impl FnMut(SocketAddr, SocketAddr) -> DumpControl,
    ) -> Result<DumpControl> {
        let (head, filter) = (request(v6, 0, CLOSED), excluding_port(port));
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| match ends_of(payload) {
            Some((local, remote)) => each(local, remote),
            None => DumpControl::Continue,
        })
    }

    /// Calls `each` with every connection to a remote port that is established or being opened, except connections to
    /// the IP addresses `except`. The kernel, and not this process, selects the connections. With `traffic`, the kernel
    /// adds `tcp_info`.
    pub fn to_port(
        &mut self,
        v6: bool,
        port: u16,
        except: &[IpAddr],
        traffic: bool,
        each: impl FnMut(&OtherConnection),
    ) -> Result<()> {
        let extensions = if traffic { 1 << (INFO - 1) } else { 0 };
        self.each_other(&request(v6, extensions, ESTABLISHED | SYN_SENT), &to_port(port, except), each)
    }

    /// Calls `each` with every established connection to a local port, with its traffic. The kernel selects the
    /// connections, not this process.
    pub fn accepted(&mut self, v6: bool, port: u16, each: impl FnMut(&OtherConnection)) -> Result<()> {
        let filter = bytecode(ConnectionFilter { local_port: Some(port), remote_port: None });
        self.each_other(&request(v6, 1 << (INFO - 1), ESTABLISHED), &filter, each)
    }

    fn each_other(&mut self, head: &[u8], filter: &[u8], mut each: impl FnMut(&OtherConnection)) -> Result<()> {
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[head, filter], |_, payload| {
            if let Some(connection) = other(payload) {
                each(&connection);
            }
            DumpControl::Continue
        })?;
        Ok(())
    }

    /// Calls `each` with open connections, including those that the peer has closed (CLOSE_WAIT), until `each` returns
    /// [`DumpControl::Stop`]. If `each` has returned [`DumpControl::Stop`], drop this socket and open another one,
    /// because the kernel still keeps the rest of the dump. The kernel applies the filter, not this process.
    pub fn connections(
        &mut self,
        v6: bool,
        filter: ConnectionFilter,
        mut each: impl FnMut(&Connection) -> DumpControl,
    ) -> Result<DumpControl> {
        let head = request(v6, CONNECTION_EXTENSIONS, ESTABLISHED | CLOSE_WAIT);
        let filter = bytecode(filter);
        self.0.ask(SOCK_DIAG_BY_FAMILY, true, &[&head, &filter], |_, payload| match connection(payload) {
            Some(connection) => each(&connection),
            None => DumpControl::Continue,
        })
    }

    /// Returns the current state of one known connection, or `None` if the connection has ended. A query for one
    /// connection is much cheaper than a dump, for which the kernel searches its whole table.
    pub fn connection(&mut self, name: &SocketName) -> Result<Option<Connection>> {
        self.known(name, CONNECTION_EXTENSIONS, connection)
    }

    /// Returns the current state of one known connection with its traffic, in the form that [`Diag::others`] uses.
    pub fn other(&mut self, name: &SocketName) -> Result<Option<OtherConnection>> {
        self.known(name, 1 << (INFO - 1), other)
    }

    fn known<T>(&mut self, name: &SocketName, extensions: u8, parse: fn(&[u8]) -> Option<T>) -> Result<Option<T>> {
        const OPEN: u32 = SYN_SENT | ESTABLISHED | CLOSE_WAIT;
        let mut head = request(name.family == INET6, extensions, u32::MAX);
        head[8..56].copy_from_slice(&name.id);
        let mut found = None;
        let asked = self.0.ask(SOCK_DIAG_BY_FAMILY, false, &[&head], |_, payload| {
            let open = state_of(payload).is_some_and(|state| OPEN & state != 0);
            found = parse(payload).filter(|_| open);
            DumpControl::Continue
        });
        match asked {
            Ok(_) => Ok(found),
            Err(Errno::NOENT | Errno::STALE) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests;
