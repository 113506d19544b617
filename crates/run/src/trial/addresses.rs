//! Results of each address of a server, if connections use several addresses.

use serde::{Deserialize, Serialize};

use crate::ClassPart;

/// Maximum number of addresses to which one load connects in turn.
pub const MAX_ADDRESSES: usize = 64;

/// Choice of the addresses to connect to, among the addresses of the server's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AddressChoice {
    /// The first address that accepts a connection.
    #[default]
    First,
    /// All addresses that accept a connection, in turn.
    All,
}

/// Results of one address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AddressPart {
    /// Number of connections that were established to this address.
    pub connections: u64,
    /// Results of the requests on these connections. In `requests`, the field `name` contains the address.
    pub requests: ClassPart,
}

impl AddressPart {
    /// Adds the results of another thread or agent for the same address.
    pub fn merge(&mut self, other: Self) {
        self.connections = self.connections.saturating_add(other.connections);
        self.requests.merge(other.requests);
    }
}
