//! One look at a server process from outside, and what is kept of many: the highest levels, and those of a quiet moment.

use std::collections::HashSet;
use std::net::SocketAddr;

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

    fn of(sockets: &[(SocketAddr, u32)]) -> Self {
        let mut peers = Self::default();
        sockets.iter().for_each(|(peer, inode)| peers.add(*peer, *inode));
        peers
    }
}

impl Levels {
    /// Looks at a process and at the connections of its port.
    pub(super) fn of(pid: u32, port: u16) -> Self {
        let (peers, process) = (Peers::of(&probe::peers_of(pid, port)), probe::process_levels(pid));
        Self {
            accepted: peers.accepted.len() as f64,
            waiting: peers.waiting.len() as f64,
            rss_bytes: process.rss_bytes,
            threads: process.threads,
            descriptors: process.descriptors,
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
    fn each_peer_counts_once_and_those_that_wait_apart() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let peers = Peers::of(&[(at(1), 101), (at(1), 101), (at(2), 0)]);
        assert_eq!((peers.accepted.len(), peers.waiting.len()), (1, 1));
        assert!(peers.accepted.contains(&at(1)), "{peers:?}");
    }
}
