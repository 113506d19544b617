//! Connections to the port number of the server, but at other addresses. An upstream at another address may have this
//! port number, for example in a container. Connections of the server's own clients on this machine have this port
//! number, too, and may be many. Once the server's addresses are known, the kernel therefore leaves out these
//! connections.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

use sys::diag::{Diag, OtherConnection};
use sys::rtnl::Rtnl;

use super::limits::{MAX_ENDS, MAX_UPSTREAMS};
use crate::bound_address::serves;
use crate::tree::Tree;

/// IP addresses to which sockets of the server's network namespace are connected at the server's port number.
#[derive(Default)]
pub(super) struct SamePort {
    /// Addresses at which the server itself answers.
    own: HashSet<IpAddr>,
    /// Addresses of other hosts or network namespaces.
    foreign: HashSet<IpAddr>,
    rtnl: Option<Rtnl>,
}

impl SamePort {
    /// Adds the connections to the port number of `server` at other addresses than those of the server.
    pub(super) fn add(
        &mut self,
        (diag, tree): (&mut Diag, &Tree),
        server: SocketAddr,
        traffic: bool,
        connections: &mut Vec<OtherConnection>,
    ) -> io::Result<()> {
        let except: Vec<IpAddr> = self.own.iter().copied().take(MAX_UPSTREAMS).collect();
        let mut found = Vec::new();
        for v6 in [false, true] {
            diag.to_port(v6, server.port(), &except, traffic, |connection| {
                if connection.local.port() != server.port() && found.len() < MAX_ENDS {
                    found.push(*connection);
                }
            })?;
        }
        found.retain(|connection| !self.is_own(server, connection.remote, tree));
        let seen: HashSet<IpAddr> = found.iter().map(|connection| connection.remote.ip().to_canonical()).collect();
        self.foreign.retain(|ip| seen.contains(ip));
        connections.extend(found);
        connections.truncate(MAX_ENDS);
        Ok(())
    }

    /// Returns true if the server itself answers at an address. If it is unknown whether the address belongs to the
    /// server's network namespace, returns true.
    fn is_own(&mut self, server: SocketAddr, remote: SocketAddr, tree: &Tree) -> bool {
        let ip = remote.ip().to_canonical();
        if !serves(server, false, remote) || self.foreign.contains(&ip) {
            return false;
        }
        let is_own = self.own.contains(&ip) || self.is_local(ip, tree).unwrap_or(true);
        if is_own {
            self.own.insert(ip)
        } else {
            self.foreign.insert(ip)
        };
        is_own
    }

    fn is_local(&mut self, ip: IpAddr, tree: &Tree) -> io::Result<bool> {
        let rtnl = match &mut self.rtnl {
            Some(rtnl) => rtnl,
            none => none.insert(tree.rtnl()?),
        };
        Ok(rtnl.is_local(ip)?)
    }
}
