//! Checks that a server in another network namespace is found, and that the counters of its namespace are read.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use loadline_probe::{FindError, Probe, Scope, find_server};
use run::Recording;
use testkit::{ChildProcess, eventually, first_line, skip};

/// Python code that listens with an accept queue of 1. The queue takes two of six connections, and the code never
/// accepts them.
const SERVER: &str = "import socket,time\n\
    s=socket.socket()\ns.bind(('198.18.7.2',0))\ns.listen(1)\nkeep=[]\n\
    for i in range(6):\n  c=socket.socket()\n  c.setblocking(False)\n  c.connect_ex(s.getsockname())\n  keep.append(c)\n\
    print('%s:%d'%s.getsockname(),flush=True)\ntime.sleep(60)\n";

/// Starts a server on an address that only its namespace has, with ten local ports. Returns `None` if the needed rights
/// or programs are missing.
fn server(user: bool) -> Option<(ChildProcess, SocketAddr)> {
    let script = "ip link set lo up && ip addr add 198.18.7.2/32 dev lo && \
        tc qdisc add dev lo root handle 1: tbf rate 1gbit burst 64kb latency 50ms && \
        echo 40000 40009 >/proc/sys/net/ipv4/ip_local_port_range && exec python3 -c \"$0\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, SERVER]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    sys::netns::unshare(&mut command, user);
    let mut child = ChildProcess(command.spawn().ok()?);
    let addr = first_line(&mut child.0).parse().ok()?;
    Some((child, addr))
}

#[test]
fn a_server_in_another_namespace_is_found_and_its_counters_are_read() {
    const NAME: &str = "a_server_in_another_namespace_is_found_and_its_counters_are_read";
    for user in [false, true] {
        let Some((server, addr)) = server(user) else {
            skip(NAME, format!("no right to make a network namespace (user: {user}), or no ip, tc or python3"));
            continue;
        };
        let found = find_server(addr).unwrap();
        assert_eq!((found.pids.as_slice(), found.netns_pid), (&[server.0.id()][..], Some(server.0.id())));
        let scope =
            Scope { processes: found.pids, netns_pid: found.netns_pid, listen: Some(addr.into()), ..Scope::default() };
        let mut probe = Probe::new(scope);
        let newest = |r: &Recording, id: &str, instance: &str| r.column(id, instance)?.values.last().copied().flatten();
        let mut t_s = 0.0;
        // On a busy machine, the kernel may handle the last packets only after the server has started.
        let r = eventually(|| {
            probe.sample(t_s);
            t_s += 1.0;
            let is_full = |r: &Recording| newest(r, "listen.queue", &addr.to_string()) == Some(2.0);
            let has_dropped = |r: &Recording| newest(r, "tcp.listen_overflows", "") >= Some(4.0);
            Some(probe.copy()).filter(|r| is_full(r) && has_dropped(r))
        });
        let last = |id: &str, instance: &str| newest(&r, id, instance);
        assert_eq!(last("listen.limit", &addr.to_string()), Some(1.0), "{:?}", r.absent);
        assert_eq!(last("tcp.passive_opens", ""), Some(2.0));
        assert_eq!(last("connection.sampled", ""), Some(2.0));
        assert_eq!(last("ports.range", ""), Some(10.0));
        // Each of the two successful connects sent three segments over the loopback interface of the server's
        // namespace.
        assert!(last("qdisc.packets", "lo tbf 1:").unwrap() >= 6.0 && last("qdisc.drops", "lo tbf 1:") == Some(0.0));
        assert!(last("qdisc.bytes", "lo tbf 1:").unwrap() >= 6.0 * 52.0);
        let interfaces: Vec<_> = r.columns_of("interface.rx_bytes").map(|c| c.instance.as_str()).collect();
        assert!(interfaces.contains(&"lo") && !interfaces.contains(&"eth0"), "{interfaces:?}");
        drop(server);
        assert!(matches!(find_server(addr), Err(FindError::NotLocal(_))), "the address went with its namespace");
    }
}

#[test]
fn a_process_of_the_caller_s_namespace_changes_nothing() {
    let scope = |netns_pid| Scope { netns_pid, sources: Some(vec!["interface"]), ..Scope::default() };
    let names = |netns_pid| {
        let mut probe = Probe::new(scope(netns_pid));
        probe.sample(0.0);
        let r = probe.take();
        let absent: Vec<String> = r.absent.iter().map(|a| format!("{} {}", a.instance, a.reason)).collect();
        (r.columns.iter().map(|c| (c.counter.clone(), c.instance.clone())).collect::<Vec<_>>(), absent)
    };
    assert_eq!(names(None), names(Some(std::process::id())));
}
