//! Decides whether a socket that is bound to one address gets data that is sent to another address.

use std::net::{IpAddr, SocketAddr};

/// Returns true if a socket that is bound to `bound` may receive a connection or a datagram to `addr`, an address of
/// this network namespace. A socket at an IPv6 wildcard address also accepts IPv4, unless `v6_only` is true. An
/// unspecified `addr` (0.0.0.0 or ::) stands for any address.
pub(crate) fn serves(bound: SocketAddr, v6_only: bool, addr: SocketAddr) -> bool {
    let wanted = addr.ip().to_canonical();
    let all = match bound.ip().to_canonical() {
        IpAddr::V4(any) => any.is_unspecified() && wanted.is_ipv4(),
        IpAddr::V6(any) => any.is_unspecified() && (wanted.is_ipv6() || !v6_only),
    };
    bound.port() == addr.port() && (all || is_same_ip(bound, addr) || wanted.is_unspecified())
}

/// Returns true if two addresses have the same IP address. An IPv4 address that is written as an IPv6 address, such as
/// ::ffff:127.0.0.1, counts as the IPv4 address.
pub(crate) fn is_same_ip(one: SocketAddr, other: SocketAddr) -> bool {
    one.ip().to_canonical() == other.ip().to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_serve_their_ip_version_or_both_if_the_socket_does() {
        let serves = |bound: &str, v6_only, addr: &str| serves(bound.parse().unwrap(), v6_only, addr.parse().unwrap());
        assert!(serves("0.0.0.0:80", false, "127.0.0.1:80"));
        assert!(!serves("0.0.0.0:80", false, "[::1]:80"));
        assert!(serves("[::]:80", false, "127.0.0.1:80"));
        assert!(!serves("[::]:80", true, "127.0.0.1:80"));
        assert!(!serves("127.0.0.2:80", false, "127.0.0.1:80"));
        assert!(!serves("127.0.0.1:81", false, "127.0.0.1:80"));
        assert!(serves("10.0.0.1:80", false, "0.0.0.0:80"));
    }

    #[test]
    fn an_ipv4_address_in_the_form_of_an_ipv6_address_is_the_same() {
        let [v4, mapped] = ["127.0.0.1:80", "[::ffff:127.0.0.1]:80"].map(|addr| addr.parse().unwrap());
        assert!(serves(v4, false, mapped) && serves(mapped, false, v4) && is_same_ip(v4, mapped));
    }
}
