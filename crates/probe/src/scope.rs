//! What a probe looks at.

use std::path::PathBuf;

use run::Address;

/// Where to read, whose processes, which sources.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Folder that holds `proc` and `sys`: `/`, or a captured tree in tests. Netlink, clocks and the like, which no
    /// tree can hold, are only asked when it is `/`.
    pub root: PathBuf,
    /// Network counters are those of this process's network namespace; `None` for the caller's.
    pub netns_pid: Option<u32>,
    /// This side's processes. Their children are found and followed.
    pub processes: Vec<u32>,
    /// The listener to watch, and whose connections are sampled (a server's side).
    pub listen: Option<Address>,
    /// Connections to this address are sampled (a client's side).
    pub connect: Option<Address>,
    /// Listeners whose connections are counted.
    pub counted: Vec<Address>,
    /// Names of the rows of [`crate::SOURCES`] to read; `None` for all.
    pub sources: Option<Vec<&'static str>>,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            netns_pid: None,
            processes: Vec::new(),
            listen: None,
            connect: None,
            counted: Vec::new(),
            sources: None,
        }
    }
}
