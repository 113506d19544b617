//! Finds the address to connect to, for the host and port in a target's URL.

use std::net::SocketAddr;

use crate::Target;
use crate::plan::reroute::FixedAddresses;

impl Target {
    /// Returns the host and port to connect to instead of the URL's host and port; `None` if no entry of `connect_to`
    /// matches.
    pub fn destination(&self, host: &str, port: u16) -> Option<(String, u16)> {
        let entry = self.connect_to.iter().find(|entry| {
            let (from_host, from_port) = &entry.from;
            (from_host.is_empty() || from_host.eq_ignore_ascii_case(host)) && from_port.is_none_or(|from| from == port)
        })?;
        let (to_host, to_port) = &entry.to;
        let host = if to_host.is_empty() { host } else { to_host };
        Some((host.to_owned(), to_port.unwrap_or(port)))
    }

    /// Returns the addresses that the user gave for a host and port; `None` if the user gave none.
    pub fn fixed_addresses(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let matches = |entry: &&FixedAddresses| {
            entry.port == port && (entry.host == "*" || entry.host.eq_ignore_ascii_case(host))
        };
        // An address for this host takes precedence over an address for all hosts (`*`).
        let named = self.resolve.iter().filter(matches).min_by_key(|entry| entry.host == "*")?;
        Some(named.addresses.iter().map(|ip| SocketAddr::new(ip.to_canonical(), port)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::reroute::ConnectTo;

    fn target(connect_to: &[&str], resolve: &[&str]) -> Target {
        Target {
            connect_to: connect_to.iter().map(|text| text.parse().unwrap()).collect(),
            resolve: resolve.iter().map(|text| text.parse().unwrap()).collect(),
            ..Target::default()
        }
    }

    #[test]
    fn empty_parts_match_all_or_keep_what_they_matched_and_the_first_entry_applies() {
        let to = |entry: &str| target(&[entry], &[]).destination("a.example", 443);
        let at = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(to("a.example:443:127.0.0.1:8443"), at("127.0.0.1", 8443));
        assert_eq!(to("A.EXAMPLE::b:"), at("b", 443));
        assert_eq!(to("::b:1"), at("b", 1));
        assert_eq!(to(":443::1"), at("a.example", 1));
        assert_eq!(to("::[::1]:1"), at("::1", 1));
        assert_eq!((to("b:443:c:1"), to("a.example:80:c:1")), (None, None));
        assert_eq!(target(&["x::y:", ":::2", ":::3"], &[]).destination("a", 1), at("a", 2));
        assert_eq!(target(&["[::1]:80::81"], &[]).destination("::1", 80), at("::1", 81));
    }

    #[test]
    fn addresses_of_a_host_and_port_are_given_in_order() {
        let of = |entries: &[&str]| target(&[], entries).fixed_addresses("a.example", 80).map(|all| format!("{all:?}"));
        assert_eq!(of(&["a.example:80:127.0.0.2,[::1], ::2"]).unwrap(), "[127.0.0.2:80, [::1]:80, [::2]:80]");
        assert_eq!(of(&["*:80:127.0.0.3", "+A.example:80:127.0.0.2"]).unwrap(), "[127.0.0.2:80]");
        assert_eq!(of(&["*:80:::ffff:127.0.0.3"]).unwrap(), "[127.0.0.3:80]");
        assert_eq!((of(&["a.example:81:127.0.0.2"]), of(&["b:80:127.0.0.2"])), (None, None));
    }

    #[test]
    fn a_wrong_entry_is_refused_and_a_right_one_is_written_as_it_was_read() {
        for text in ["", "a", "a:1", "a:1:b", "a:x:b:1", "a:1:b:0", "[::1:1:b:1", "a:1:b:1:2"] {
            assert!(text.parse::<ConnectTo>().is_err(), "{text}");
        }
        for text in ["", "a", "a:1", "a:1:", "a:1:b", ":1:127.0.0.1", "a::127.0.0.1", "-a:1", "a:1:127.0.0.1,"] {
            assert!(text.parse::<FixedAddresses>().is_err(), "{text}");
        }
        let plan = target(&["[::1]:80::81", ":::"], &["*:80:[::1],127.0.0.1"]);
        let text = serde_json::to_string(&plan).unwrap();
        assert!(text.contains("[::1]:80::81") && text.contains("*:80:[::1],127.0.0.1"), "{text}");
        assert_eq!(serde_json::from_str::<Target>(&text).unwrap(), plan);
    }
}
