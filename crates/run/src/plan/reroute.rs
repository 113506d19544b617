//! Other destinations than the host of the URL, as in curl: `--connect-to` and `--resolve`. Requests and TLS still name
//! the host of the URL.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::Target;

/// Host and port to connect to instead of others: `HOST1:PORT1:HOST2:PORT2`. An empty HOST1 or PORT1 matches all, and an
/// empty HOST2 or PORT2 keeps what it matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub struct ConnectTo {
    from: (String, Option<u16>),
    to: (String, Option<u16>),
}

/// Addresses of a host and port instead of those of the resolver: `HOST:PORT:ADDRESS[,ADDRESS…]`. The host `*` matches
/// all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub struct FixedAddresses {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl Target {
    /// Returns the host and port to connect to, for those of the URL; `None` if no entry of `connect_to` matches.
    pub fn destination(&self, host: &str, port: u16) -> Option<(String, u16)> {
        let entry = self.connect_to.iter().find(|entry| {
            let (from_host, from_port) = &entry.from;
            (from_host.is_empty() || from_host.eq_ignore_ascii_case(host)) && from_port.is_none_or(|from| from == port)
        })?;
        let (to_host, to_port) = &entry.to;
        let host = if to_host.is_empty() { host } else { to_host };
        Some((host.to_owned(), to_port.unwrap_or(port)))
    }

    /// Returns the addresses that the user gave for a host and port.
    pub fn fixed_addresses(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        let matches = |entry: &&FixedAddresses| {
            entry.port == port && (entry.host == "*" || entry.host.eq_ignore_ascii_case(host))
        };
        // An entry for the host itself goes before one for all hosts.
        let named = self.resolve.iter().filter(matches).min_by_key(|entry| entry.host == "*")?;
        Some(named.addresses.iter().map(|ip| SocketAddr::new(ip.to_canonical(), port)).collect())
    }
}

impl std::str::FromStr for ConnectTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not HOST1:PORT1:HOST2:PORT2, where each part may be empty");
        let (from_host, rest) = host_and_rest(text).ok_or_else(form)?;
        let (from_port, rest) = rest.split_once(':').ok_or_else(form)?;
        let (to_host, to_port) = host_and_rest(rest).ok_or_else(form)?;
        let port = |digits: &str| (!digits.is_empty()).then(|| port(digits)).transpose();
        Ok(Self { from: (from_host.to_owned(), port(from_port)?), to: (to_host.to_owned(), port(to_port)?) })
    }
}

impl std::str::FromStr for FixedAddresses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("{text:?} is not HOST:PORT:ADDRESS[,ADDRESS…]");
        // With a plus sign, curl forgets the addresses after a minute.
        let (host, rest) = host_and_rest(text.strip_prefix('+').unwrap_or(text)).ok_or_else(form)?;
        let (digits, list) = rest.split_once(':').filter(|_| !host.is_empty()).ok_or_else(form)?;
        let addresses = list.split(',').map(|address| {
            let bare = address.trim().trim_start_matches('[').trim_end_matches(']');
            bare.parse().map_err(|_| format!("{address:?} is not an IP address"))
        });
        Ok(Self { host: host.to_owned(), port: port(digits)?, addresses: addresses.collect::<Result<_, _>>()? })
    }
}

/// Splits a text after its host and the colon behind it. The host may be an IPv6 address in brackets.
fn host_and_rest(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']')?;
            Some((host, rest.strip_prefix(':')?))
        }
        None => text.split_once(':'),
    }
}

fn port(digits: &str) -> Result<u16, String> {
    digits.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("{digits:?} is not a port (1 to 65535)"))
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

impl fmt::Display for ConnectTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(host, port): &(String, Option<u16>)| {
            format!("{}:{}", bracketed(host), port.map_or(String::new(), |port| port.to_string()))
        };
        write!(f, "{}:{}", part(&self.from), part(&self.to))
    }
}

impl fmt::Display for FixedAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<String> = self.addresses.iter().map(|ip| bracketed(&ip.to_string())).collect();
        write!(f, "{}:{}:{}", bracketed(&self.host), self.port, addresses.join(","))
    }
}

macro_rules! written_as_text {
    ($type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }
    };
}

written_as_text!(ConnectTo);
written_as_text!(FixedAddresses);

#[cfg(test)]
mod tests {
    use super::*;

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
