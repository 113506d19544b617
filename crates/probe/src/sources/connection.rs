//! Values of `tcp_info`, averaged over a sample of connections of this side (server or load generator). sock_diag reads
//! them. Source: tcp(7), linux/tcp.h.
//!
//! The sample consists of the first [`MAX_SAMPLED`] sockets in the kernel's hash table. These sockets are practically a
//! random choice, because a keyed hash of the addresses orders the table. The kernel filters by port, and closing the
//! netlink socket ends the kernel's search. The cost of a search for connections therefore does not grow with the
//! number of connections.
//!
//! Even with an empty table, a search for connections takes a millisecond. A sample is therefore kept as long as most
//! of its connections exist. Each reading asks the kernel only for these connections, by their addresses. A sample with
//! fewer than [`MAX_SAMPLED`] connections is replaced at a phase start or end: the first one at least a second after
//! the sample was drawn. An empty sample is replaced at the next phase start or end or after a second, whichever comes
//! first.

use std::io;

use run::Address;
use sys::diag::{Connection, ConnectionFilter, Diag, SocketName};
use sys::netlink::DumpControl;

use crate::Scope;
use crate::family::Family;
use crate::source::{CAPTURED_TREE, Round, Source, none};
use crate::tree::Tree;

const IDS: &[&str] = &[
    "connection.sampled",
    "connection.rtt",
    "connection.cwnd",
    "connection.unacked",
    "connection.retrans",
    "connection.send_queue",
    "connection.receive_queue",
    "connection.rwnd_limited",
    "connection.sndbuf_limited",
    "connection.ato",
    "connection.min_rtt",
    "connection.mss",
    "connection.peer_window",
    "connection.delivery_rate",
    "connection.waiting",
    "connection.write_full",
];
/// Maximum number of connections in one sample.
const MAX_SAMPLED: usize = 64;
/// Minimum age of a sample before a new sample replaces it, nanoseconds. Exceptions are in the module documentation.
const MIN_REDRAW_AGE_NS: u64 = 1_000_000_000;

struct Connections {
    filter: Option<ConnectionFilter>,
    diag: Option<Diag>,
    family: Family,
    sums: Sums,
    /// Connections of the sample.
    known: Vec<SocketName>,
    /// Time on the monotonic clock when the sample was drawn.
    drawn_ns: u64,
    /// True if the last sample was found among IPv6 sockets.
    v6: bool,
}

/// Sums over the connections of a sample. The mean of a value covers only the connections that report the value.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    sampled: usize,
    /// For each value of `tcp_info`, its sum and the number of connections that report it, in the order of [`IDS`] from
    /// `connection.rtt` on.
    figures: [(f64, usize); 13],
    busy_us: f64,
    rwnd_us: f64,
    sndbuf_us: f64,
    /// Number of connections with bytes that the application has written and TCP has not sent yet.
    waiting: usize,
    /// Number of connections whose writer waits for space in the send buffer.
    write_full: usize,
}

pub(super) fn open(scope: &Scope, _: &Tree) -> Box<dyn Source> {
    let port = |addr: &Option<Address>| addr.as_ref().and_then(Address::inet);
    let server = port(&scope.listen).map(|addr| ConnectionFilter { local_port: Some(addr.port()), remote_port: None });
    let client = port(&scope.connect).map(|addr| ConnectionFilter { local_port: None, remote_port: Some(addr.port()) });
    let family = Family::new(IDS);
    Box::new(Connections {
        filter: server.or(client),
        diag: None,
        family,
        sums: Sums::default(),
        known: Vec::new(),
        drawn_ns: 0,
        v6: false,
    })
}

impl Source for Connections {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(filter) = self.filter else {
            return none(round, &self.family, "no listener and no target of this side with TCP connections is known");
        };
        if !round.tree.is_live() {
            return none(round, &self.family, CAPTURED_TREE);
        }
        self.sums = Sums::default();
        if let Err(e) = self.ask(filter, round) {
            self.diag = None;
            return none(round, &self.family, &format!("sock_diag does not answer: {e}"));
        }
        let Some(slots) = self.family.slots(round.writer, b"") else { return };
        for (at, value) in self.sums.values().into_iter().enumerate() {
            round.writer.put_some(slots, at, value);
        }
        if self.sums.sampled == 0 {
            round.writer.absent_all(&IDS[1..], "", format_args!("no connection was established at a sample"));
        }
    }
}

impl Connections {
    fn ask(&mut self, filter: ConnectionFilter, round: &Round<'_>) -> io::Result<()> {
        let now_ns = sys::clock::monotonic_ns();
        let grows = self.known.len() < MAX_SAMPLED && now_ns.saturating_sub(self.drawn_ns) > MIN_REDRAW_AGE_NS;
        if !(self.known.is_empty() || round.full && grows) {
            self.ask_known(round.tree)?;
            if self.sums.sampled * 2 > self.known.len() {
                return Ok(());
            }
            self.sums = Sums::default();
        } else if !round.full && now_ns.saturating_sub(self.drawn_ns) < MIN_REDRAW_AGE_NS {
            // The last search for connections found none, and was less than a second ago, so no new search is made. A
            // search in each sample would exceed the CPU time budget of this source.
            return Ok(());
        }
        self.drawn_ns = now_ns;
        self.draw(filter, round.tree)
    }

    fn ask_known(&mut self, tree: &Tree) -> io::Result<()> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(tree.diag()?),
        };
        for name in &self.known {
            if let Some(connection) = diag.connection(name)? {
                self.sums.add(&connection);
            }
        }
        Ok(())
    }

    /// Draws a new sample.
    fn draw(&mut self, filter: ConnectionFilter, tree: &Tree) -> io::Result<()> {
        let Self { diag, sums, known, v6: first, .. } = self;
        known.clear();
        // All connections of a dual-stack listener are IPv6 sockets, even those that use IPv4. The search for
        // connections therefore ends with the first IP version for which connections are found.
        for v6 in [*first, !*first] {
            let socket = match diag.take() {
                Some(diag) => diag,
                None => tree.diag()?,
            };
            let end = diag.insert(socket).connections(v6, filter, |c| {
                sums.add(c);
                known.push(c.name);
                if known.len() < MAX_SAMPLED { DumpControl::Continue } else { DumpControl::Stop }
            })?;
            if end == DumpControl::Stop {
                // The rest of the kernel's answer is still in the socket, so the socket is closed.
                *diag = None;
            }
            if !known.is_empty() {
                *first = v6;
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Sums {
    fn add(&mut self, c: &Connection) {
        self.sampled += 1;
        let Some(info) = c.info else { return };
        self.busy_us += info.busy_us.unwrap_or(0) as f64;
        self.rwnd_us += info.rwnd_limited_us.unwrap_or(0) as f64;
        self.sndbuf_us += info.sndbuf_limited_us.unwrap_or(0) as f64;
        self.waiting += usize::from(info.unsent.is_some_and(|bytes| bytes > 0));
        self.write_full += usize::from(c.write_full == Some(true));
        let told = [
            Some(info.rtt_us),
            Some(info.cwnd),
            Some(info.unacked),
            Some(info.total_retrans),
            Some(c.send_queue),
            Some(c.receive_queue),
            None,
            None,
            Some(info.ato_us),
            // Before the first measurement of the round-trip time, the kernel reports u32::MAX.
            info.min_rtt_us.filter(|us| *us != u32::MAX),
            Some(info.send_mss),
            info.peer_window,
        ];
        let told = told.into_iter().map(|v| v.map(f64::from)).chain([info.delivery_rate.map(|v| v as f64)]);
        for ((sum, number), value) in self.figures.iter_mut().zip(told) {
            if let Some(value) = value {
                *sum += value;
                *number += 1;
            }
        }
    }

    /// Returns the values of the counters in the order of [`IDS`].
    fn values(&self) -> [Option<f64>; IDS.len()] {
        let mut out = [None; IDS.len()];
        out[0] = Some(self.sampled as f64);
        for (value, (sum, number)) in out[1..].iter_mut().zip(self.figures) {
            *value = (number > 0).then(|| sum / number as f64);
        }
        if self.busy_us > 0.0 {
            out[7] = Some(self.rwnd_us / self.busy_us);
            out[8] = Some(self.sndbuf_us / self.busy_us);
        }
        if self.sampled > 0 {
            out[14] = Some(self.waiting as f64);
            out[15] = Some(self.write_full as f64);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sampled;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_sides_sample_their_connections_up_to_the_maximum() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = server.local_addr().unwrap();
        let mut held = Vec::new();
        let look = |scope: Scope| {
            let mut probe = crate::Probe::new(Scope { sources: Some(vec!["connection"]), ..scope });
            probe.sample(0.0);
            probe.sample_series(1.0);
            Sampled(probe.take())
        };
        assert_eq!(
            look(Scope { listen: Some(addr.into()), ..Scope::default() }).last("connection.sampled", ""),
            Some(0.0)
        );
        for _ in 0..MAX_SAMPLED + 10 {
            held.push((TcpStream::connect(addr).unwrap(), server.accept().unwrap()));
        }
        for scope in [
            Scope { listen: Some(addr.into()), ..Scope::default() },
            Scope { connect: Some(addr.into()), ..Scope::default() },
        ] {
            let r = look(scope);
            assert_eq!(r.last("connection.sampled", ""), Some(MAX_SAMPLED as f64));
            assert!(r.last("connection.cwnd", "").unwrap() >= 1.0);
            assert!(r.last("connection.mss", "").unwrap() > 500.0);
        }
    }
}
