//! Tests of the probe on the running kernel: counters that must change do so, and servers are found. Checks are exact
//! counts or ratios within one run, and never absolute speeds.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loadline_probe::{Probe, Scope, find_server};
use run::{Recording, Window};
use testkit::{ChildProcess, Running, eventually, free_port, program, script_server, skip};

fn growth(r: &Recording, id: &str, instance: &str) -> f64 {
    let told = r.reading(id, instance, Window::ALL);
    assert!(told.value().is_some(), "{id} {instance}: {told:?}");
    told.value().unwrap_or_default()
}

#[test]
fn a_busy_thread_shows_in_process_thread_and_cpu_counters() {
    let me = std::process::id();
    let sources = Some(vec!["process", "cpu"]);
    let mut probe = Probe::new(Scope { processes: vec![me], sources, ..Scope::default() });
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let tid = std::fs::read_link("/proc/thread-self").unwrap();
            tell.send(tid.file_name().unwrap().to_str().unwrap().to_owned()).unwrap();
            // Start the busy loop only after the first sample was taken.
            stopped.recv().unwrap();
            let begin = sys::clock::thread_cpu_ns();
            while sys::clock::thread_cpu_ns() < begin + 200_000_000 {
                std::hint::spin_loop();
            }
            tell.send(((sys::clock::thread_cpu_ns() - begin) / 1000).to_string()).unwrap();
            let _ = stopped.recv();
        });
        let tid = told.recv().unwrap();
        probe.sample(0.0);
        stop.send(()).unwrap();
        let spun: f64 = told.recv().unwrap().parse().unwrap();
        probe.sample(1.0);
        drop(stop);
        let r = probe.take();
        let instance = &probe.processes()[0];
        let (process, thread) =
            (growth(&r, "process.cpu", instance), growth(&r, "thread.cpu", &format!("{instance}/{tid}")));
        assert!(thread > 0.5 * spun && thread < spun + 10_000.0, "thread {thread} us, by its own clock {spun} us");
        assert!(
            process >= thread
                && growth(&r, "process.user", instance) + growth(&r, "process.system", instance) > 80_000.0
        );
        assert!(growth(&r, "cpu.user", "total") + growth(&r, "cpu.system", "total") > 80_000.0);
    });
}

#[test]
fn descriptors_and_children_of_a_child_are_counted_exactly() {
    let mut child = ChildProcess::start(Command::new("sh").args(["-c", "sleep 60 & wait"]).stdin(Stdio::null()));
    let mut probe =
        Probe::new(Scope { processes: vec![child.0.id()], sources: Some(vec!["process"]), ..Scope::default() });
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", child.0.id())).unwrap().count() as f64;
    // While the shell starts its child, it closes descriptors, so the number must be the same before and after a
    // sample.
    let (processes, listed) = eventually(|| {
        let before = descriptors();
        probe.sample(0.0);
        (probe.processes().len() == 2 && before == descriptors()).then(|| (probe.processes(), before))
    });
    // The child appears as `sh` if it is read before its exec.
    assert!(processes[0].starts_with("sh:") && (processes[1].starts_with("sleep:") || processes[1].starts_with("sh:")));
    let r = probe.take();
    let told = r.column("process.fds", &processes[0]).unwrap().values.iter().flatten().last().copied();
    assert_eq!(told, Some(listed), "the size of /proc/PID/fd is the number of descriptors");
    let _ = Command::new("kill").arg(processes[1].rsplit(':').next().unwrap()).status();
    child.0.wait().unwrap();
}

#[test]
fn a_full_accept_queue_shows_at_the_listener_and_in_the_stack() {
    let fd = sys::socket::tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    sys::socket::bind(&fd, "127.0.0.1:0".parse().unwrap()).unwrap();
    sys::socket::listen(&fd, 2).unwrap();
    let addr = sys::socket::local_addr(&fd).unwrap();
    let sources = Some(vec!["netstat", "listener"]);
    let mut probe = Probe::new(Scope { listen: Some(addr.into()), sources, ..Scope::default() });
    let begin = Instant::now();
    probe.sample(0.0);
    // A queue with the limit two contains three connections, because the kernel accepts one more than the limit. The
    // kernel drops the SYNs of all further connections.
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let client = sys::socket::tcp(addr).unwrap();
            let _ = sys::socket::connect(&client, addr);
            client
        })
        .collect();
    let name = addr.to_string();
    // On a busy machine, the kernel may handle the last SYN only after `connect` has returned.
    let mut t_s = 0.0;
    let r = eventually(|| {
        t_s += 1.0;
        probe.sample(t_s);
        Some(probe.copy()).filter(|r| growth(r, "listen.drops", &name) >= 5.0)
    });
    let last = |id: &str| r.column(id, &name).unwrap().values.last().copied().flatten();
    assert_eq!((last("listen.queue"), last("listen.limit")), (Some(3.0), Some(2.0)));
    // A dropped SYN is sent again after a second, and may then be dropped again.
    let drops = growth(&r, "listen.drops", &name);
    assert!(drops == 5.0 || drops > 5.0 && begin.elapsed() >= Duration::from_secs(1), "{drops}");
    assert!(growth(&r, "tcp.listen_overflows", "") >= 5.0 && growth(&r, "tcp.listen_drops", "") >= 5.0);
    drop(clients);
}

#[test]
fn bytes_over_loopback_show_at_the_interface_and_in_the_stack() {
    let sources = Some(vec!["interface", "netstat", "softirqs", "softnet"]);
    let mut probe = Probe::new(Scope { sources, ..Scope::default() });
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let (mut peer, _) = server.accept().unwrap();
    probe.sample(0.0);
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all.len()
    });
    client.write_all(&vec![7; 1 << 20]).unwrap();
    drop(client);
    assert_eq!(reader.join().unwrap(), 1 << 20);
    probe.sample(1.0);
    let r = probe.take();
    for (id, instance) in [("interface.rx_bytes", "lo"), ("interface.tx_bytes", "lo"), ("ip.in_octets", "")] {
        assert!(growth(&r, id, instance) > f64::from(1 << 20), "{id}");
    }
    assert!(growth(&r, "tcp.orig_data_sent", "") >= 16.0 && growth(&r, "softirq.count", "NET_RX") >= 1.0);
    assert!(r.sum("softnet.processed", Window::ALL, |_| true).value().unwrap() >= 16.0);
}

#[test]
fn a_forking_server_is_found_with_all_its_processes() {
    let code = "import os,socket,time\ns=socket.create_server(('127.0.0.1',0))\nr,w=os.pipe()\nkids=[os.fork() for _ in range(1)]\n\
        if kids[0]==0:\n  k=os.fork()\n  if k==0:\n    s.close()\n    os.write(w,b'x')\n  time.sleep(60)\n\
        else:\n  os.read(r,1)\n  print('%s:%d'%s.getsockname(),flush=True)\n  time.sleep(60)\n";
    let Some((server, addr)) = script_server(code) else {
        return skip("a_forking_server_is_found_with_all_its_processes", "python3");
    };
    let found = find_server(addr).unwrap();
    // The three processes are the parent, its child, and a grandchild that has closed the socket.
    assert_eq!(found.pids.len(), 3, "{found:?}");
    assert!(found.pids.contains(&server.0.id()) && found.netns_pid.is_none() && found.listen == Some(addr.into()));
    for pid in found.pids.iter().filter(|pid| **pid != server.0.id()) {
        let _ = Command::new("kill").arg(pid.to_string()).status();
    }
}

#[test]
fn nginx_is_found_with_master_and_workers() {
    const NAME: &str = "nginx_is_found_with_master_and_workers";
    let Some(nginx) = program("nginx") else { return skip(NAME, "nginx is not installed") };
    let (dir, port) = (tempfile::tempdir().unwrap(), free_port());
    let text = format!(
        "daemon off;\nworker_processes 2;\npid {at}/pid;\nerror_log {at}/error.log;\nevents {{}}\nhttp {{ access_log off;\n\
         server {{ listen 127.0.0.1:{port}; return 200 'ok'; }} }}\n",
        at = dir.path().display()
    );
    let conf = dir.path().join("nginx.conf");
    std::fs::write(&conf, text).unwrap();
    let mut command = Command::new(nginx);
    command.arg("-c").arg(&conf).args(["-e", "stderr"]).stderr(Stdio::null());
    let master = Running::start(command, port, dir);
    let addr = master.addr;
    let found = eventually(|| find_server(addr).ok().filter(|found| found.pids.len() == 3));
    assert!(found.pids.contains(&master.pid()), "the master is one of {found:?}");
    let mut probe = Probe::new(Scope { processes: found.pids, listen: found.listen, ..Scope::default() });
    probe.sample(0.0);
    let processes = probe.processes();
    assert!(processes.len() == 3 && processes.iter().all(|p| p.starts_with("nginx:")), "{processes:?}");
    // SIGTERM lets the master end its workers.
    drop(master);
    probe.sample(1.0);
    let r = probe.take();
    assert_eq!(r.absent.iter().filter(|a| a.counter.as_str() == "process.cpu").count(), 3, "all three have ended");
}
