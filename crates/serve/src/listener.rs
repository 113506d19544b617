//! The listening socket, and how connections are taken off its queue.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sys::poll::{self, Entry};
use sys::wake::Waker;
use sys::{Errno, clock, socket};

use crate::ServeError;
use crate::options::Options;
use crate::server::Control;
use crate::stats::Cell;

/// How long a port that is taken is waited for, and how often it is tried. Enough for the kernel to tidy up after a server
/// on io_uring that was killed, short enough for a person.
const WAIT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(5);
/// Connections taken at one wake, so that those that are already open get their turn.
const BURST: u32 = 64;
/// How long accepting rests when no descriptor or memory is left.
pub(crate) const PAUSE_NS: u64 = 100_000_000;

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
/// A port that another server is just leaving is waited for, and that is noted.
/// With `nagle`, connections delay small segments; otherwise they inherit TCP_NODELAY from here.
pub(crate) fn open(
    listen: &str,
    backlog: u32,
    shards: u32,
    own: bool,
    nagle: bool,
    control: &Control,
) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
    let bad = |why: String| ServeError::Listen { listen: listen.into(), why };
    let mut addr =
        listen.to_socket_addrs().map_err(|e| bad(e.to_string()))?.next().ok_or_else(|| bad("no such host".into()))?;
    let mut fds = Vec::new();
    for _ in 0..if own { shards.max(1) } else { 1 } {
        let fd = patiently(|| one(addr, backlog, own, nagle), addr, control).map_err(bad)?;
        addr = socket::local_addr(&fd).map_err(|e| ServeError::os("ask for the listening address", e))?;
        fds.push(Arc::new(fd));
    }
    while fds.len() < shards as usize {
        fds.push(fds[0].clone());
    }
    Ok((fds, addr))
}

/// Tries again for a while where the address is in use; an error in words. A port of our choice is never in use.
fn patiently(
    try_once: impl Fn() -> sys::Result<OwnedFd>,
    addr: SocketAddr,
    control: &Control,
) -> Result<OwnedFd, String> {
    let begin = Instant::now();
    // By tries, not by the clock: a machine that stood still has not tried.
    let most = WAIT.as_millis() / RETRY.as_millis();
    let mut tries = 0;
    loop {
        let waited_ms = begin.elapsed().as_millis();
        match try_once() {
            Err(Errno::ADDRINUSE) if tries < most => {
                tries += 1;
                std::thread::sleep(RETRY);
            }
            Err(Errno::ADDRINUSE) => {
                let why = std::io::Error::from(Errno::ADDRINUSE);
                return Err(format!("{why}, and still so after {waited_ms} ms; stop what listens there"));
            }
            Err(e) => return Err(std::io::Error::from(e).to_string()),
            Ok(fd) => {
                if waited_ms >= RETRY.as_millis() {
                    control.note(format!("waited {waited_ms} ms for {addr}, which another server was leaving"));
                }
                return Ok(fd);
            }
        }
    }
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

    /// Takes connections until the server is stopped, which signals `waker`: the loop of a thread that does nothing else.
    pub(crate) fn run(
        mut self,
        control: &Control,
        waker: &Waker,
        cell: &Cell,
        mut open: impl FnMut(OwnedFd),
    ) -> Result<(), ServeError> {
        while !control.stopping() {
            let asked = if self.on_readiness() { poll::IN } else { 0 };
            let mut entries = [Entry::new(waker.as_raw_fd(), poll::IN), Entry::new(self.fd.as_raw_fd(), asked)];
            let timeout = self.due_ns().map(|due| due.saturating_sub(clock::monotonic_ns()));
            poll::poll(&mut entries, timeout).map_err(|e| ServeError::os("wait for connections", e))?;
            let now_ns = clock::monotonic_ns();
            for _ in 0..self.allowance(now_ns) {
                match self.take(now_ns, cell) {
                    Accepted::One(fd) => open(fd),
                    Accepted::Enough | Accepted::Pause => break,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::lock;

    #[test]
    fn a_port_that_is_about_to_be_free_is_waited_for_and_that_is_said() {
        let (control, tries) = (Control::new(&[], None), std::cell::Cell::new(0));
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let fourth = || {
            tries.set(tries.get() + 1);
            if tries.get() < 4 { Err(Errno::ADDRINUSE) } else { one(any, 1, false, false) }
        };
        assert!(patiently(fourth, any, &control).is_ok());
        assert!(lock(&control.notes)[0].starts_with("waited"), "{:?}", lock(&control.notes));
        assert!(patiently(|| one(any, 1, false, false), any, &control).is_ok());
        assert_eq!(lock(&control.notes).len(), 1);
    }
}
