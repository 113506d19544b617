//! Scope of a probe: whose counters it reads, and where.

use std::path::PathBuf;

use run::Address;

/// Root folder, processes and sources of a probe.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Folder that contains `proc` and `sys`: `/`, or in tests a folder with captured (copied) files. Netlink and
    /// clocks are read only if the folder is `/`, because captured files do not contain them.
    pub root: PathBuf,
    /// Process whose network namespace the network counters are read from; `None` for the caller's namespace.
    pub netns_pid: Option<u32>,
    /// Processes of this side (server or load generator). The probe also finds and follows the children of the listed
    /// processes.
    pub processes: Vec<u32>,
    /// Listener whose connections are sampled (on the server's side).
    pub listen: Option<Address>,
    /// Address to which the sampled connections lead (on the load generator's side).
    pub connect: Option<Address>,
    /// Listeners whose accepted and waiting connections are counted.
    pub counted: Vec<Address>,
    /// Names of the rows of [`crate::SOURCES`] to read; `None` for all.
    pub sources: Option<Vec<&'static str>>,
    /// CPUs that count as the whole host; empty for all CPUs.
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
