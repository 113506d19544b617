//! Connections that the server ended, and the moment at which the most connections ended.

use run::EndsTogether;

/// Maximum time between the first and the last of several closes that count as simultaneous, nanoseconds. When a server
/// exits, its connections end within milliseconds. However, the workers (processes) of one server may exit some tens of
/// milliseconds apart.
const TOGETHER_NS: u64 = 100_000_000;

/// Connections that the server ended, grouped by the moment of their end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerEnds {
    all: u64,
    current: Moment,
    largest: Moment,
}

/// Connections whose ends came at most [`TOGETHER_NS`] after the first of these ends.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    begin_ns: u64,
    connections: u64,
    /// Number of open connections when the first connection of the group ended.
    open: u64,
    /// Shortest and longest idle time of the group's connections when the server closed them, nanoseconds.
    idle_ns: (u64, u64),
}

impl ServerEnds {
    /// Records that the server ended one of `open` connections. The connection ended at `at_ns`, nanoseconds since the
    /// start of the load, after an idle time of `idle_ns`.
    pub(crate) fn add(&mut self, at_ns: u64, idle_ns: u64, open: u64) {
        self.all += 1;
        let current = &mut self.current;
        if current.connections == 0 || at_ns > current.begin_ns + TOGETHER_NS {
            *current = Moment { begin_ns: at_ns, connections: 0, open, idle_ns: (idle_ns, idle_ns) };
        }
        current.connections += 1;
        current.idle_ns = (current.idle_ns.0.min(idle_ns), current.idle_ns.1.max(idle_ns));
        if current.connections >= self.largest.connections {
            self.largest = *current;
        }
    }

    /// Returns the moment at which the most connections ended, or `None` if none ended.
    pub(crate) fn most(&self) -> Option<EndsTogether> {
        let Moment { begin_ns, connections, open, idle_ns } = self.largest;
        let seconds = |ns: u64| ns as f64 / 1e9;
        (connections > 0).then(|| EndsTogether {
            at_s: seconds(begin_ns),
            connections,
            open,
            all: self.all,
            shortest_idle_s: seconds(idle_ns.0),
            longest_idle_s: seconds(idle_ns.1),
        })
    }
}
