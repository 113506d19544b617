//! Observed facts about the server: its processes, listener and CPUs.

use std::net::SocketAddr;

use probe::Found;
use run::{Address, ObserverSpec, Role};

use crate::CpuSplit;
use crate::agents::AgentGroup;
use crate::observe::RemoteObserver;

/// Known facts about the server.
#[derive(Clone, Debug, Default)]
pub struct ObservedServer {
    /// Name of the server's host, as in the list `hosts` of the run.
    pub host: String,
    /// Processes of the server. The observer also follows the children of the server's processes.
    pub pids: Vec<u32>,
    /// A process in the server's network namespace; `None` if the namespace is our own.
    pub netns_pid: Option<u32>,
    /// Address of the server's listener; `None` if unknown.
    pub listen: Option<Address>,
    /// True if the server may run on the generator's CPUs.
    pub shared: bool,
}

impl ObservedServer {
    /// Returns the facts about a server on this machine, with the processes that were found there.
    pub(crate) fn local(found: Found) -> Self {
        let Found { pids, netns_pid, listen } = found;
        Self { host: "localhost".into(), pids, netns_pid, listen, shared: false }
    }

    /// Returns the facts about a server on another host, as found by the observer on that host.
    pub(crate) fn remote(observer: &RemoteObserver) -> Self {
        let (host, found) = (observer.host().into(), observer.found());
        Self { host, pids: found.processes.clone(), listen: found.listen.clone(), ..Self::default() }
    }

    /// Returns the settings for a local observer of this server.
    pub(super) fn spec(&self) -> ObserverSpec {
        ObserverSpec {
            host: self.host.clone(),
            role: Role::Server,
            processes: self.pids.clone(),
            netns_pid: self.netns_pid,
            listen: self.listen.clone(),
            ..ObserverSpec::default()
        }
    }

    /// Returns the facts about a server whose processes are in `group`. `cpus` tells whether the server shares CPUs
    /// with the generator.
    pub fn started(host: &str, group: &AgentGroup, netns_pid: Option<u32>, addr: SocketAddr, cpus: &CpuSplit) -> Self {
        Self { host: host.into(), pids: group.pids(), netns_pid, listen: Some(addr.into()), shared: cpus.shared() }
    }
}
