//! Destinations that replace the host of the URL, as in curl: `--connect-to` and `--resolve`. Requests and TLS still
//! name the host of the URL.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Host and port to connect to instead of another host and port: `HOST1:PORT1:HOST2:PORT2`. An empty HOST1 or PORT1
/// matches every host or port. An empty HOST2 or PORT2 keeps the host or port that was matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub struct ConnectTo {
    pub(super) from: (String, Option<u16>),
    pub(super) to: (String, Option<u16>),
}

/// Addresses to use for a host and port instead of the resolver's answer: `HOST:PORT:ADDRESS[,ADDRESS…]`. If HOST is
/// `*`, the addresses are used for all hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub struct FixedAddresses {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) addresses: Vec<IpAddr>,
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
        // In curl, a leading plus sign limits the addresses to the usual lifetime of a DNS answer (a minute). loadline
        // ignores this sign.
        let (host, rest) = host_and_rest(text.strip_prefix('+').unwrap_or(text)).ok_or_else(form)?;
        let (digits, list) = rest.split_once(':').filter(|_| !host.is_empty()).ok_or_else(form)?;
        let addresses = list.split(',').map(|address| {
            let bare = address.trim().trim_start_matches('[').trim_end_matches(']');
            bare.parse().map_err(|_| format!("{address:?} is not an IP address"))
        });
        Ok(Self { host: host.to_owned(), port: port(digits)?, addresses: addresses.collect::<Result<_, _>>()? })
    }
}

/// Splits a text into its host and the rest after the next colon. The host may be an IPv6 address in brackets.
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
