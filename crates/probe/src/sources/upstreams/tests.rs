use std::net::SocketAddr;
use std::path::Path;

use super::*;
use crate::Probe;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Starts a server that has two connections to a TCP address and one to a unix socket. The server runs until its
/// standard input is closed.
fn server(tcp: SocketAddr, path: &Path) -> (Child, SocketAddr) {
    let code = format!(
        "import socket,sys\na={:?}\nkept=[socket.create_connection(a) for _ in range(2)]\n\
         u=socket.socket(socket.AF_UNIX); u.connect({:?})\ns=socket.create_server(('127.0.0.1',0))\n\
         print('%s:%d' % s.getsockname(), flush=True)\nsys.stdin.read()",
        (tcp.ip().to_string(), tcp.port()),
        path.display().to_string(),
    );
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
}

/// Creates a probe that follows a server and its upstreams.
fn probe_of(server: &Child, listen: Address) -> Probe {
    Probe::new(Scope {
        processes: vec![server.id()],
        listen: Some(listen),
        sources: Some(vec!["process", "behind"]),
        ..Scope::default()
    })
}

/// Takes two samples of a server, and ends the server. Returns the probe with the samples.
fn sampled_twice(mut server: Child, listen: Address) -> Probe {
    let mut probe = probe_of(&server, listen);
    probe.sample(0.0);
    // The source skips a sample at a phase start or end if its last reading was less than 200 ms ago.
    std::thread::sleep(std::time::Duration::from_millis(210));
    probe.sample(2.0);
    drop(server.stdin.take());
    server.wait().unwrap();
    probe
}

#[test]
fn upstreams_of_a_server_are_found_by_its_connections_and_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = tcp.local_addr().unwrap();
    let (server, listen) = server(at, &path);
    // Before accept(2), sock_diag does not list the accepting end of a unix connection, which has the path.
    let _accepted = unix.accept().unwrap();
    let mut probe = sampled_twice(server, listen.into());
    let (seen, behind) = (probe.take(), probe.behind());
    let mine = format!(":{}", std::process::id());
    for (address, connections) in [(at.to_string(), 2.0), (format!("unix:{}", path.display()), 1.0)] {
        let found = behind.iter().find(|b| b.address == address).unwrap_or_else(|| panic!("{address}: {behind:?}"));
        assert!(found.depth == 1 && found.from.is_empty(), "{found:?}");
        let name = found.processes.iter().find(|name| name.ends_with(&mine)).unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(seen.column("behind.connections", &address).unwrap().values, [Some(connections), Some(connections)]);
        assert!(seen.column("process.cpu", name).is_some(), "it is followed");
    }
    assert!(probe.processes().iter().all(|own| !own.ends_with(&mine)), "and is not the server's");
}

/// Starts a service that forks for each line that it reads, and writes the ID of its child.
fn forking_service() -> (Child, BufReader<std::process::ChildStdout>, SocketAddr) {
    let code = "import os,socket,sys\ns=socket.create_server(('127.0.0.1',0))\n\
                print('%s:%d' % s.getsockname(), flush=True)\n\
                for line in sys.stdin:\n r,w=os.pipe(); pid=os.fork()\n \
                if pid==0: os.close(w); s.close(); os.read(r,1); os._exit(0)\n \
                print(pid, flush=True)";
    let mut command = Command::new("python3");
    let mut child = command.args(["-c", code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    (child, said, line.trim().parse().unwrap())
}

/// PostgreSQL starts a process for each connection, and a connection pool grows with the load. An upstream had a pool
/// of 20 processes. An earlier version of loadline followed only 2 of them, and attributed the CPU time of the other 18
/// to other programs.
#[test]
fn processes_that_an_upstream_starts_later_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (mut service, mut said, at) = forking_service();
    let (mut server, listen) = server(at, &path);
    let _accepted = unix.accept().unwrap();
    let mut probe = probe_of(&server, listen.into());
    let sample = |probe: &mut Probe, t_s| {
        std::thread::sleep(std::time::Duration::from_millis(210));
        probe.sample(t_s);
    };
    sample(&mut probe, 0.0);
    writeln!(service.stdin.as_mut().unwrap(), "fork").unwrap();
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let forked: u32 = line.trim().parse().unwrap();
    sample(&mut probe, 2.0);
    sample(&mut probe, 4.0);
    let (seen, behind) = (probe.take(), probe.behind());
    drop((server.stdin.take(), service.stdin.take()));
    server.wait().unwrap();
    service.wait().unwrap();
    let found = behind.iter().find(|b| b.address == at.to_string()).unwrap_or_else(|| panic!("{behind:?}"));
    assert!(found.pids.contains(&service.id()) && found.pids.contains(&forked), "{forked}: {found:?}");
    let name = found.processes.iter().find(|name| name.ends_with(&format!(":{forked}"))).unwrap();
    assert!(seen.column("process.cpu", name).is_some_and(|column| column.values.len() == 3), "{name}");
    assert!(probe.processes().iter().all(|own| own != name), "it is no process of the server");
}

/// An earlier version of loadline followed the upstream from the second sample of each load on, and attributed its
/// earlier CPU time to other programs.
#[test]
fn a_known_upstream_is_followed_from_the_first_sample_of_the_next_load() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (mut service, _said, at) = forking_service();
    let (mut server, listen) = server(at, &path);
    let _accepted = unix.accept().unwrap();
    let mut probe = probe_of(&server, listen.into());
    for t_s in [0.0, 1.0] {
        std::thread::sleep(std::time::Duration::from_millis(210));
        probe.sample(t_s);
    }
    probe.take();
    probe.follow(&[server.id()]);
    probe.sample(0.0);
    let (seen, behind) = (probe.take(), probe.behind());
    drop((server.stdin.take(), service.stdin.take()));
    server.wait().unwrap();
    service.wait().unwrap();
    let found = behind.iter().find(|b| b.address == at.to_string()).unwrap_or_else(|| panic!("{behind:?}"));
    assert_eq!(found.pids, [service.id()], "once, although the source finds it again");
    assert!(seen.column("process.cpu", &found.processes[0]).is_some(), "{found:?}");
}

/// An earlier version of loadline followed the ended process in all later loads, and attributed the CPU time of the new
/// one to other programs.
#[test]
fn an_upstream_that_was_started_again_is_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let start = |port: u16| {
        let code = format!(
            "import socket,sys\ns=socket.socket()\ns.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n\
             s.bind(('127.0.0.1',{port})); s.listen()\nprint('%s:%d' % s.getsockname(), flush=True)\nsys.stdin.read()"
        );
        let mut command = Command::new("python3");
        let mut child = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let line = testkit::first_line(&mut child);
        (child, line.parse::<SocketAddr>().unwrap())
    };
    let (mut first, at) = start(0);
    let (mut server, listen) = server(at, &path);
    let _accepted = unix.accept().unwrap();
    let mut probe = probe_of(&server, listen.into());
    probe.sample(0.0);
    drop(first.stdin.take());
    first.wait().unwrap();
    let (mut second, _) = start(at.port());
    probe.take();
    probe.follow(&[server.id()]);
    // The processes are followed from the next sample on.
    [0.0, 1.0].into_iter().for_each(|t_s| probe.sample(t_s));
    let found = probe.behind().into_iter().find(|b| b.address == at.to_string()).unwrap();
    drop((second.stdin.take(), server.stdin.take()));
    let second_id = second.id();
    second.wait().unwrap();
    server.wait().unwrap();
    assert_eq!(found.pids, [second_id]);
}

/// The upstream answers the first request, and leaves the second request unread. The server sends the second request as
/// soon as it has the answer, and the kernel acknowledges it at once.
#[test]
fn a_connection_with_an_unread_request_is_busy() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = upstream.local_addr().unwrap();
    let code = format!(
        "import socket,sys\nc=socket.create_connection(('127.0.0.1',{}))\nc.sendall(b'1'); c.recv(1); c.sendall(b'2')\n\
         s=socket.create_server(('127.0.0.1',0))\nprint('%s:%d' % s.getsockname(), flush=True)\nsys.stdin.read()",
        at.port(),
    );
    let mut command = Command::new("python3");
    let mut server = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut accepted, _) = upstream.accept().unwrap();
    accepted.read_exact(&mut [0]).unwrap();
    accepted.write_all(b"a").unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let listen: SocketAddr = line.trim().parse().unwrap();
    let seen = sampled_twice(server, listen.into()).take();
    for id in ["behind.unread", "behind.busy"] {
        assert_eq!(seen.column(id, &at.to_string()).unwrap().values, [Some(1.0), Some(1.0)], "{id}");
    }
}

/// A proxy at port 80 passes its requests on to port 80 of a container.
#[test]
fn an_upstream_with_the_port_number_of_the_server_is_found() {
    let upstream = TcpListener::bind("127.0.0.2:0").unwrap();
    let at = upstream.local_addr().unwrap();
    let code = format!(
        "import socket,sys\ns=socket.create_server(('127.0.0.1',{0}))\nc=socket.create_connection(('127.0.0.2',{0}))\n\
         own=socket.create_connection(('127.0.0.1',{0}))\nprint('up', flush=True)\nsys.stdin.read()",
        at.port(),
    );
    let mut command = Command::new("python3");
    let mut server = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], at.port()));
    let mut probe = sampled_twice(server, listen.into());
    let (seen, behind) = (probe.take(), probe.behind());
    // This process is the upstream, so upstreams of concurrent tests' servers may be found behind it.
    let found: Vec<&str> = behind.iter().filter(|b| b.depth == 1).map(|b| b.address.as_str()).collect();
    assert_eq!(found, [at.to_string()], "and not the server itself");
    let values = |id| seen.column(id, &at.to_string()).map(|column| column.values.clone());
    assert_eq!(values("behind.connections"), Some(vec![Some(1.0), Some(1.0)]));
    assert_eq!(values("behind.queue"), Some(vec![Some(1.0), Some(1.0)]));
    assert!(values("behind.unread").is_none_or(|all| all.iter().all(Option::is_none)), "it is unknown");
}

#[test]
fn a_client_has_no_upstreams_and_gives_the_reason() {
    let mut probe = Probe::new(Scope { sources: Some(vec!["behind"]), ..Scope::default() });
    probe.sample(0.0);
    assert!(probe.take().absent[0].reason.contains("only a server"));
}
