//! Reads the activity of one thread: whether it runs, or which object it waits for.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use run::ThreadState;
use sys::block_device::disk_name;
use sys::remote_memory;

use super::calls::{self, Arch, Blocked, Call};
use super::futex::{Wait, Waits};
use super::path::short_path;
use super::pipe_ends::PipeEnds;
use super::process::{Process, thread_folder};
use super::round::{ThreadSample, WaitKey};
use super::sockets::{SocketUse, Sockets};
use crate::udp_sockets::connected_to;

/// Maximum number of new sockets per reader that are looked up in the lists of UDP sockets. Reading the lists of UDP
/// sockets takes some 40 µs.
const MAX_LOOKED_UP: u32 = 4;
/// Port of DNS servers.
const DNS_PORT: u16 = 53;

/// Commands of fcntl(2) that wait: F_SETLKW and F_OFD_SETLKW.
const FCNTL_WAITS: [u64; 2] = [7, 38];

/// Reads the threads of one process.
pub(super) struct ThreadReader<'a> {
    /// Index of the process in `Round::processes`.
    pub(super) index: usize,
    pub(super) sockets: &'a Sockets,
    pub(super) pipes: &'a mut PipeEnds,
    pub(super) buffer: &'a mut Vec<u8>,
    /// Collects the futexes for which threads wait.
    pub(super) waits: &'a mut Waits,
    /// Number of new sockets that this reader has looked up in the lists of UDP sockets.
    pub(super) looked_up: u32,
}

impl ThreadReader<'_> {
    /// Reads the activity of a thread. Returns `None` if the thread ended or may not be read.
    pub(super) fn read(&mut self, process: &mut Process, tid: u32) -> Option<ThreadSample> {
        let pid = process.pid;
        let folder = || thread_folder(pid, tid);
        let thread = process.thread(tid)?;
        let blocked = match thread.read(folder, self.buffer) {
            Ok(blocked) => blocked?,
            Err(error) => {
                process.refuse(error);
                return None;
            }
        };
        let (name, full_name) = (thread.name.clone(), thread.full_name.clone());
        let on_cpu = if blocked == Blocked::Running { thread.on_cpu(folder, self.buffer) } else { None };
        let (state, key) = match blocked {
            Blocked::Running => (ThreadState::OnCpu, WaitKey::None),
            Blocked::OutsideCall => (outside_call(&folder()), WaitKey::None),
            Blocked::InCall { number, arguments, .. } => self.in_call((process.pid, tid), number, arguments),
        };
        let stack = if let Blocked::InCall { stack, .. } = blocked { stack } else { (0, 0) };
        Some(ThreadSample { process: self.index, tid, name, full_name, state, key, on_cpu, stack })
    }

    fn in_call(&mut self, (pid, tid): (u32, u32), number: u64, [a, b, c, ..]: [u64; 5]) -> (ThreadState, WaitKey) {
        let Some((name, call)) = Arch::HOST.and_then(|arch| calls::call(arch, number)) else {
            return (ThreadState::Other, WaitKey::Text(format!("system call {number}").into()));
        };
        let call = if call == Call::Restart { restarted(pid, tid) } else { call };
        let named = || WaitKey::Text(name.into());
        match call {
            Call::Futex => self.futex(a, Wait { operation: b, expected: c as u32 }),
            Call::FutexWait => self.futex(a, Wait { operation: 0, expected: b as u32 }),
            Call::Read => match self.descriptor(pid, a, name, false) {
                (ThreadState::NewSocket, key) => self.datagrams(pid, a).unwrap_or((ThreadState::NewSocket, key)),
                found => found,
            },
            Call::Write => self.descriptor(pid, a, name, true),
            Call::File => (ThreadState::Disk, file(pid, a).map_or_else(named, |path| on_file(name, &path, pid, a))),
            Call::Path => (ThreadState::Disk, named()),
            Call::Accept => (ThreadState::Accept, WaitKey::None),
            Call::Poll if b == 0 => (ThreadState::Sleep, WaitKey::None),
            Call::Select if a == 0 => (ThreadState::Sleep, WaitKey::None),
            Call::Poll => self.poll(pid, a, b),
            Call::Select | Call::Events => (ThreadState::Events, WaitKey::None),
            Call::Sleep => (ThreadState::Sleep, WaitKey::None),
            Call::Child => (ThreadState::Child, WaitKey::None),
            Call::FileLock => (ThreadState::FileLock, named()),
            Call::Flock => (ThreadState::FileLock, file(pid, a).map_or_else(named, WaitKey::Text)),
            Call::Fcntl if FCNTL_WAITS.contains(&b) => {
                (ThreadState::FileLock, file(pid, a).map_or_else(named, WaitKey::Text))
            }
            Call::Fcntl | Call::Restart => (ThreadState::Other, named()),
            Call::Signal => (ThreadState::Signal, WaitKey::None),
            Call::Message => (ThreadState::Pipe, WaitKey::Text("message queue".into())),
            Call::Memory => (ThreadState::Memory, WaitKey::None),
        }
    }

    fn futex(&mut self, address: u64, wait: Wait) -> (ThreadState, WaitKey) {
        self.waits.entry((self.index, address)).or_insert((wait, 0)).1 += 1;
        (ThreadState::Futex, WaitKey::Futex(address))
    }

    /// Returns the activity of a thread that waits in poll(2). A poll of a single socket counts as a wait for the
    /// socket, because client libraries of databases use poll(2) to wait for one socket.
    fn poll(&mut self, pid: u32, array: u64, length: u64) -> (ThreadState, WaitKey) {
        let mut entry = [0; 8];
        if length != 1 || remote_memory::read(pid, array, &mut entry) != Ok(entry.len()) {
            return (ThreadState::Events, WaitKey::None);
        }
        let [a, b, c, d, events, ..] = entry;
        let is_write = events & 4 != 0;
        let fd = u64::from(u32::from_ne_bytes([a, b, c, d]));
        match self.descriptor(pid, fd, "poll", is_write) {
            (ThreadState::Peer | ThreadState::ClientRead | ThreadState::ClientWrite, key) if key != WaitKey::None => {
                (ThreadState::Peer, key)
            }
            (state @ (ThreadState::ClientRead | ThreadState::ClientWrite), key) => (state, key),
            (ThreadState::NewSocket, _) => self.datagrams(pid, fd).unwrap_or((ThreadState::Events, WaitKey::None)),
            _ => (ThreadState::Events, WaitKey::None),
        }
    }

    /// Returns the activity of a thread that waits for `fd`, a socket that loadline does not know yet. Returns `None`
    /// if `fd` is no UDP socket with a peer, or after [`MAX_LOOKED_UP`] look-ups. A program that looks up a host name
    /// opens a new UDP socket, and waits for the reply of the DNS server.
    fn datagrams(&mut self, pid: u32, fd: u64) -> Option<(ThreadState, WaitKey)> {
        self.looked_up += 1;
        let is_allowed = self.looked_up <= MAX_LOOKED_UP;
        let peer = socket_inode(pid, fd).filter(|_| is_allowed).and_then(|inode| connected_to(pid, inode))?;
        let name = if peer.port() == DNS_PORT { format!("{peer} (DNS)") } else { peer.to_string() };
        Some((ThreadState::Peer, WaitKey::Text(name.into())))
    }

    /// Returns the activity of a thread that waits for the descriptor `fd` in the system call `name`.
    fn descriptor(&mut self, pid: u32, fd: u64, name: &str, is_write: bool) -> (ThreadState, WaitKey) {
        let Some(link) = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok() else {
            return (ThreadState::Other, WaitKey::Text("descriptor".into()));
        };
        let link = link.to_string_lossy();
        let inode = inode_in(&link);
        let text = |text: &str| WaitKey::Text(text.into());
        match inode.map(|inode| self.sockets.socket_use(inode)) {
            Some(Some(SocketUse::Client)) if is_write => (ThreadState::ClientWrite, WaitKey::None),
            Some(Some(SocketUse::Client)) => (ThreadState::ClientRead, WaitKey::None),
            Some(Some(SocketUse::Peer(address))) => (ThreadState::Peer, WaitKey::Text(address.clone())),
            Some(None) => (ThreadState::NewSocket, WaitKey::None),
            None if link.starts_with("anon_inode:[timerfd") => (ThreadState::Sleep, WaitKey::None),
            None if link.starts_with("anon_inode:[signalfd") => (ThreadState::Signal, WaitKey::None),
            None if link.starts_with("anon_inode:inotify") => (ThreadState::Events, WaitKey::None),
            None if link.starts_with("anon_inode:") => (ThreadState::Pipe, text("event descriptor")),
            None if link.starts_with("/dev/pts/") || link.starts_with("/dev/tty") => {
                (ThreadState::Events, WaitKey::None)
            }
            None => match self.pipes.describe(pid, fd, is_write) {
                Some(pipe) if is_write => (ThreadState::FullPipe, WaitKey::Text(pipe)),
                Some(pipe) => (ThreadState::Pipe, WaitKey::Text(pipe)),
                None => (ThreadState::Disk, on_file(name, &short_path(&link), pid, fd)),
            },
        }
    }
}

/// Returns the call that a thread in restart_syscall(2) continues, or [`Call::Restart`] if it is unknown.
fn restarted(pid: u32, tid: u32) -> Call {
    let place = std::fs::read_to_string(thread_folder(pid, tid).join("wchan")).unwrap_or_default();
    calls::restarted(&place).unwrap_or(Call::Restart)
}

/// Returns the inode of the socket that is open as descriptor `fd`. Returns `None` for other descriptors.
fn socket_inode(pid: u32, fd: u64) -> Option<u32> {
    inode_in(&std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?.to_string_lossy())
}

/// Parses `socket:[4711]`.
fn inode_in(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns the state of a thread that waits outside of a system call.
fn outside_call(folder: &Path) -> ThreadState {
    let stat = std::fs::read(folder.join("stat")).unwrap_or_default();
    let letter = crate::text::stat_fields(&stat).and_then(|(_, mut fields)| fields.next()?.first().copied());
    match letter {
        Some(b'T' | b't') => ThreadState::Stopped,
        _ => ThreadState::Memory,
    }
}

/// Returns the key of a system call that waits for a file's disk, such as "fsync of /var/log/app on sda". No disk is
/// named if the file is not on a block device, as in the overlay file system of a container.
fn on_file(name: &str, path: &str, pid: u32, fd: u64) -> WaitKey {
    let device = std::fs::metadata(format!("/proc/{pid}/fd/{fd}")).ok().map(|file| file.dev());
    let disk = device.and_then(|device| disk_name(Path::new("/sys"), device));
    let on = disk.map(|disk| format!(" on {disk}")).unwrap_or_default();
    WaitKey::Text(format!("{name} of {path}{on}").into())
}

/// Returns the path of an open file.
fn file(pid: u32, fd: u64) -> Option<Arc<str>> {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    Some(short_path(&link.to_string_lossy()))
}
