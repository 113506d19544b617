//! Connections that the server closed at the same moment.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// Time within which closes seen by two generator threads count as simultaneous, seconds.
const TOGETHER_S: f64 = 0.1;
/// Minimum number of connections for which simultaneous closes are no coincidence.
const MIN_CONNECTIONS: u64 = 4;
/// If the shortest idle time divided by the longest is at most this ratio, a keep-alive timeout cannot be the cause of
/// the closes. A timeout closes connections after nearly equal idle times, because the timers of servers are off by 10
/// % at most.
const MAX_EQUAL_TIMES: f64 = 0.5;

/// Connections that the server closed at one moment. The server closed more connections at this moment than at any
/// other moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct EndsTogether {
    /// Time of the moment, seconds since the load began.
    #[serde(with = "Figure")]
    pub at_s: f64,
    /// Number of connections that the server closed at the moment `at_s`.
    pub connections: u64,
    /// Number of connections that were open at the moment `at_s`.
    pub open: u64,
    /// Number of all connections that the server closed during the trial.
    pub all: u64,
    /// Shortest idle time of the connections that the server closed at the moment `at_s`, seconds. A connection that
    /// got its next request right after an answer does not count as idle.
    #[serde(with = "Figure")]
    pub shortest_idle_s: f64,
    /// Longest idle time of the connections that the server closed at the moment `at_s`, seconds.
    #[serde(with = "Figure")]
    pub longest_idle_s: f64,
}

impl EndsTogether {
    /// Returns true if the server, or a proxy in front of it, restarted. loadline concludes a restart if at least half
    /// of the connections closed at one moment, and no keep-alive timeout explains these closes.
    pub fn is_restart(&self) -> bool {
        let most = |all: u64| self.connections.saturating_mul(2) >= all;
        self.connections >= MIN_CONNECTIONS
            && self.connections <= self.open
            && most(self.open)
            && most(self.all)
            && self.shortest_idle_s <= MAX_EQUAL_TIMES * self.longest_idle_s
    }

    /// Adds the closes that another thread or agent saw. If the two threads or agents saw different moments of
    /// simultaneous closes, keeps the moment with more closes.
    pub fn merge(&mut self, other: Self) {
        let (all, open) = (self.all.saturating_add(other.all), self.open.saturating_add(other.open));
        if (self.at_s - other.at_s).abs() <= TOGETHER_S {
            self.at_s = self.at_s.min(other.at_s);
            self.connections = self.connections.saturating_add(other.connections);
            self.shortest_idle_s = self.shortest_idle_s.min(other.shortest_idle_s);
            self.longest_idle_s = self.longest_idle_s.max(other.longest_idle_s);
        } else if other.connections > self.connections {
            *self = other;
        }
        (self.all, self.open) = (all, open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(at_s: f64, connections: u64) -> EndsTogether {
        EndsTogether { at_s, connections, open: 40, all: 40, shortest_idle_s: 0.001, longest_idle_s: 0.09 }
    }

    #[test]
    fn most_connections_at_one_moment_are_a_restart_and_equal_idle_times_are_a_timeout() {
        assert!(ends(1.0, 40).is_restart());
        assert!(!ends(1.0, 15).is_restart(), "most stayed open");
        assert!(
            !EndsTogether { all: 400, ..ends(1.0, 40) }.is_restart(),
            "a server that ends connections all the time"
        );
        assert!(
            !EndsTogether { shortest_idle_s: 0.095, longest_idle_s: 0.1, ..ends(1.0, 40) }.is_restart(),
            "a timeout"
        );
        assert!(!EndsTogether { open: 3, all: 3, ..ends(1.0, 3) }.is_restart());
    }

    #[test]
    fn moments_of_several_threads_merge() {
        let mut both = ends(1.0, 40);
        both.merge(EndsTogether { shortest_idle_s: 0.01, longest_idle_s: 0.2, ..ends(1.05, 40) });
        assert_eq!((both.connections, both.open, both.all), (80, 80, 80));
        assert_eq!((both.shortest_idle_s, both.longest_idle_s), (0.001, 0.2));
        both.merge(ends(3.0, 5));
        assert_eq!((both.at_s, both.connections, both.open, both.all), (1.0, 80, 120, 120));
    }
}
