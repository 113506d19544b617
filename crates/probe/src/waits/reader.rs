//! Reads one round: the threads of the server's processes and of its upstream services.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use run::{Address, ThreadState};

use crate::find::{is_manager, sockets_of, who_answers};
use crate::process_tree::{children_of_main_thread, server_descendants, with_ancestors};

use super::futex::Waits;
use super::futex_reader;
use super::pipe_ends::PipeEnds;
use super::process::Process;
use super::refusal::refusal;
use super::round::{ConnectionSample, PeerSample, Round, WaitKey};
use super::sockets::{SocketUse, Sockets};
use super::thread_reader::ThreadReader;
use super::turn::Turn;

/// Maximum number of processes whose threads the reader examines.
const MAX_PROCESSES: usize = 1024;
/// Maximum number of upstream addresses.
const MAX_UPSTREAMS: usize = 16;
/// Maximum number of known sockets. If more sockets are known, the reader does not look up the sockets of event loops
/// at each reading. The look-up for one event loop takes 1 µs per known socket.
const MAX_FRESH_SOCKETS: usize = 1024;

/// Maximum time for which the sampler may be off the CPU while it reads the threads of a round, nanoseconds. A program
/// that takes the CPU from the sampler usually keeps the CPU for a millisecond or more.
const MAX_OFF_CPU_NS: u64 = 200_000;

/// Reads the threads of the server's processes and of its upstreams' processes.
#[derive(Debug)]
pub(super) struct Reader {
    roots: Vec<u32>,
    netns_pid: Option<u32>,
    processes: BTreeMap<u32, Process>,
    sockets: Sockets,
    pipes: PipeEnds,
    /// Name of a process in which each socket is open, by the socket's inode.
    held: HashMap<u32, Arc<str>>,
    /// Upstream addresses whose processes must still be searched.
    new_upstreams: Vec<Arc<str>>,
    /// All upstream addresses so far.
    upstreams: HashSet<Arc<str>>,
    /// For each upstream address, the first process that was found to listen there.
    answers: HashMap<Arc<str>, u32>,
    behind: Vec<u32>,
    /// IDs of this process and of its ancestors, which are not sampled as children of the server.
    own_line: Vec<u32>,
    /// Number of rounds so far, counted from a random number.
    rounds: u64,
    buffer: Vec<u8>,
    missing: Vec<String>,
    /// Processes whose threads may not be read, keyed by the error number.
    refused: BTreeMap<i32, Vec<u32>>,
}

impl Reader {
    /// Creates a reader of the given processes and their children, but reads no thread yet.
    pub(super) fn new(roots: Vec<u32>, netns_pid: Option<u32>) -> Self {
        Self {
            roots,
            netns_pid,
            processes: BTreeMap::new(),
            sockets: Sockets::new(netns_pid),
            pipes: PipeEnds::default(),
            held: HashMap::new(),
            new_upstreams: Vec::new(),
            upstreams: HashSet::new(),
            answers: HashMap::new(),
            behind: Vec::new(),
            own_line: with_ancestors(),
            rounds: sys::clock::monotonic_ns(),
            buffer: Vec::new(),
            missing: Vec::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Finds new children, new processes of upstreams, and the sockets and listeners of all processes.
    pub(super) fn find_processes(&mut self) {
        self.find_upstreams();
        let proc = Path::new("/proc");
        for (roots, behind) in [(self.roots.clone(), false), (self.behind.clone(), true)] {
            // A service manager may hold the socket of an upstream, but has many children that do not belong to it.
            let parents: Vec<u32> = roots.iter().copied().filter(|pid| !behind || !is_manager(proc, *pid)).collect();
            for pid in roots.into_iter().chain(server_descendants(proc, &parents)) {
                if self.processes.len() < MAX_PROCESSES && !self.processes.contains_key(&pid) {
                    self.processes.extend(Process::open(pid, behind).map(|process| (pid, process)));
                }
            }
        }
        self.set_upstreams_apart();
        self.processes.values_mut().for_each(Process::look_for_epoll);
        self.set_parents_apart();
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

    /// Finds the processes that sampled processes have started since the last search, with their sockets. Database
    /// servers such as PostgreSQL start a process for each connection, so most of their processes begin with the load.
    ///
    /// Reads only the children of main threads, because a search through all processes takes milliseconds.
    /// [`Self::find_processes`] also finds the children that other threads started.
    pub(super) fn find_children(&mut self) {
        let new = self.new_children();
        if new.is_empty() {
            return;
        }
        self.set_upstreams_apart();
        self.set_parents_apart();
        let found = new.iter().filter_map(|pid| self.processes.get(pid));
        let sockets = found.flat_map(|p| sockets_of(p.pid).map(|inode| (inode, p.name.clone())));
        self.held.extend(sockets);
    }

    /// Opens the children of the processes that may start others: the roots, and the parents of known processes.
    /// Returns the process IDs of the opened children.
    fn new_children(&mut self) -> Vec<u32> {
        let mut parents: Vec<(u32, bool)> = self.may_start_others();
        let mut new = Vec::new();
        while let Some((parent, behind)) = parents.pop() {
            for pid in children_of_main_thread(parent) {
                let is_new = !self.processes.contains_key(&pid) && !self.own_line.contains(&pid);
                if is_new
                    && self.processes.len() < MAX_PROCESSES
                    && let Some(process) = Process::open(pid, behind)
                {
                    self.processes.insert(pid, process);
                    parents.push((pid, behind));
                    new.push(pid);
                }
            }
        }
        new
    }

    /// Returns the sampled processes that may start others, each with true if it is an upstream. Leaves out service
    /// managers, whose children do not belong to the upstream.
    fn may_start_others(&self) -> Vec<(u32, bool)> {
        let parents: HashSet<u32> = self.processes.values().map(Process::parent).collect();
        let is_root = |pid: &u32| self.roots.contains(pid) || self.behind.contains(pid);
        let may = self.processes.values().filter(|process| is_root(&process.pid) || parents.contains(&process.pid));
        let is_own = |process: &&Process| !process.behind || !is_manager(Path::new("/proc"), process.pid);
        may.filter(is_own).map(|process| (process.pid, process.behind)).collect()
    }

    /// Gives a new name to each upstream process that has the same name as a process of the server.
    fn set_upstreams_apart(&mut self) {
        let front = self.processes.values().filter(|process| !process.behind);
        let names: HashSet<Arc<str>> = front.map(|process| process.name.clone()).collect();
        let same = self.processes.values_mut().filter(|process| process.behind && names.contains(&process.name));
        same.for_each(|process| process.set_apart("upstream"));
    }

    /// Renames each parent process that has an event loop (epoll), if its children run the same program without an
    /// event loop. The children handle the requests. The parent uses its event loop for other tasks: gunicorn, for
    /// example, for its control socket. With a different name, the parent's event loop is not attributed to the
    /// children.
    fn set_parents_apart(&mut self) {
        let mut parents: Vec<u32> = Vec::new();
        for parent in self.processes.values().filter(|process| process.epoll && !process.is_child) {
            let mut children = self.processes.values().filter(|child| parent.is_parent_of(child)).peekable();
            if children.peek().is_some() && children.all(|child| !child.epoll) {
                parents.push(parent.pid);
            }
        }
        for pid in parents {
            let Some(mut parent) = self.processes.remove(&pid) else { continue };
            let children = self.processes.values_mut().filter(|child| parent.is_parent_of(child));
            children.for_each(|child| child.is_child = true);
            if !parent.is_parent {
                parent.is_parent = true;
                parent.set_apart("parent");
            }
            self.processes.insert(pid, parent);
        }
    }

    /// Reads all connections.
    pub(super) fn read_connections(&mut self) -> Option<ConnectionSample> {
        let loops = self.find_fresh_sockets();
        match self.sockets.read(&self.held) {
            Ok(mut sample) => {
                self.note_accepted(&loops);
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

    /// Reads again the connections to known peers, and adds the counts of the clients' connections.
    pub(super) fn read_peers(&mut self, clients: Option<[f64; 5]>) -> Option<ConnectionSample> {
        let peers = self.sockets.read_peers();
        if peers.is_none() && clients.is_none() {
            return None;
        }
        let mut peers = peers.unwrap_or_default();
        self.name_peers(&mut peers);
        Some(ConnectionSample { clients, peers, is_full: false })
    }

    /// Adds to each peer the name of a process that answers at the peer's address, if one is known.
    fn name_peers(&self, peers: &mut [PeerSample]) {
        for peer in peers {
            let process = self.answers.get(&peer.address).and_then(|pid| self.processes.get(pid));
            peer.to = process.map(|process| process.name.clone());
        }
    }

    /// Finds the present sockets of processes with epoll, and returns these sockets by process. A process with an event
    /// loop may open a connection to an upstream for each request. If too many sockets are known, finds only the sockets
    /// of processes whose accepted connections were never counted.
    fn find_fresh_sockets(&mut self) -> Vec<(u32, Vec<u32>)> {
        let has_room = self.held.len() <= MAX_FRESH_SOCKETS;
        let loops = self.processes.values().filter(|p| p.epoll && (has_room || p.accepted.is_none()));
        let of = |p: &Process| (p.pid, sockets_of(p.pid).take(MAX_FRESH_SOCKETS).collect());
        let fresh: Vec<(u32, Vec<u32>)> = loops.map(of).collect();
        if has_room {
            let name = |pid: &u32| self.processes.get(pid).map(|process| process.name.clone());
            let named = fresh.iter().filter_map(|(pid, inodes)| Some((name(pid)?, inodes)));
            let all = named.flat_map(|(name, inodes)| inodes.iter().map(move |inode| (*inode, name.clone())));
            self.held.extend(all.take(MAX_FRESH_SOCKETS));
        }
        fresh
    }

    /// Notes how many accepted connections each process holds. `loops` has the sockets of processes with epoll. Without
    /// known listeners, the accepted connections are unknown.
    fn note_accepted(&mut self, loops: &[(u32, Vec<u32>)]) {
        for (pid, inodes) in loops {
            let is_accepted = |inode: &&u32| self.sockets.socket_use(**inode) == Some(&SocketUse::Client);
            let accepted = inodes.iter().filter(is_accepted).count();
            self.processes.get_mut(pid).into_iter().for_each(|process| process.note_accepted(accepted));
        }
    }

    /// Notes the address of an upstream service, for the next search.
    fn note_upstream(&mut self, address: &Arc<str>) {
        if self.upstreams.len() < MAX_UPSTREAMS && self.upstreams.insert(address.clone()) {
            self.new_upstreams.push(address.clone());
        }
    }

    /// Finds the processes that listen at new upstream addresses.
    fn find_upstreams(&mut self) {
        for address in std::mem::take(&mut self.new_upstreams) {
            let Ok(to) = address.parse::<Address>() else { continue };
            let found = who_answers(&to, self.netns_pid);
            self.answers.extend(found.first().map(|pid| (address, *pid)));
            self.behind.extend(found.into_iter().filter(|pid| !self.processes.contains_key(pid)));
        }
    }

    /// Returns true if there are upstream addresses whose processes were not searched yet.
    pub(super) fn has_new_upstreams(&self) -> bool {
        !self.new_upstreams.is_empty()
    }

    /// Reads the threads of all processes, or only the threads of one turn (group of threads) if there are too many
    /// threads.
    pub(super) fn round(&mut self) -> Round {
        self.processes.retain(|_, process| process.list_threads());
        let all: usize = self.processes.values().map(|p| p.tids.len()).sum();
        self.rounds = self.rounds.wrapping_add(1);
        let turn = Turn::of(all, self.rounds);
        let mut round = Round::default();
        let mut waits = Waits::new();
        let mut in_turn = 0;
        let begin_ns = off_cpu_ns();
        for (index, process) in self.processes.values_mut().enumerate() {
            round.processes.push(process.sample(&mut self.buffer));
            let (sockets, pipes, buffer) = (&self.sockets, &mut self.pipes, &mut self.buffer);
            let mut reader = ThreadReader { index, sockets, pipes, buffer, waits: &mut waits, looked_up: 0 };
            let (all_of_turn, tids) = process.open_threads(turn);
            in_turn += all_of_turn;
            round.threads.extend(tids.into_iter().filter_map(|tid| reader.read(process, tid)));
        }
        round.is_torn = off_cpu_ns().saturating_sub(begin_ns) > MAX_OFF_CPU_NS;
        // The processes of upstreams are searched only now and then. If the server has connected to a new upstream
        // since the last search, the thread that waits for the upstream shows the upstream's address at once.
        for thread in &round.threads {
            if let (ThreadState::Peer, WaitKey::Text(address)) = (thread.state, &thread.key) {
                self.note_upstream(address);
            }
        }
        round.weight = turn.weight(all, in_turn);
        let mut none = Waits::new();
        let (sockets, pipes, buffer) = (&self.sockets, &mut self.pipes, &mut self.buffer);
        let reader = ThreadReader { index: 0, sockets, pipes, buffer, waits: &mut none, looked_up: 0 };
        round.futexes = futex_reader::read(&mut self.processes, reader, &waits);
        self.take_refusals();
        round
    }

    /// Records the reasons why threads could not be read.
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

    /// Returns true if no sampled process is left.
    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }
}

/// Returns the time for which this thread was not on a CPU, counted from an arbitrary moment, nanoseconds.
fn off_cpu_ns() -> u64 {
    sys::clock::monotonic_ns().saturating_sub(sys::clock::thread_cpu_ns())
}

#[cfg(test)]
mod tests {
    use super::super::round::Accepted;
    use super::*;

    #[test]
    fn an_upstream_that_runs_the_same_program_as_the_server_has_another_name() {
        let start = || testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
        let (server, upstream) = (start(), start());
        let mut reader = Reader::new(vec![server.pid()], None);
        reader.behind = vec![upstream.pid()];
        let names = testkit::eventually(|| {
            reader.find_processes();
            let round = reader.round();
            let name_of = |process: &u32| round.processes.iter().find(|p| p.pid == *process).cloned();
            let found = [server.pid(), upstream.pid()].iter().filter_map(name_of).collect::<Vec<_>>();
            let names: Vec<String> = found.iter().map(|process| process.name.to_string()).collect();
            names.contains(&"sleep".into()).then_some((names, round))
        });
        assert_eq!(names.0, ["sleep", "sleep (upstream)"]);
        assert!(names.1.threads.iter().all(|thread| &*thread.name == "sleep"), "{:?}", names.1.threads);
    }

    /// Starts a shell that starts a child process as soon as it gets a line.
    fn forks_later() -> testkit::ChildProcess {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "exec 3<&0; read line; (read other <&3) & wait"]).stdin(std::process::Stdio::piped());
        testkit::ChildProcess::start(&mut command)
    }

    /// The situation of this test also occurs with PostgreSQL, which starts a process for each connection of the load.
    #[test]
    fn a_child_that_starts_after_the_search_is_found_without_another_search() {
        let mut parent = forks_later();
        let mut reader = Reader::new(vec![parent.pid()], None);
        reader.find_processes();
        assert_eq!(reader.round().processes.len(), 1);
        std::io::Write::write_all(parent.0.stdin.as_mut().unwrap(), b"go\n").unwrap();
        let found = testkit::eventually(|| {
            reader.find_children();
            Some(reader.round().processes).filter(|found| found.len() > 1)
        });
        assert!(found.len() == 2 && found.iter().all(|process| !process.behind), "{found:?}");
    }

    #[test]
    fn neither_loadline_nor_its_line_is_found_as_a_child() {
        let me = std::process::id();
        let mut reader = Reader::new(crate::process_tree::parent_of(me).into_iter().collect(), None);
        reader.find_processes();
        reader.find_children();
        assert!(!reader.is_empty() && !reader.processes.contains_key(&me), "the server started loadline");
    }

    /// Python program that accepts as many connections as its argument says, and then waits for their data with epoll.
    const ACCEPTS: &str = "
import select, socket, sys
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
loop = select.epoll()
held = []
for _ in range(int(sys.argv[1])):
    held.append(server.accept()[0])
    loop.register(held[-1], select.EPOLLIN)
loop.poll(60)
";

    /// A synchronous worker of uWSGI waits with epoll for the data of its only connection.
    #[test]
    fn an_event_loop_holds_more_connections_than_a_worker_with_epoll() {
        let Some(python) = testkit::program("python3") else {
            return testkit::skip("accepted connections", "python3 is not installed");
        };
        for (accepts, told) in [("1", Accepted::OneEach), ("2", Accepted::Several)] {
            let mut command = std::process::Command::new(&python);
            command.args(["-c", ACCEPTS, accepts]).stdout(std::process::Stdio::piped());
            let mut server = testkit::ChildProcess::start(&mut command);
            let port: u16 = testkit::first_line(&mut server.0).parse().unwrap();
            let _clients = [0; 2].map(|_| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap());
            let accepted = testkit::eventually(|| {
                // Each attempt uses a new reader, because the program may not have accepted all connections yet.
                let mut reader = Reader::new(vec![server.pid()], None);
                reader.find_processes();
                reader.read_connections()?;
                reader.round().processes.first()?.accepted.filter(|accepted| *accepted == told)
            });
            assert_eq!(accepted, told);
        }
    }

    /// Python program whose parent process opens an epoll descriptor for a control pipe after its first child started,
    /// as gunicorn does. The second child inherits the epoll descriptor.
    const PARENT_WITH_EPOLL: &str = "
import os, select, time
def child():
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
child()
reads, _ = os.pipe()
loop = select.epoll()
loop.register(reads, select.EPOLLIN)
child()
loop.poll(60)
";

    #[test]
    fn a_thread_that_receives_from_a_udp_peer_waits_for_this_peer() {
        let Some(python) = testkit::program("python3") else {
            return testkit::skip("a wait for a UDP peer", "python3 is not installed");
        };
        let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let code = format!(
            "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.connect(('127.0.0.1', {}))\ns.recv(1)",
            address.port()
        );
        let mut command = std::process::Command::new(python);
        let child = testkit::ChildProcess::start(command.args(["-c", &code]));
        let mut reader = Reader::new(vec![child.pid()], None);
        let waits = testkit::eventually(|| {
            reader.find_processes();
            reader.round().threads.into_iter().find(|thread| thread.state == ThreadState::Peer)
        });
        assert_eq!(waits.key, WaitKey::Text(address.to_string().into()));
    }

    #[test]
    fn the_event_loop_of_a_parent_is_not_that_of_its_children() {
        let Some(python) = testkit::program("python3") else {
            return testkit::skip("a parent with epoll", "python3 is not installed");
        };
        let mut command = std::process::Command::new(python);
        let parent = testkit::ChildProcess::start(command.args(["-c", PARENT_WITH_EPOLL]));
        let seen = testkit::eventually(|| {
            // Each attempt uses a new reader, because a reader keeps the name that a process had when the reader found
            // it. `python3` may be a script that first runs under another name, and then starts Python.
            let mut reader = Reader::new(vec![parent.pid()], None);
            reader.find_processes();
            let mut processes = reader.round().processes;
            processes.sort_by_key(|process| process.is_child);
            (processes.len() == 3 && processes[1].is_child).then_some(processes)
        });
        assert!(seen[0].epoll && seen[0].pid == parent.pid() && seen[0].name.ends_with(" (parent)"), "{seen:#?}");
        assert!(seen[1..].iter().all(|child| child.is_child && !child.epoll), "{seen:#?}");
        assert_eq!(seen[0].kernel_name.as_ref(), Some(&seen[1].name));
        assert!(seen[1].name == seen[2].name);
    }

    #[test]
    fn neither_loadline_nor_the_children_of_a_service_manager_are_sampled() {
        let me = std::process::id();
        let mut reader = Reader::new(crate::process_tree::parent_of(me).into_iter().collect(), None);
        reader.behind = vec![1];
        reader.find_processes();
        assert!(!reader.is_empty() && !reader.processes.contains_key(&me), "the server started loadline");
        assert!(reader.processes.values().all(|process| !process.behind || process.pid == 1));
    }
}
