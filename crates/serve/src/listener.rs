//! Opens listening sockets.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sys::{Errno, socket};

use crate::ServeError;
use crate::control::Control;
use crate::options::Options;

/// Time between two attempts to bind a port that is in use.
const RETRY: Duration = Duration::from_millis(5);
/// Maximum number of further attempts to bind a port. All attempts together take 2 s, which is enough for the kernel to
/// free the ring of a killed io_uring server.
const MAX_RETRIES: u32 = 400;

/// Opens listening sockets for `shards` serving threads: one socket for all threads, or with `own` one per thread
/// (SO_REUSEPORT).
///
/// If another server still uses the port, waits for up to 2 s until the port is free. Adds a note that tells the user
/// that the server waits for the port. If `own` is set and the other server's sockets also have SO_REUSEPORT, the two
/// servers share the port, and another note says so. Accepted connections inherit TCP_NODELAY from the listening
/// socket, unless `nagle` is set.
pub(crate) fn open(
    listen: &str,
    backlog: u32,
    shards: u32,
    own: bool,
    nagle: bool,
    control: &Control,
) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
    let count = if own { shards.max(1) } else { 1 };
    let alone: Option<Open<'_>> = if own { Some(&bind_alone) } else { None };
    let (mut fds, addr) = open_each(listen, count, control, alone, &|addr| open_one(addr, backlog, own, nagle))?;
    while fds.len() < shards as usize {
        fds.push(fds[0].clone());
    }
    Ok((fds, addr))
}

/// Function that opens a socket on an address.
pub(crate) type Open<'a> = &'a dyn Fn(SocketAddr) -> sys::Result<OwnedFd>;

/// Opens `count` sockets on one address with the function `open_one`, and returns the sockets and their address. If the
/// port of the address is 0, the kernel chooses a port for the first socket, and the other sockets use this port, too.
///
/// `alone` is given if the sockets have SO_REUSEPORT. If `alone` is given, the function first tries to bind a socket
/// without SO_REUSEPORT to the address. If another server already listens there, a note tells the user that both
/// servers share the port.
pub(crate) fn open_each(
    listen: &str,
    count: u32,
    control: &Control,
    alone: Option<Open<'_>>,
    open_one: Open<'_>,
) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
    let bad = |why: String| ServeError::Listen { listen: listen.into(), why };
    let mut addr =
        listen.to_socket_addrs().map_err(|e| bad(e.to_string()))?.next().ok_or_else(|| bad("no such host".into()))?;
    let (mut fds, is_shared) = (Vec::new(), std::cell::Cell::new(false));
    for n in 0..count {
        let try_once = || {
            // Check only before the first socket is opened: afterwards, the first socket itself uses the port.
            if n == 0 {
                is_shared.set(alone.is_some_and(|alone| alone(addr).err() == Some(Errno::ADDRINUSE)));
            }
            open_one(addr)
        };
        let fd = open_patiently(try_once, addr, RETRY, control).map_err(bad)?;
        addr = socket::local_addr(&fd).map_err(|e| ServeError::os("ask for the listening address", e))?;
        fds.push(Arc::new(fd));
    }
    if is_shared.get() {
        control.note(format!(
            "another server listens on {addr}, too (SO_REUSEPORT), so each of the two gets only a part of the clients: \
             stop the other server, unless they share the port on purpose"
        ));
    }
    Ok((fds, addr))
}

/// Binds a socket without SO_REUSEPORT to an address, and does not listen. Fails with EADDRINUSE if another socket
/// listens on the address, even if that socket has SO_REUSEPORT.
fn bind_alone(addr: SocketAddr) -> sys::Result<OwnedFd> {
    let fd = socket::tcp(addr)?;
    socket::set_reuse_address(&fd, true)?;
    socket::bind(&fd, addr)?;
    Ok(fd)
}

/// Opens a listening socket. If the address is in use, tries again up to [`MAX_RETRIES`] times. The returned error is a
/// text for the user.
fn open_patiently(
    try_once: impl Fn() -> sys::Result<OwnedFd>,
    addr: SocketAddr,
    retry: Duration,
    control: &Control,
) -> Result<OwnedFd, String> {
    let begin = Instant::now();
    // The number of attempts is limited instead of the time, because time also passes while the machine is suspended.
    let mut retries = 0;
    loop {
        let waited_ms = begin.elapsed().as_millis();
        match try_once() {
            Err(Errno::ADDRINUSE) if retries < MAX_RETRIES => {
                retries += 1;
                std::thread::sleep(retry);
            }
            Err(Errno::ADDRINUSE) => {
                let why = std::io::Error::from(Errno::ADDRINUSE);
                return Err(format!("{why}, and still so after {waited_ms} ms; stop what listens there"));
            }
            Err(e) => return Err(std::io::Error::from(e).to_string()),
            Ok(fd) => {
                if retries > 0 {
                    control.note(format!("waited {waited_ms} ms for {addr}, which another server was leaving"));
                }
                return Ok(fd);
            }
        }
    }
}

/// Sets the congestion control of the listening sockets, as the option `congestion` says. Connections accepted later
/// inherit the congestion control of their listening socket.
pub(crate) fn tune(listeners: &[Arc<OwnedFd>], options: &Options<'_>) -> Result<(), ServeError> {
    let Some(name) = options.get::<String>("congestion")? else { return Ok(()) };
    let wants = "one of net.ipv4.tcp_allowed_congestion_control";
    let bad = |_| ServeError::BadOption { name: "congestion", value: name.clone(), wants };
    listeners.iter().try_for_each(|fd| socket::set_congestion(&**fd, &name).map_err(bad))
}

fn open_one(addr: SocketAddr, backlog: u32, own: bool, nagle: bool) -> sys::Result<OwnedFd> {
    let fd = socket::tcp(addr)?;
    socket::set_reuse_address(&fd, true)?;
    if own {
        socket::set_reuse_port(&fd, true)?;
    }
    if !nagle {
        socket::set_nodelay(&fd, true)?;
    }
    socket::bind(&fd, addr)?;
    socket::listen(&fd, backlog)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::lock;

    fn any() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    fn socket() -> sys::Result<OwnedFd> {
        open_one(any(), 1, false, false)
    }

    #[test]
    fn a_wait_for_a_busy_port_succeeds_and_adds_a_note() {
        let (control, tries) = (Control::new(&[], None), std::cell::Cell::new(0));
        let fourth = || {
            tries.set(tries.get() + 1);
            if tries.get() < 4 { Err(Errno::ADDRINUSE) } else { socket() }
        };
        assert!(open_patiently(fourth, any(), RETRY, &control).is_ok());
        assert!(lock(&control.notes)[0].starts_with("waited"), "{:?}", lock(&control.notes));
        assert!(open_patiently(socket, any(), RETRY, &control).is_ok());
        assert_eq!(lock(&control.notes).len(), 1);
    }

    #[test]
    fn a_port_that_stays_busy_is_an_error_after_all_attempts() {
        let (control, tries) = (Control::new(&[], None), std::cell::Cell::new(0));
        let taken = || {
            tries.set(tries.get() + 1);
            Err(Errno::ADDRINUSE)
        };
        let error = open_patiently(taken, any(), Duration::ZERO, &control).unwrap_err();
        assert!(error.contains("in use") && error.contains("still so after"), "{error}");
        assert_eq!(tries.get(), MAX_RETRIES + 1);
    }

    #[test]
    fn an_invalid_address_is_an_error() {
        let control = Control::new(&[], None);
        let error = open("nonsense", 1, 1, false, false, &control).err().unwrap().to_string();
        assert!(error.contains("ADDRESS:PORT"), "{error}");
        let (shared, _) = open("127.0.0.1:0", 1, 3, false, false, &control).unwrap();
        assert!(shared.iter().all(|fd| Arc::ptr_eq(fd, &shared[0])) && shared.len() == 3);
        let (own, addr) = open("127.0.0.1:0", 1, 3, true, false, &control).unwrap();
        assert!(own.len() == 3 && own.iter().all(|fd| sys::socket::local_addr(&**fd).unwrap() == addr));
    }
}
