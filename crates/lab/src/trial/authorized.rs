//! Addresses that a load may be sent to without confirmation by the user. Sources: RFC 1918, RFC 3927, RFC 4193, RFC
//! 4291.

use std::net::IpAddr;

use run::Address;

use crate::LabError;

/// Returns true if an address may be loaded without confirmation: a loopback, private, link-local or unspecified
/// address.
fn is_own_ground(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_own_ground(IpAddr::V4(v4)),
            None => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

/// Refuses targets outside of loopback, private and link-local ranges, unless the user has confirmed to be allowed to
/// load them.
pub(crate) fn check_authorized(target: &str, addr: &Address, authorized: bool) -> Result<(), LabError> {
    let Some(addr) = addr.inet().filter(|addr| !authorized && !is_own_ground(addr.ip())) else { return Ok(()) };
    let digits = target.split("://").last().unwrap_or(target).trim_end_matches('/');
    if let Ok(port) = digits.parse::<u16>() {
        let why = format!("{port} names no host; write http://127.0.0.1:{port}/ for a port of this machine");
        return Err(LabError::Target { target: target.into(), why });
    }
    let why = format!(
        "{} is outside loopback, private and link-local ranges, and full load on somebody else's server is an attack; \
         repeat with --authorized if its owner agreed",
        addr.ip()
    );
    Err(LabError::Target { target: target.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_addresses_are_loaded_without_permission() {
        for own in [
            "127.0.0.9",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_own_ground(own.parse().unwrap()), "{own}");
        }
        for other in ["8.8.8.8", "172.32.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_own_ground(other.parse().unwrap()), "{other}");
        }
        let addr = &Address::Inet("192.0.2.1:80".parse().unwrap());
        assert!(check_authorized("http://192.0.2.1", addr, false).unwrap_err().to_string().contains("--authorized"));
        assert!(check_authorized("http://192.0.2.1", addr, true).is_ok());
        let port = check_authorized("19000", addr, false).unwrap_err().to_string();
        assert!(port.contains("http://127.0.0.1:19000/"), "{port}");
    }
}
