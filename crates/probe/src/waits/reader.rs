//! Reads one round: all threads of the server's processes and of its upstream services.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use run::{Address, ThreadState, visible};
use sys::remote_memory;

use crate::find::{sockets_of, who_answers};
use crate::process_tree::descendants;

use super::calls::{self, Arch, Blocked, Call};
use super::futex::{self, Wait};
use super::process::{Process, thread_folder};
use super::refusal::refusal;
use super::round::{ConnectionSample, FutexSample, PeerSample, Round, ThreadSample, WaitKey};
use super::sockets::{SocketUse, Sockets};

/// Maximum number of threads read in a round. With more threads, each round reads the next part of them.
const MAX_ROUND_THREADS: usize = 512;
/// Maximum number of processes, and of upstream addresses.
const MAX_PROCESSES: usize = 1024;
const MAX_UPSTREAMS: usize = 16;
/// Maximum number of known sockets up to which the sockets of event loops are looked up for each reading. A look-up
/// takes 1 µs per socket.
const MAX_FRESH_SOCKETS: usize = 1024;
/// Maximum length of a file's path in a key.
const MAX_PATH_CHARS: usize = 120;

/// Commands of fcntl(2) that wait: F_SETLKW and F_OFD_SETLKW.
const FCNTL_WAITS: [u64; 2] = [7, 38];

/// Reader of the threads.
#[derive(Debug)]
pub(super) struct Reader {
    roots: Vec<u32>,
    netns_pid: Option<u32>,
    processes: BTreeMap<u32, Process>,
    sockets: Sockets,
    /// Names of the processes that hold each socket, by inode.
    held: HashMap<u32, Arc<str>>,
    /// New upstream addresses, and those whose processes were searched.
    new_upstreams: Vec<Arc<str>>,
    upstreams: HashSet<Arc<str>>,
    /// First process that answers at each upstream address.
    answers: HashMap<Arc<str>, u32>,
    behind: Vec<u32>,
    /// Position of the next part, if there are too many threads for one round.
    next: usize,
    buffer: Vec<u8>,
    missing: Vec<String>,
    /// Processes whose threads may not be read, keyed by the error number.
    refused: BTreeMap<i32, Vec<u32>>,
}

impl Reader {
    /// Creates a reader of these processes and their children. Nothing is read yet.
    pub(super) fn new(roots: Vec<u32>, netns_pid: Option<u32>) -> Self {
        Self {
            roots,
            netns_pid,
            processes: BTreeMap::new(),
            sockets: Sockets::new(netns_pid),
            held: HashMap::new(),
            new_upstreams: Vec::new(),
            upstreams: HashSet::new(),
            answers: HashMap::new(),
            behind: Vec::new(),
            next: 0,
            buffer: Vec::new(),
            missing: Vec::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Finds new children, and the sockets and listeners of all processes.
    pub(super) fn find_processes(&mut self) {
        self.find_upstreams();
        let proc = Path::new("/proc");
        for (roots, behind) in [(self.roots.clone(), false), (self.behind.clone(), true)] {
            for pid in roots.iter().copied().chain(descendants(proc, &roots)) {
                if self.processes.len() < MAX_PROCESSES && !self.processes.contains_key(&pid) {
                    self.processes.extend(Process::open(pid, behind).map(|process| (pid, process)));
                }
            }
        }
        self.processes.values_mut().for_each(Process::look_for_epoll);
        let of = |behind: bool| -> HashMap<u32, Arc<str>> {
            let processes = self.processes.values().filter(|p| p.behind == behind);
            processes.flat_map(|p| sockets_of(p.pid).map(|inode| (inode, p.name.clone()))).collect()
        };
        let (front, back) = (of(false), of(true));
        if let Err(error) = self.sockets.find_ports(&front, &back) {
            self.miss(format!("the listeners could not be read: {error}"));
        }
        self.held = front.into_iter().chain(back).collect();
    }

    /// Reads all connections.
    pub(super) fn read_connections(&mut self) -> Option<ConnectionSample> {
        self.find_fresh_sockets();
        match self.sockets.read(&self.held) {
            Ok(mut sample) => {
                self.name_peers(&mut sample.peers);
                sample.peers.iter().for_each(|peer| self.note_upstream(&peer.address));
                Some(sample)
            }
            Err(error) => {
                self.miss(format!("the connections could not be read: {error}"));
                None
            }
        }
    }

    /// Counts the connections of the server's clients.
    pub(super) fn read_clients(&mut self) -> Option<[f64; 5]> {
        self.sockets.read_clients()
    }

    /// Reads the connections to peers that are known already, and adds the counts of the clients' connections.
    pub(super) fn read_peers(&mut self, clients: Option<[f64; 5]>) -> Option<ConnectionSample> {
        let peers = self.sockets.read_peers();
        if peers.is_none() && clients.is_none() {
            return None;
        }
        let mut peers = peers.unwrap_or_default();
        self.name_peers(&mut peers);
        Some(ConnectionSample { clients, peers, is_full: false })
    }

    /// Adds the names of the processes that answer.
    fn name_peers(&self, peers: &mut [PeerSample]) {
        for peer in peers {
            let process = self.answers.get(&peer.address).and_then(|pid| self.processes.get(pid));
            peer.to = process.map(|process| process.name.clone());
        }
    }

    /// Finds the present sockets of event loops, which may open a connection to an upstream service for each request.
    fn find_fresh_sockets(&mut self) {
        if self.held.len() > MAX_FRESH_SOCKETS {
            return;
        }
        let loops = self.processes.values().filter(|process| process.epoll);
        let fresh = loops.flat_map(|p| sockets_of(p.pid).map(|inode| (inode, p.name.clone())));
        self.held.extend(fresh.take(MAX_FRESH_SOCKETS));
    }

    /// Notes the address of an upstream service, for the next search.
    fn note_upstream(&mut self, address: &Arc<str>) {
        if self.upstreams.len() < MAX_UPSTREAMS && self.upstreams.insert(address.clone()) {
            self.new_upstreams.push(address.clone());
        }
    }

    /// Finds the processes behind new upstream addresses.
    fn find_upstreams(&mut self) {
        for address in std::mem::take(&mut self.new_upstreams) {
            let Ok(to) = address.parse::<Address>() else { continue };
            let found = who_answers(&to, self.netns_pid);
            self.answers.extend(found.first().map(|pid| (address, *pid)));
            self.behind.extend(found.into_iter().filter(|pid| !self.processes.contains_key(pid)));
        }
    }

    /// Returns true if upstream addresses wait for a search.
    pub(super) fn has_new_upstreams(&self) -> bool {
        !self.new_upstreams.is_empty()
    }

    /// Reads the threads.
    pub(super) fn round(&mut self) -> Round {
        self.processes.retain(|_, process| process.list_threads());
        let all: usize = self.processes.values().map(|p| p.threads.len()).sum();
        let skip = if all > MAX_ROUND_THREADS { self.next % all } else { 0 };
        self.next = skip + MAX_ROUND_THREADS;
        let mut round = Round::default();
        let mut waits = BTreeMap::new();
        let mut position = 0;
        for (index, process) in self.processes.values_mut().enumerate() {
            round.processes.push(process.sample(&mut self.buffer));
            let mut context = Context { index, sockets: &self.sockets, buffer: &mut self.buffer, waits: &mut waits };
            let tids: Vec<u32> = process.threads.keys().copied().collect();
            for tid in tids {
                let mine = (position + all - skip) % all.max(1) < MAX_ROUND_THREADS;
                position += 1;
                if mine {
                    round.threads.extend(context.read(process, tid));
                }
            }
        }
        // A server may connect after the last search. The waiting threads of a new process name the peers at once.
        for thread in &round.threads {
            if let (ThreadState::Peer, WaitKey::Text(address)) = (thread.state, &thread.key) {
                self.note_upstream(address);
            }
        }
        round.weight = all as f64 / all.clamp(1, MAX_ROUND_THREADS) as f64;
        round.futexes = self.futexes(&waits);
        self.take_refusals();
        round
    }

    /// Reads the memory of each futex once.
    fn futexes(&self, waits: &BTreeMap<(usize, u64), (Wait, u32)>) -> Vec<FutexSample> {
        let processes: Vec<&Process> = self.processes.values().collect();
        let read = |((index, address), (wait, waiters)): (&(usize, u64), &(Wait, u32))| {
            let process = processes.get(*index)?;
            let mut memory = [0; futex::BYTES];
            remote_memory::read(process.pid, address.checked_sub(futex::BYTES_BEFORE)?, &mut memory).ok()?;
            let at = |address| waits.get(&(*index, address)).map_or(0, |(_, waiters)| *waiters);
            let pair = waiters + at(address.wrapping_sub(4)) + at(address.wrapping_add(4));
            let is_thread = |id| process.thread_by_own_id(id).is_some();
            let object = futex::classify(*wait, &memory, (*waiters, pair), is_thread);
            let owner = object.owner.and_then(|id| process.thread_by_own_id(id));
            Some(FutexSample { process: *index, address: *address, kind: object.kind, owner })
        };
        waits.iter().filter(|(_, (_, waiters))| *waiters > 1 || waits.len() < 64).filter_map(read).collect()
    }

    /// Notes why threads could not be read.
    fn take_refusals(&mut self) {
        for process in self.processes.values_mut() {
            let Some(error) = process.refused.take() else { continue };
            let pids = self.refused.entry(error.raw_os_error().unwrap_or_default()).or_default();
            if pids.len() < MAX_PROCESSES && !pids.contains(&process.pid) {
                pids.push(process.pid);
            }
        }
    }

    fn miss(&mut self, why: String) {
        if self.missing.len() < run::MAX_WAIT_ROWS && !self.missing.contains(&why) {
            self.missing.push(why);
        }
    }

    /// Returns the reasons why something could not be read.
    pub(super) fn missing(&self) -> Vec<String> {
        let refused = self.refused.iter().map(|(number, pids)| refusal(pids, &io::Error::from_raw_os_error(*number)));
        self.missing.iter().cloned().chain(refused).collect()
    }

    /// Returns true if no process is left.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }
}

/// Arguments of reading the threads of a process.
struct Context<'a> {
    index: usize,
    sockets: &'a Sockets,
    buffer: &'a mut Vec<u8>,
    /// Wait and number of waiting threads of each futex.
    waits: &'a mut BTreeMap<(usize, u64), (Wait, u32)>,
}

impl Context<'_> {
    fn read(&mut self, process: &mut Process, tid: u32) -> Option<ThreadSample> {
        let pid = process.pid;
        let folder = || thread_folder(pid, tid);
        let thread = process.threads.get_mut(&tid)?;
        let blocked = match thread.read(folder, self.buffer) {
            Ok(blocked) => blocked?,
            Err(error) => {
                process.refuse(error);
                return None;
            }
        };
        let name = thread.name.clone();
        let on_cpu = if blocked == Blocked::Running { thread.on_cpu(folder, self.buffer) } else { None };
        let (state, key) = match blocked {
            Blocked::Running => (ThreadState::OnCpu, WaitKey::None),
            Blocked::OutsideCall => (outside_call(&folder()), WaitKey::None),
            Blocked::InCall { number, arguments, .. } => self.in_call(process.pid, number, arguments),
        };
        let stack = if let Blocked::InCall { stack, .. } = blocked { stack } else { (0, 0) };
        Some(ThreadSample { process: self.index, tid, name, state, key, on_cpu, stack })
    }

    fn in_call(&mut self, pid: u32, number: u64, [a, b, c, ..]: [u64; 5]) -> (ThreadState, WaitKey) {
        let Some((name, call)) = Arch::HOST.and_then(|arch| calls::call(arch, number)) else {
            return (ThreadState::Other, WaitKey::Text(format!("system call {number}").into()));
        };
        let named = || WaitKey::Text(name.into());
        match call {
            Call::Futex => self.futex(a, Wait { operation: b, expected: c as u32 }),
            Call::FutexWait => self.futex(a, Wait { operation: 0, expected: b as u32 }),
            Call::Read => self.descriptor(pid, a, name, false),
            Call::Write => self.descriptor(pid, a, name, true),
            Call::File => (ThreadState::Disk, file(pid, a).map_or_else(named, |path| on_file(name, &path))),
            Call::Path | Call::FileEvents => (ThreadState::Disk, named()),
            Call::Accept => (ThreadState::Accept, WaitKey::None),
            Call::Poll if b == 0 => (ThreadState::Sleep, WaitKey::None),
            Call::Select if a == 0 => (ThreadState::Sleep, WaitKey::None),
            Call::Poll => self.poll(pid, a, b),
            Call::Select | Call::Events => (ThreadState::Events, WaitKey::None),
            Call::Sleep => (ThreadState::Sleep, WaitKey::None),
            Call::Child => (ThreadState::Child, WaitKey::None),
            Call::FileLock => (ThreadState::FileLock, named()),
            Call::Fcntl if FCNTL_WAITS.contains(&b) => {
                (ThreadState::FileLock, file(pid, a).map_or_else(named, WaitKey::Text))
            }
            Call::Fcntl => (ThreadState::Other, named()),
            Call::Signal => (ThreadState::Signal, WaitKey::None),
            Call::Message => (ThreadState::Pipe, named()),
            Call::Memory => (ThreadState::Memory, WaitKey::None),
        }
    }

    fn futex(&mut self, address: u64, wait: Wait) -> (ThreadState, WaitKey) {
        self.waits.entry((self.index, address)).or_insert((wait, 0)).1 += 1;
        (ThreadState::Futex, WaitKey::Futex(address))
    }

    /// A poll of one descriptor waits for that descriptor, as client libraries of databases do.
    fn poll(&mut self, pid: u32, array: u64, length: u64) -> (ThreadState, WaitKey) {
        let mut entry = [0; 8];
        if length != 1 || remote_memory::read(pid, array, &mut entry) != Ok(entry.len()) {
            return (ThreadState::Events, WaitKey::None);
        }
        let [a, b, c, d, events, ..] = entry;
        let is_write = events & 4 != 0;
        match self.descriptor(pid, u64::from(u32::from_ne_bytes([a, b, c, d])), "poll", is_write) {
            (ThreadState::Peer | ThreadState::ClientRead | ThreadState::ClientWrite, key) if key != WaitKey::None => {
                (ThreadState::Peer, key)
            }
            (state @ (ThreadState::ClientRead | ThreadState::ClientWrite), key) => (state, key),
            _ => (ThreadState::Events, WaitKey::None),
        }
    }

    /// Returns what a thread waits for that calls `name` with a descriptor.
    fn descriptor(&mut self, pid: u32, fd: u64, name: &str, is_write: bool) -> (ThreadState, WaitKey) {
        let Some(link) = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok() else {
            return (ThreadState::Other, WaitKey::Text("descriptor".into()));
        };
        let link = link.to_string_lossy();
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
        let text = |text: &str| WaitKey::Text(text.into());
        match inode.map(|inode| self.sockets.socket_use(inode)) {
            Some(Some(SocketUse::Client)) if is_write => (ThreadState::ClientWrite, WaitKey::None),
            Some(Some(SocketUse::Client)) => (ThreadState::ClientRead, WaitKey::None),
            Some(Some(SocketUse::Peer(address))) => (ThreadState::Peer, WaitKey::Text(address.clone())),
            Some(None) => (ThreadState::NewSocket, WaitKey::None),
            None if link.starts_with("pipe:") => (ThreadState::Pipe, text("pipe")),
            None if link.starts_with("anon_inode:[timerfd") => (ThreadState::Sleep, WaitKey::None),
            None if link.starts_with("anon_inode:[signalfd") => (ThreadState::Signal, WaitKey::None),
            None if link.starts_with("anon_inode:inotify") => (ThreadState::Events, WaitKey::None),
            None if link.starts_with("anon_inode:") => (ThreadState::Pipe, text("event descriptor")),
            None if link.starts_with("/dev/pts/") || link.starts_with("/dev/tty") => {
                (ThreadState::Events, WaitKey::None)
            }
            None => (ThreadState::Disk, on_file(name, &short_path(&link))),
        }
    }
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

/// Returns the key of a system call that waits for a file's disk, such as "fsync of /var/log/app".
fn on_file(name: &str, path: &str) -> WaitKey {
    WaitKey::Text(format!("{name} of {path}").into())
}

/// Returns the path of an open file.
fn file(pid: u32, fd: u64) -> Option<Arc<str>> {
    let link = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    Some(short_path(&link.to_string_lossy()))
}

/// Makes a path safe to show and limits its length. The end of the path is the most informative part.
fn short_path(path: &str) -> Arc<str> {
    let path = visible(path);
    let skip = path.chars().count().saturating_sub(MAX_PATH_CHARS);
    path.chars().skip(skip).collect::<String>().into()
}
