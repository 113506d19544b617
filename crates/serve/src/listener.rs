//! The listening socket, and how connections are taken off its queue.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use sys::{Errno, socket};

use crate::ServeError;
use crate::options::Options;
use crate::stats::Cell;

/// Connections taken at one wake, so that those that are already open get their turn.
const BURST: u32 = 64;
/// How long accepting rests when no descriptor or memory is left.
const PAUSE_NS: u64 = 100_000_000;

/// Accepting on a timer instead of on readiness.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) every_ns: u64,
    pub(crate) batch: u32,
}

impl Pace {
    pub(crate) fn from(options: &Options<'_>) -> Result<Option<Self>, ServeError> {
        let Some(ms) = options.positive("accept_every_ms")? else { return Ok(None) };
        Ok(Some(Self { every_ns: (ms * 1e6) as u64, batch: options.get("accept_batch")?.unwrap_or(1) }))
    }
}

/// Opens listening sockets for `shards` threads: one shared by all, or one each (SO_REUSEPORT) where `own` is set.
/// With `nagle`, connections delay small segments; otherwise they inherit TCP_NODELAY from here.
pub(crate) fn open(
    listen: &str,
    backlog: u32,
    shards: u32,
    own: bool,
    nagle: bool,
) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
    let bad = |why: String| ServeError::Listen { listen: listen.into(), why };
    let mut addr =
        listen.to_socket_addrs().map_err(|e| bad(e.to_string()))?.next().ok_or_else(|| bad("no such host".into()))?;
    let mut fds = Vec::new();
    for _ in 0..if own { shards.max(1) } else { 1 } {
        let fd = one(addr, backlog, own, nagle).map_err(|e| bad(std::io::Error::from(e).to_string()))?;
        addr = socket::local_addr(&fd).map_err(|e| ServeError::os("ask for the listening address", e))?;
        fds.push(Arc::new(fd));
    }
    while fds.len() < shards as usize {
        fds.push(fds[0].clone());
    }
    Ok((fds, addr))
}

/// Gives connections that are accepted from now on the congestion control of option `congestion`.
pub(crate) fn tune(listeners: &[Arc<OwnedFd>], options: &Options<'_>) -> Result<(), ServeError> {
    let Some(name) = options.get::<String>("congestion")? else { return Ok(()) };
    let wants = "one of net.ipv4.tcp_allowed_congestion_control";
    let bad = |_| ServeError::BadOption { name: "congestion", value: name.clone(), wants };
    listeners.iter().try_for_each(|fd| socket::set_congestion(&**fd, &name).map_err(bad))
}

fn one(addr: SocketAddr, backlog: u32, own: bool, nagle: bool) -> sys::Result<OwnedFd> {
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

/// Takes connections for one thread and knows when not to.
pub(crate) struct Acceptor {
    fd: Arc<OwnedFd>,
    pace: Option<Pace>,
    /// When the next batch is due, or when a pause ends.
    due_ns: u64,
    paused: bool,
}

/// What accepting gave.
pub(crate) enum Accepted {
    One(OwnedFd),
    /// Nothing more for now.
    Enough,
    /// No descriptor or memory is left: stop listening for readiness until [`Acceptor::due_ns`].
    Pause,
}

impl Acceptor {
    pub(crate) fn new(fd: Arc<OwnedFd>, pace: Option<Pace>, now_ns: u64) -> Self {
        Self { fd, pace, due_ns: now_ns, paused: false }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Whether readiness of the listener matters.
    pub(crate) fn on_readiness(&self) -> bool {
        self.pace.is_none() && !self.paused
    }

    /// When accepting is to be tried without readiness.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        (!self.on_readiness()).then_some(self.due_ns)
    }

    /// How many may be taken now.
    pub(crate) fn allowance(&mut self, now_ns: u64) -> u32 {
        self.paused = false;
        let Some(pace) = self.pace else { return BURST };
        if now_ns < self.due_ns {
            return 0;
        }
        // Late wakes do not add up to a burst.
        self.due_ns = (self.due_ns + pace.every_ns).max(now_ns + pace.every_ns / 2);
        pace.batch
    }

    /// Takes one.
    pub(crate) fn take(&mut self, now_ns: u64, cell: &Cell) -> Accepted {
        match socket::accept(&*self.fd) {
            Ok(fd) => Accepted::One(fd),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                cell.accept_paused.add(1);
                self.paused = true;
                self.due_ns = self.due_ns.max(now_ns + PAUSE_NS);
                Accepted::Pause
            }
            // Everything else concerns the one connection that went away meanwhile (accept(2)).
            Err(_) => Accepted::Enough,
        }
    }
}
