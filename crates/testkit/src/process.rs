//! Processes that end with their test, even if the test fails.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net;
use tempfile::TempDir;

/// Lowest port that tests use.
const LOWEST: u32 = 12_000;

/// Maximum time to wait for an event that must occur. Even on a busy machine, tests wait for a much shorter time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Returns a port that was free a moment ago, below the kernel's range of ephemeral ports. No other test gets this port
/// until this process ends. An ephemeral port would be unsuitable, because it could become the local port of another
/// test's connection. A client could even connect to itself, if it connects to an ephemeral port on which no program
/// listens.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let end =
        range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768_u32).max(LOWEST + 1_000);
    let free = |at: u32| {
        let port = LOWEST + std::process::id().wrapping_mul(97).wrapping_add(at) % (end - LOWEST);
        u16::try_from(port).ok().filter(|port| reserve(*port) && bound(*port).is_ok())
    };
    (0..1_000).find_map(|_| free(NEXT.fetch_add(1, Ordering::Relaxed))).expect("none of 1,000 ports is free")
}

/// Reserves a port among all tests of this machine until this process ends. Returns false if another test has reserved
/// the port. The reservation is a Unix socket with an abstract name, which the kernel removes with the process.
fn reserve(port: u16) -> bool {
    static RESERVED: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let name = UnixAddr::from_abstract_name(format!("loadline-test-port-{port}")).expect("a short name");
    let Ok(socket) = UnixListener::bind_addr(&name) else { return false };
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    true
}

/// Binds a socket to a port of 127.0.0.1 without listening. A process that another thread starts at the same time
/// inherits a copy of the socket, and keeps the copy until it executes its program. The inherited copy of the socket
/// does not listen, so a test that waits for a server cannot mistake the copy for the server.
fn bound(port: u16) -> rustix::io::Result<OwnedFd> {
    let fd = net::socket_with(net::AddressFamily::INET, net::SocketType::STREAM, net::SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_reuseaddr(&fd, true)?;
    net::bind(&fd, &SocketAddr::from(([127, 0, 0, 1], port)))?;
    Ok(fd)
}

/// Returns an address of this machine that refuses all connections until the returned socket is dropped. The socket is
/// bound, so that no other program gets its port, but it does not listen.
pub fn refusing() -> (OwnedFd, SocketAddr) {
    let fd = bound(0).expect("a port of the kernel's choice");
    let at =
        net::getsockname(&fd).ok().and_then(|at| SocketAddr::try_from(at).ok()).expect("the address of a bound socket");
    (fd, at)
}

/// Calls `look` repeatedly until it returns a value, and returns this value. Fails the test after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(look: impl FnMut() -> Option<T>) -> T {
    eventually_within(PATIENCE, look)
}

/// Calls `look` repeatedly until it returns a value, and returns this value. Fails the test after `patience`.
#[track_caller]
pub fn eventually_within<T>(patience: Duration, look: impl FnMut() -> Option<T>) -> T {
    seen_within(patience, look).unwrap_or_else(|| panic!("waited {patience:?} in vain"))
}

/// Calls `look` repeatedly until it returns a value, and returns this value. Returns `None` after `patience`.
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

/// Sends a signal to a process. `name` is the signal's name, such as `TERM` or `STOP`. Fails the test if the process
/// does not exist.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    assert!(signalled(pid, name), "no signal {name} to {pid}");
}

/// Sends a signal to a process that may have ended already. Returns true if the process existed.
pub fn signalled(pid: u32, name: &str) -> bool {
    Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success()
}

/// Kills several processes with one call. The single call matters: with one call per process, a process could end by
/// itself before its call, because another process was killed.
#[track_caller]
pub fn kill(pids: &[u32]) {
    let mut command = Command::new("kill");
    let said = command.arg("-KILL").args(pids.iter().map(u32::to_string)).env("LC_ALL", "C").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(!pids.is_empty() && said.lines().all(|line| line.contains("No such process")), "{pids:?}: {said}");
}

/// Returns the start time of a process, in clock ticks since boot; 0 if the process has ended.
pub(crate) fn started(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // In /proc/PID/stat, the start time is field 22. Field 2 is a name in parentheses, which may contain any character.
    // The code therefore counts the fields of the line from the end of field 2.
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)?.parse().ok()).unwrap_or(0)
}

/// Returns the process IDs of a process's children.
pub fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    listed.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Returns the highest memory use (RSS) of a process so far, KiB; 0 if the process has ended.
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A child process that ends when this value is dropped. When the value is dropped, the process first gets SIGTERM, so
/// that it can end its own children. Three seconds after SIGTERM, the process and any children that it leaves behind
/// are killed.
pub struct ChildProcess(pub Child);

impl ChildProcess {
    /// Starts the process of `command`.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}")))
    }

    /// Starts a server, and waits until it listens on `port` of 127.0.0.1.
    pub fn listening(command: &mut Command, port: u16) -> Self {
        let mut held = Self::start(command);
        eventually(|| {
            assert!(held.runs(), "{command:?} ended at once");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        held
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Returns true if the process still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // If the process has ended, its ID may already belong to another process, so no signal is sent.
        if !self.runs() {
            return;
        }
        let left: Vec<_> = children(self.pid()).into_iter().map(|pid| (pid, started(pid))).collect();
        let _ = Command::new("kill").arg(self.pid().to_string()).stderr(Stdio::null()).status();
        let until = Instant::now() + Duration::from_secs(3);
        while self.runs() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
        for (pid, start) in left {
            if start != 0 && started(pid) == start {
                signalled(pid, "KILL");
            }
        }
    }
}

/// Reads the first line that a child process prints. Returns an empty text if the child prints none.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let stdout = child.stdout.take().expect("standard output is a pipe");
    BufReader::new(stdout).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Starts a server written in Python. The script must print its listening address as its first line. Returns `None` if
/// Python is not installed.
pub fn script_server(code: &str) -> Option<(ChildProcess, SocketAddr)> {
    Some(python_server(&crate::program("python3")?, code, &[]))
}

/// Returns a Python script for [`script_server`], which handles all connections in one loop. `begin` and `each` are
/// Python code: `begin` runs once, and `each` runs before every response. In `each`, `requests` is the number of
/// requests so far, and `asked` is the received data.
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

/// Starts a server written in Python, with the interpreter `python` and the given arguments. The script must print its
/// listening address as its first line.
pub fn python_server(python: &std::path::Path, code: &str, args: &[&str]) -> (ChildProcess, SocketAddr) {
    let mut server = ChildProcess::start(Command::new(python).args(["-c", code]).args(args).stdout(Stdio::piped()));
    let addr = first_line(&mut server.0);
    (server, addr.parse().unwrap_or_else(|e| panic!("{addr:?} is no address: {e}")))
}

/// A listening server, with a directory of its own.
pub struct Running {
    held: ChildProcess,
    /// Address on which the server listens.
    pub addr: SocketAddr,
    /// Directory that contains the server's files.
    pub dir: TempDir,
}

impl Running {
    /// Starts the server and waits until it listens.
    pub fn start(mut command: Command, port: u16, dir: TempDir) -> Self {
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let held = ChildProcess::listening(&mut command, port);
        Self { held, addr, dir }
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.held.pid()
    }

    /// Sends a signal to the server. `name` is the signal's name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }
}

/// A process with an endless loop, which keeps one CPU busy until this value is dropped.
pub struct Hog(#[allow(dead_code, reason = "ends when dropped")] ChildProcess);

impl Hog {
    /// Starts `loops` busy loops on CPU `cpu`.
    pub fn on(cpu: u32, loops: usize) -> Vec<Self> {
        let start = || {
            let mut taskset = Command::new("taskset");
            Self(ChildProcess::start(taskset.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])))
        };
        (0..loops).map(|_| start()).collect()
    }
}
