//! One look at a server process from outside, and what is kept of many: the highest levels, and those of a quiet moment.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use sys::diag::Diag;

/// A process that cannot take what waits in its accept queue is quiet after this; an empty queue is quiet at once.
const STALLED_S: f64 = 2.0;

/// The levels at one moment, or the highest of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels {
    pub(super) accepted: f64,
    /// Connections that wait to be accepted.
    pub(super) waiting: f64,
    pub(super) rss_bytes: f64,
    pub(super) threads: f64,
    pub(super) descriptors: f64,
}

/// The highest levels of a process, and those of a quiet moment: while connections come, their threads are counted a
/// moment earlier or later than they.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    pub(super) most: Levels,
    pub(super) still: Option<Levels>,
    last: Levels,
    /// Since when connections and threads are what they were at the last look.
    same_since_s: f64,
}

impl Looks {
    pub(super) fn begin(rest: Levels) -> Self {
        Self { most: rest, last: rest, ..Self::default() }
    }

    /// What was seen so many seconds after the begin.
    pub(super) fn add(&mut self, t_s: f64, now: Levels) {
        self.most = self.most.max(now);
        let same = (now.accepted, now.threads) == (self.last.accepted, self.last.threads);
        self.last = now;
        if !same {
            self.same_since_s = t_s;
            return;
        }
        let quiet = now.accepted > 0.0 && (now.waiting == 0.0 || t_s - self.same_since_s >= STALLED_S);
        // The fullest quiet moment: at the end connections go and their threads stay.
        if quiet && self.still.is_none_or(|s| now.accepted >= s.accepted) {
            self.still = Some(now);
        }
    }
}

/// Connections of a port by their peers: those that are accepted, and those that wait for it. Each peer counts once: a
/// table that changes while it is read can show a socket twice.
#[derive(Debug, Default)]
struct Peers {
    accepted: HashSet<SocketAddr>,
    waiting: HashSet<SocketAddr>,
}

impl Peers {
    /// A socket that was not accepted has no inode yet.
    fn add(&mut self, peer: SocketAddr, inode: u32) {
        if inode == 0 { &mut self.waiting } else { &mut self.accepted }.insert(peer);
    }

    /// Of a port in the network namespace of a process. sock_diag filters in the kernel; /proc/PID/net/tcp writes a line for
    /// every socket of the machine, but reaches into other namespaces.
    fn of(pid: u32, port: u16) -> Self {
        let mut peers = Self::default();
        let net = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/net")).ok();
        let ours = net("self").is_some() && net("self") == net(&pid.to_string());
        let asked = ours.then(|| Diag::open()?.peers(false, port, |peer, inode| peers.add(peer, inode)));
        if !matches!(asked, Some(Ok(()))) {
            peers = Self::listed(&std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default(), port);
        }
        peers
    }

    /// Established sockets of a local port in the text of /proc/net/tcp.
    fn listed(table: &str, port: u16) -> Self {
        let (mut peers, suffix) = (Self::default(), format!(":{port:04X}"));
        for line in table.lines() {
            let mut fields = line.split_whitespace().skip(1);
            let (Some(local), Some(peer), Some(state)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let Some(inode) = fields.nth(5).filter(|_| local.ends_with(&suffix) && state == "01") else { continue };
            address(peer).into_iter().for_each(|peer| peers.add(peer, inode.parse().unwrap_or(0)));
        }
        peers
    }
}

/// `0100007F:1F90`: an address in the machine's byte order and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let ip = Ipv4Addr::from(u32::from_str_radix(ip, 16).ok()?.to_ne_bytes());
    Some(SocketAddr::from((ip, u16::from_str_radix(port, 16).ok()?)))
}

impl Levels {
    /// Looks at a process and at the connections of its port.
    pub(super) fn of(pid: u32, port: u16) -> Self {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let status = std::fs::read_to_string(proc.join("status")).unwrap_or_default();
        let field = |name: &str| -> f64 {
            let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("0");
            line.trim_start_matches(':').split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
        };
        let peers = Peers::of(pid, port);
        Self {
            accepted: peers.accepted.len() as f64,
            waiting: peers.waiting.len() as f64,
            rss_bytes: field("VmRSS") * 1024.0,
            threads: field("Threads"),
            descriptors: std::fs::read_dir(proc.join("fd")).map_or(0.0, |d| d.count() as f64),
        }
    }

    pub(super) fn plus(self, o: Self) -> Self {
        self.with(o, |a, b| a + b)
    }

    fn max(self, o: Self) -> Self {
        self.with(o, f64::max)
    }

    fn with(self, o: Self, both: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            accepted: both(self.accepted, o.accepted),
            waiting: both(self.waiting, o.waiting),
            rss_bytes: both(self.rss_bytes, o.rss_bytes),
            threads: both(self.threads, o.threads),
            descriptors: both(self.descriptors, o.descriptors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn still(seen: &[(f64, Levels)]) -> Option<(f64, f64)> {
        let mut looks = Looks::begin(Levels::default());
        seen.iter().for_each(|(t_s, now)| looks.add(*t_s, *now));
        looks.still.map(|s| (s.accepted, s.threads))
    }

    fn levels(accepted: f64, waiting: f64, threads: f64) -> Levels {
        Levels { accepted, waiting, threads, ..Levels::default() }
    }

    #[test]
    fn threads_are_told_in_the_fullest_quiet_moment() {
        let (full, less) = (levels(63.0, 0.0, 2.0), levels(5.0, 0.0, 9.0));
        let coming = levels(70.0, 0.0, 2.0);
        let seen = [(0.1, less), (0.2, full), (0.3, full), (0.4, coming), (0.5, less), (0.6, less)];
        assert_eq!(still(&seen), Some((63.0, 2.0)));
    }

    #[test]
    fn a_pause_in_accepting_is_not_quiet_but_a_full_process_is() {
        let stuck = levels(2609.0, 900.0, 5217.0);
        assert_eq!(still(&[(1.0, stuck), (1.3, stuck), (1.6, levels(2700.0, 809.0, 5400.0))]), None);
        assert_eq!(still(&[(1.0, stuck), (1.3, stuck), (3.1, stuck)]), Some((2609.0, 5217.0)));
    }

    #[test]
    fn only_sockets_of_the_port_count_and_those_that_wait_apart() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C002 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   3: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
";
        let peers = Peers::listed(table, 0x1F90);
        assert_eq!((peers.accepted.len(), peers.waiting.len()), (1, 1));
        assert!(peers.accepted.contains(&SocketAddr::from(([127, 0, 0, 1], 0xC001))), "{peers:?}");
    }

    #[test]
    fn the_kernel_and_its_table_tell_the_same() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ends: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        let _taken = listener.accept().unwrap();
        let (pid, table) = (std::process::id(), std::fs::read_to_string("/proc/self/net/tcp").unwrap());
        let (told, listed) = (Peers::of(pid, port), Peers::listed(&table, port));
        assert_eq!((told.accepted.len(), told.waiting.len()), (1, ends.len() - 1));
        assert_eq!((told.accepted, told.waiting), (listed.accepted, listed.waiting));
    }
}
