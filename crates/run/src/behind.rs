//! What stands behind a server: whom its processes hold connections to, and who answers there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An address that processes of the server, or of what stands behind it, are connected to. How many connections there
/// were is the counter `behind.connections` of this address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Behind {
    /// The other end of the connections: `127.0.0.1:8001`, or `unix:` and the path of a socket.
    pub address: String,
    /// Steps from the server: 1 for its own connections, 2 for those of the processes at these, and so on.
    pub depth: u32,
    /// The address whose processes hold the connections; empty where they are the server's own.
    pub from: String,
    /// Who listens there, as instances of process counters (`python3:812`); empty where that is on no host that is
    /// watched, or may not be looked into.
    pub processes: Vec<String>,
}
