//! Lookup of the addresses of a server's name.

use std::net::{SocketAddr, ToSocketAddrs};

/// Returns the addresses of a name that this host finds, in the order of the resolver (RFC 6724).
pub(crate) fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let mut found: Vec<SocketAddr> = Vec::new();
    for mut addr in (host, port).to_socket_addrs().map_err(|e| not_found(host, &e))? {
        // An IPv4-mapped address (::ffff:127.0.0.1) becomes an IPv4 address, because the server's listener is found
        // only under the IPv4 address.
        addr.set_ip(addr.ip().to_canonical());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_that_is_written_as_ipv6_is_the_ipv4_address() {
        let found = look_up("::ffff:127.0.0.1", 80).unwrap();
        assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
        assert_eq!(look_up("::1", 80).unwrap(), ["[::1]:80".parse().unwrap()]);
    }
}
