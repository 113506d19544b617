//! Scope of a probe.

use std::path::PathBuf;

use run::Address;

/// Root folder, processes and sources of a probe.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Folder that contains `proc` and `sys`: `/`, or a captured tree in tests. Netlink and clocks are read only if it
    /// is `/`, because no captured tree contains them.
    pub root: PathBuf,
    /// Process in the network namespace that has the network counters; `None` for the caller's namespace.
    pub netns_pid: Option<u32>,
    /// Processes of this side. The probe finds and follows the children of these processes.
    pub processes: Vec<u32>,
    /// Observed listener, whose connections are sampled (on a server's side).
    pub listen: Option<Address>,
    /// Target of the sampled connections (on a client's side).
    pub connect: Option<Address>,
    /// Listeners whose connections are counted.
    pub counted: Vec<Address>,
    /// Names of the rows of [`crate::SOURCES`] to read; `None` for all.
    pub sources: Option<Vec<&'static str>>,
    /// CPUs that represent the host; empty for all.
    pub processors: Vec<u32>,
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
            processors: Vec::new(),
        }
    }
}
