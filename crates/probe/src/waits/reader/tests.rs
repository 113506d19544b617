//! Tests of the reader, with processes that the tests start.

use super::*;
use crate::waits::round::Accepted;

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

/// The situation of this test also occurs with PostgreSQL, which starts a process for each connection of the load.
#[test]
fn a_child_that_starts_after_the_search_is_found_without_another_search() {
    let mut parent = crate::testing::forks_later();
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

/// Python program that waits for UDP datagrams with epoll, as a server of HTTP/3 does.
const RECEIVES_DATAGRAMS: &str = "
import select, socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(('127.0.0.1', 0))
loop = select.epoll()
loop.register(receiver, select.EPOLLIN)
print('ready', flush=True)
loop.poll(60)
";

/// An earlier version of loadline recorded that a server without TCP listeners had accepted no connection. That version
/// therefore did not recognise the server's event loop.
#[test]
fn the_connections_of_a_server_without_tcp_listeners_are_unknown() {
    let Some(python) = testkit::program("python3") else {
        return testkit::skip("a server without TCP listeners", "python3 is not installed");
    };
    let mut command = std::process::Command::new(&python);
    command.args(["-c", RECEIVES_DATAGRAMS]).stdout(std::process::Stdio::piped());
    let mut server = testkit::ChildProcess::start(&mut command);
    testkit::first_line(&mut server.0);
    let mut reader = Reader::new(vec![server.pid()], None);
    reader.find_processes();
    assert!(reader.read_connections().is_some());
    let process = &reader.round().processes[0];
    assert!(process.epoll && process.accepted.is_none(), "{process:?}");
}

/// Python program that waits for UDP datagrams with epoll, and listens for TCP connections at the same port. A server
/// of HTTP/3 and HTTP/1.1 does the same.
const RECEIVES_BOTH: &str = "
import select, socket
listener = socket.create_server(('127.0.0.1', 0))
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(listener.getsockname())
loop = select.epoll()
loop.register(receiver, select.EPOLLIN)
print('ready', flush=True)
loop.poll(60)
";

/// This server of HTTP/3 also listens for TCP connections, but had accepted none. An earlier version of loadline
/// therefore took this server for the parent of workers.
#[test]
fn the_connections_of_a_server_with_datagrams_are_unknown() {
    let Some(python) = testkit::program("python3") else {
        return testkit::skip("a server with datagrams", "python3 is not installed");
    };
    let mut command = std::process::Command::new(&python);
    command.args(["-c", RECEIVES_BOTH]).stdout(std::process::Stdio::piped());
    let mut server = testkit::ChildProcess::start(&mut command);
    testkit::first_line(&mut server.0);
    let mut reader = Reader::new(vec![server.pid()], None);
    reader.find_processes();
    assert!(reader.read_connections().is_some());
    let process = &reader.round().processes[0];
    assert!(process.epoll && process.accepted.is_none(), "{process:?}");
}

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
