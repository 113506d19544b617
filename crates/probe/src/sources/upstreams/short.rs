//! Upstreams that the server reaches over short connections. Some servers open a connection for each request and close
//! it after the reply, such as nginx without `keepalive`. Such a connection may end after the kernel listed it, and
//! before the search through the descriptors of the processes reaches its holder. The search then finds no holder.
//!
//! If a connection without a holder is still open after the search, it belongs to another program. The search read the
//! server's descriptors while the connection was open. If the connection has ended, it may be one of the server's. A
//! connection to a known upstream then counts for this upstream. For any other address, the search is repeated until it
//! finds a holder. Closed connections, which the kernel lists for a while, show further addresses.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use run::Address;
use sys::diag::Listener;
use sys::netlink::DumpControl;

use super::UpstreamChain;
use super::sockets::{ConnectionEnd, Sockets, unix_ends};
use crate::source::Round;
use crate::tree::Tree;

/// Maximum number of connections without a holder that are looked up again in one sample. Each look-up takes some
/// microseconds.
const MAX_CHECKED: usize = 64;
/// Maximum number of closed connections that are read for each IP version in one sample. The kernel lists connections
/// in the order of a hash, so the first ones are a random sample of all.
const MAX_CLOSED: u32 = 1024;
/// Number of searches for the holders of connections in one sample. On a quick upstream, one search in three finds a
/// connection that is still open.
const SEARCHES_PER_SAMPLE: u32 = 8;

impl UpstreamChain {
    /// Finds out which connections without a holder belong to the server or to an upstream, and finds new upstreams.
    pub(super) fn follow_short(&mut self, sockets: &Sockets, round: &mut Round<'_>) {
        let ended = self.ended(&sockets.ends);
        for end in &ended {
            if let Some(at) = self.who_asks(&end.to) {
                self.holders.insert(end.inode, Some(at));
            }
        }
        let mut seen: Vec<Address> = ended.into_iter().map(|end| end.to.clone()).collect();
        if round.full {
            // If the closed connections cannot be read, the ended ones are enough.
            seen.extend(self.closed(&sockets.listeners, round.tree, MAX_CLOSED).unwrap_or_default());
        }
        seen.retain(|address| !self.is_known(&address.to_string()));
        let wanted = self.short.next_search(seen.into_iter());
        self.search(wanted, round);
    }

    /// Returns who connects to a known upstream, in the numbering of `holders`: 0 for the server, n for upstream number
    /// n.
    fn who_asks(&self, to: &Address) -> Option<usize> {
        let stop = self.stops.iter().find(|stop| stop.to == *to)?;
        match stop.behind.from.as_str() {
            "" => Some(0),
            from => Some(1 + self.stops.iter().position(|asker| asker.behind.address == from)?),
        }
    }

    /// Returns the connecting ends that were found in no process, and that have ended meanwhile.
    fn ended<'a>(&mut self, ends: &'a [ConnectionEnd]) -> Vec<&'a ConnectionEnd> {
        let new = ends.iter().filter(|end| !self.holders.contains_key(&end.inode));
        let (tcp, unix): (Vec<&ConnectionEnd>, Vec<&ConnectionEnd>) = new.partition(|end| end.name.is_some());
        let Some(diag) = &mut self.diag else { return Vec::new() };
        let has_ended = |end: &&ConnectionEnd| end.name.is_some_and(|name| matches!(diag.other(&name), Ok(None)));
        let mut ended: Vec<&ConnectionEnd> = tcp.into_iter().take(MAX_CHECKED).filter(has_ended).collect();
        let mut open: HashSet<u32> = HashSet::new();
        let each = |inode: u32, _: u32, _: &Path| open.extend([inode]);
        if !unix.is_empty() && diag.unix_pairs(each).is_ok() {
            ended.extend(unix.into_iter().filter(|end| !open.contains(&end.inode)));
        }
        ended
    }

    /// Returns the address of the accepting end of each closed connection. The end that closed first stays in the
    /// kernel's list, so a closed connection may be listed with either end as the local one.
    /// Reads at most `most` closed connections for each IP version.
    fn closed(&self, listeners: &[Listener], tree: &Tree, most: u32) -> io::Result<Vec<Address>> {
        let own_port = self.listen.as_ref().and_then(Address::inet).map_or(0, |own| own.port());
        let listening: HashSet<u16> = listeners.iter().map(|listener| listener.local.port()).collect();
        let mut found = Vec::new();
        for v6 in [false, true] {
            let mut left = most;
            let each = |local: SocketAddr, remote: SocketAddr| {
                found.push(Address::Inet(if listening.contains(&local.port()) { local } else { remote }));
                left = left.saturating_sub(1);
                if left > 0 { DumpControl::Continue } else { DumpControl::Stop }
            };
            tree.diag()?.closed(v6, own_port, each)?;
        }
        Ok(found)
    }

    /// Searches for the holders of connections to the addresses `wanted`, which are unknown.
    fn search(&mut self, mut wanted: Vec<Address>, round: &mut Round<'_>) {
        for _ in 0..SEARCHES_PER_SAMPLE {
            wanted.retain(|to| !self.is_known(&to.to_string()));
            if wanted.is_empty() {
                return;
            }
            // A failed search leaves the upstreams unknown, as if no connection were open.
            let Ok(ends) = self.ends_to(&wanted) else { return };
            self.follow(&ends, round);
        }
    }

    /// Returns the connecting ends of the open connections to the addresses `wanted`.
    fn ends_to(&mut self, wanted: &[Address]) -> io::Result<Vec<ConnectionEnd>> {
        let (Some(diag), Some(listen)) = (&mut self.diag, &self.listen) else { return Ok(Vec::new()) };
        let ports: HashSet<u16> = wanted.iter().filter_map(Address::inet).map(|address| address.port()).collect();
        let mut ends = Vec::new();
        for port in ports {
            for v6 in [false, true] {
                diag.to_port(v6, port, &[], false, |end| {
                    let to = Address::Inet(end.remote);
                    if end.inode != 0 && wanted.contains(&to) {
                        let name = Some(end.name);
                        ends.push(ConnectionEnd { inode: end.inode, to, traffic: None, is_unread: false, name });
                    }
                })?;
            }
        }
        if wanted.iter().any(|to| to.inet().is_none()) {
            ends.extend(unix_ends(diag, listen)?.into_iter().filter(|end| wanted.contains(&end.to)));
        }
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::process::{Child, ChildStdout, Command, Stdio};

    use super::*;
    use crate::Scope;
    use crate::column_writer::ColumnWriter;
    use crate::process_set::ProcessSet;
    use crate::source::Effort;

    /// A server that opens a connection to an upstream, or closes its last connection, for each line that it reads.
    struct Server {
        child: Child,
        output: BufReader<ChildStdout>,
        listen: Address,
    }

    impl Server {
        /// Starts a server whose upstream has the address `to`, as an expression in Python.
        fn start(family: &str, to: &str) -> Self {
            let code = format!(
                "import socket,sys\nkept=[]\ns=socket.create_server(('127.0.0.1',0))\n\
                 print('%s:%d' % s.getsockname(), flush=True)\nfor line in sys.stdin:\n \
                 if line=='open\\n': c=socket.socket(socket.{family}); c.connect({to}); kept.append(c)\n \
                 else: kept.pop().close()\n print('done', flush=True)"
            );
            let mut command = Command::new("python3");
            let mut child = command.args(["-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            Self { child, output, listen: line.trim().parse().unwrap() }
        }

        fn order(&mut self, order: &str) {
            writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
            self.output.read_line(&mut String::new()).unwrap();
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            drop(self.child.stdin.take());
            drop(self.child.wait());
        }
    }

    /// The chain of upstreams of a server, with all that its samples need.
    struct Chain {
        chain: UpstreamChain,
        tree: Tree,
        writer: ColumnWriter,
        process_set: ProcessSet,
    }

    impl Chain {
        fn of(server: &Server) -> Self {
            let scope = Scope { listen: Some(server.listen.clone()), ..Scope::default() };
            let mut process_set = ProcessSet::default();
            process_set.add(server.child.id(), "server");
            let (chain, tree) = (UpstreamChain::new(&scope), Tree::new(&scope));
            Self { chain, tree, writer: ColumnWriter::default(), process_set }
        }

        fn sockets(&mut self) -> Sockets {
            let listen = self.chain.listen.clone().unwrap();
            self.chain.sockets(&listen, &self.tree).unwrap()
        }

        /// Evaluates sockets that were listed before. Returns the number of connections to the address `to`.
        fn look(&mut self, sockets: &Sockets, to: &Address) -> Option<f64> {
            let Self { chain, tree, writer, process_set } = self;
            writer.begin(0.0);
            chain.look(sockets, &mut Round { writer, tree, full: false, process_set, effort: Effort::default() });
            writer.take().column("behind.connections", &to.to_string()).and_then(|column| column.values[0])
        }

        fn knows(&self, to: &Address) -> bool {
            self.chain.stops.iter().any(|stop| stop.to == *to)
        }
    }

    /// The server closes each connection before the search through its descriptors. An earlier version of loadline
    /// found such an upstream only by chance, and attributed its CPU time to other programs.
    #[test]
    fn an_upstream_behind_short_connections_is_found_and_its_connections_count() {
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = upstream.local_addr().unwrap();
        let start = || Server::start("AF_INET", &format!("('127.0.0.1',{})", at.port()));
        let (mut server, mut other) = (start(), start());
        let (mut chain, to) = (Chain::of(&server), Address::from(at));
        server.order("open");
        let before = chain.sockets();
        server.order("close");
        server.order("open");
        chain.look(&before, &to);
        assert!(chain.knows(&to), "a later connection leads to it");
        // Another program is connected to the upstream, too.
        other.order("open");
        let before = chain.sockets();
        server.order("close");
        assert_eq!(chain.look(&before, &to), Some(1.0));
    }

    #[test]
    fn an_upstream_behind_short_unix_connections_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let upstream = UnixListener::bind(&path).unwrap();
        let mut server = Server::start("AF_UNIX", &format!("{:?}", path.display().to_string()));
        let (mut chain, to) = (Chain::of(&server), Address::Unix(path));
        // Before accept(2), sock_diag does not list the accepting end of a unix connection, which has the path.
        server.order("open");
        let _first = upstream.accept().unwrap();
        let before = chain.sockets();
        server.order("close");
        server.order("open");
        let _second = upstream.accept().unwrap();
        chain.look(&before, &to);
        assert!(chain.knows(&to));
    }

    #[test]
    fn closed_connections_show_the_address_of_the_upstream() {
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = upstream.local_addr().unwrap();
        let mut server = Server::start("AF_INET", &format!("('127.0.0.1',{})", at.port()));
        server.order("open");
        server.order("close");
        drop(upstream.accept().unwrap());
        let mut chain = Chain::of(&server);
        testkit::eventually(|| {
            let sockets = chain.sockets();
            // Tests that run at the same time may leave thousands of closed connections.
            let closed = chain.chain.closed(&sockets.listeners, &chain.tree, u32::MAX).unwrap();
            closed.contains(&at.into()).then_some(())
        });
    }
}
