//! Processes that end with the test, however it ends.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::net;
use tempfile::TempDir;

/// The first port that a test takes.
const LOWEST: u32 = 12_000;

/// How long anything that must happen may take: far more than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A port that was free a moment ago and that the kernel gives to nobody else: it lies below the range from which
/// connections take their own port. One from that range may belong to a connection of another test before the server
/// listens, and whoever connects to it while nobody listens can meet himself.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let end =
        range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768_u32).max(LOWEST + 1_000);
    let free = |at: u32| {
        let port = LOWEST + std::process::id().wrapping_mul(97).wrapping_add(at) % (end - LOWEST);
        u16::try_from(port).ok().filter(|port| bound(*port).is_ok())
    };
    (0..1_000).find_map(|_| free(NEXT.fetch_add(1, Ordering::Relaxed))).expect("none of 1,000 ports is free")
}

/// A socket that is bound to a port and does not listen. A process that another thread starts just now has a copy of it until
/// it runs its program, and whoever waits for a server there must not take that for the server.
fn bound(port: u16) -> rustix::io::Result<OwnedFd> {
    let fd = net::socket_with(net::AddressFamily::INET, net::SocketType::STREAM, net::SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_reuseaddr(&fd, true)?;
    net::bind(&fd, &SocketAddr::from(([127, 0, 0, 1], port)))?;
    Ok(fd)
}

/// An address of this machine that refuses every connection while the socket is held: bound, so that nobody else gets the
/// port, and not listening.
pub fn refusing() -> (OwnedFd, SocketAddr) {
    let fd = bound(0).expect("a port of the kernel's choice");
    let at =
        net::getsockname(&fd).ok().and_then(|at| SocketAddr::try_from(at).ok()).expect("the address of a bound socket");
    (fd, at)
}

/// Looks until there is something to see.
#[track_caller]
pub fn eventually<T>(look: impl FnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, look)
}

/// The same for what may take longer.
#[track_caller]
pub fn eventually_within<T>(patience: Duration, look: impl FnMut() -> Option<T>) -> T {
    seen_within(patience, look).unwrap_or_else(|| panic!("waited {patience:?} in vain"))
}

/// The same where it may never come.
pub(crate) fn seen_within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + patience;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal by its name (`TERM`, `STOP`, …) to one process.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    assert!(signalled(pid, name), "no signal {name} to {pid}");
}

/// The same to one that may have ended; whether it was still there.
pub fn signalled(pid: u32, name: &str) -> bool {
    Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success()
}

/// Ends processes at once, all with one call: some may end by themselves when others do.
#[track_caller]
pub fn kill(pids: &[u32]) {
    let mut command = Command::new("kill");
    let said = command.arg("-KILL").args(pids.iter().map(u32::to_string)).env("LC_ALL", "C").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(!pids.is_empty() && said.lines().all(|line| line.contains("No such process")), "{pids:?}: {said}");
}

/// When a process was started, clock ticks since the machine was; 0 for one that has ended.
pub(crate) fn started(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Field 22; the 2nd is a name in parentheses, which may hold anything.
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)?.parse().ok()).unwrap_or(0)
}

/// The processes that a process started.
pub fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    listed.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The most that a process ever had in memory, KiB; 0 once it has ended.
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A child that ends with this value: asked to, so that it can end its own children, and killed when it does not.
pub struct Held(pub Child);

impl Held {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")))
    }

    /// Starts a server and waits until it listens on a port of loopback.
    pub fn listening(command: &mut Command, port: u16) -> Self {
        let mut held = Self::start(command);
        eventually(|| {
            assert!(held.runs(), "{command:?} ended at once");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        held
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has not ended yet.
    pub fn runs(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A process that has ended and was waited for may be another's by now.
        if !self.runs() {
            return;
        }
        let _ = Command::new("kill").arg(self.pid().to_string()).stderr(Stdio::null()).status();
        let until = Instant::now() + Duration::from_secs(3);
        while self.runs() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads the first line that a child says; empty when it ended without.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("standard output is a pipe");
    BufReader::new(stdout).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// A Python script that prints the address it listens on as its first line; `None` where Python is not installed.
pub fn script_server(code: &str) -> Option<(Held, SocketAddr)> {
    Some(python_server(&crate::program("python3")?, code, &[]))
}

/// A script for [`script_server`]: one loop that does `each` (lines of Python; `requests` counts, `asked` is what came)
/// before every answer, after what `begin` does once.
pub fn one_loop(begin: &str, each: &str) -> String {
    let each: String = each.trim().lines().map(|line| format!("            {line}\n")).collect();
    format!(
        "
import os, selectors, socket, time
requests = 0
{begin}
s = socket.create_server(('127.0.0.1', 0), backlog=512)
print('%s:%d' % s.getsockname(), flush=True)
ready = selectors.DefaultSelector()
ready.register(s, selectors.EVENT_READ)
answer = b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok'
while True:
    for key, _ in ready.select():
        c = key.fileobj
        if c is s:
            ready.register(s.accept()[0], selectors.EVENT_READ)
            continue
        try:
            asked = c.recv(65536)
            if not asked: raise OSError
            requests += 1
{each}            c.sendall(answer)
        except OSError:
            ready.unregister(c)
            c.close()
"
    )
}

/// What [`script_server`] starts, by a Python that is named, with arguments.
pub fn python_server(python: &std::path::Path, code: &str, args: &[&str]) -> (Held, SocketAddr) {
    let mut server = Held::start(Command::new(python).args(["-c", code]).args(args).stdout(Stdio::piped()));
    let addr = first_line(&mut server.0);
    (server, addr.parse().unwrap_or_else(|e| panic!("{addr:?} is no address: {e}")))
}

/// A server that listens, with a directory of its own.
pub struct Running {
    held: Held,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its files.
    pub dir: TempDir,
}

impl Running {
    /// Starts it and waits until it listens.
    pub fn start(mut command: Command, port: u16, dir: TempDir) -> Self {
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let held = Held::listening(&mut command, port);
        Self { held, addr, dir }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.held.pid()
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }
}

/// A busy loop on one processor.
pub struct Hog(#[allow(dead_code, reason = "ends when dropped")] Held);

impl Hog {
    /// So many busy loops on processor `cpu`.
    pub fn on(cpu: u32, loops: usize) -> Vec<Self> {
        let one = || {
            let mut command = Command::new("taskset");
            Self(Held::start(command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])))
        };
        (0..loops).map(|_| one()).collect()
    }
}
