//! The server under test.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{AddressChoice, ConnectTo, FixedAddresses, UrlParts};

/// The server under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Target {
    /// URL as the user wrote it: `http://127.0.0.1:8080/path`, `tcp://…`, `echo://…`; empty for the embedded server.
    pub url: String,
    /// ID of the server process, if the user named it. Child processes of the process with this ID belong to the
    /// server, too.
    pub server_pid: Option<u32>,
    /// True if the user allows a target outside loopback, private and link-local ranges.
    pub authorized: bool,
    /// Hosts and ports to connect to instead of the host and port of the URL. If several entries match, the first of
    /// them is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_to: Vec<ConnectTo>,
    /// Addresses of hosts and ports, which replace the resolver's answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<FixedAddresses>,
    /// Choice of the addresses that get the load: the first address of the server's name, or all of its addresses.
    #[serde(skip_serializing_if = "is_first")]
    pub addresses: AddressChoice,
    /// Additional CPU time that the embedded server spends on each request, microseconds; 0 for none. Because of this
    /// CPU time, a request costs the server clearly more CPU time than the generator. With this CPU time, the server is
    /// the bottleneck, and not the generator.
    pub embedded_work_us: f64,
}

fn is_first(choice: &AddressChoice) -> bool {
    *choice == AddressChoice::First
}

impl Default for Target {
    fn default() -> Self {
        Self {
            url: String::new(),
            server_pid: None,
            authorized: false,
            connect_to: Vec::new(),
            resolve: Vec::new(),
            addresses: AddressChoice::First,
            embedded_work_us: 50.0,
        }
    }
}

impl Target {
    /// Returns true if the target is a loopback address (127.0.0.0/8, ::1, localhost) or a unix socket. This function
    /// makes no DNS request. Returns `None` if the target has no address, or if `connect_to` or `resolve` may send
    /// connections to another host than that of the URL.
    pub fn loopback(&self) -> Option<bool> {
        if !self.connect_to.is_empty() || !self.resolve.is_empty() {
            return None;
        }
        let written = UrlParts::parse(&self.url);
        let authority = match written.transport() {
            (_, true) => return Some(true),
            _ if written.authority.is_empty() => return None,
            _ => written.authority,
        };
        if let Ok(addr) = authority.parse::<std::net::SocketAddr>() {
            return Some(addr.ip().is_loopback());
        }
        let host = authority.trim_start_matches('[').trim_end_matches(']');
        let ip = host.parse::<IpAddr>().ok();
        let name = host.split(':').next().unwrap_or_default();
        Some(ip.map_or(name == "localhost", |ip| ip.is_loopback()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_host_alone_is_told_from_a_name_that_only_looks_so() {
        let loopback = |url: &str| Target { url: url.into(), ..Target::default() }.loopback();
        for own in [
            "http://127.0.0.1:8080/x",
            "127.9.9.9",
            "localhost:80",
            "echo://[::1]:7",
            "tcp://[::1]",
            "localhost",
            "unix:///a.sock:/",
        ] {
            assert_eq!(loopback(own), Some(true), "{own}");
        }
        for other in ["http://127.example.org/", "localhost.example.org", "10.0.0.2:80", "http://[fe80::1]:80", "x"] {
            assert_eq!(loopback(other), Some(false), "{other}");
        }
        assert_eq!((loopback(""), loopback("http://")), (None, None));
        let mut elsewhere = Target { url: "http://127.0.0.1/".into(), ..Target::default() };
        elsewhere.connect_to.push(":::1".parse().unwrap());
        assert_eq!(elsewhere.loopback(), None);
    }
}
