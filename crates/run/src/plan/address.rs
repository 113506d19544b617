//! Listening addresses of servers: an internet address, or the path of a unix socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Listening address of a server. As text, a listening address is `127.0.0.1:80`, `[::1]:80` or `unix:/run/app.sock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(test, schemars(with = "String"))]
pub enum Address {
    /// An IP address and a port.
    Inet(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

/// Prefix of a unix socket's path.
const UNIX: &str = "unix:";

impl Address {
    /// Returns the IP address and the port; `None` for a unix socket.
    pub fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(addr) => Some(*addr),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::Inet(addr)
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(UNIX) {
            Some("") => Err(format!("{UNIX} needs the path of a socket, such as {UNIX}/run/app.sock")),
            Some(path) => Ok(Self::Unix(path.into())),
            None => {
                text.parse().map(Self::Inet).map_err(|_| format!("{text:?} is neither ADDRESS:PORT nor {UNIX}PATH"))
            }
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_read_as_they_are_written() {
        for text in ["127.0.0.1:80", "[::1]:8080", "unix:/run/a b.sock", "unix:relative"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        }
        assert!("unix:".parse::<Address>().is_err() && "localhost".parse::<Address>().is_err());
        assert_eq!("unix:/a".parse::<Address>().unwrap().inet(), None);
    }
}
