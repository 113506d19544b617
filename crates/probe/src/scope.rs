//! Scope of a probe.

use std::path::PathBuf;

use run::Address;

/// Root folder, processes and sources of a probe.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Folder that holds `proc` and `sys`: `/`, or a captured tree in tests. Netlink and clocks, which no tree can
    /// hold, are only read when it is `/`.
    pub root: PathBuf,
    /// Process whose network namespace has the network counters; `None` for the caller's.
    pub netns_pid: Option<u32>,
    /// This side's processes. Their children are found and followed.
    pub processes: Vec<u32>,
    /// The observed listener, whose connections are sampled (a server's side).
    pub listen: Option<Address>,
    /// Target of the sampled connections (a client's side).
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
