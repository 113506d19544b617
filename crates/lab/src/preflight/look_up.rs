//! Lookup of the addresses of a server's name.

use std::net::{SocketAddr, ToSocketAddrs};

/// Returns the addresses of a name, as this host knows them, in the order of the resolver (RFC 6724).
pub(crate) fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let mut found: Vec<SocketAddr> = Vec::new();
    for addr in (host, port).to_socket_addrs().map_err(|e| not_found(host, &e))? {
        if !found.contains(&addr) {
            found.push(addr);
        }
    }
    Ok(found)
}

/// Returns the message for a name that has no address.
pub(crate) fn not_found(host: &str, why: &dyn std::fmt::Display) -> String {
    format!("the host {host:?} cannot be found ({why}); check the name, or give an address")
}
