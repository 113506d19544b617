//! Hosts where agents run. A host is anything that can start a process and connect its standard input and output.
//! Examples are this machine, a network namespace, a machine reached by ssh, or the launcher of a cluster
//! ([`crate::via`]). Hosts need no shared memory, common clock or common files.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use testbed::Testbed;

use crate::LabError;

/// A place where processes can be started.
pub trait Host: Send {
    /// Returns the host's name, as in the list `hosts` of the run.
    fn name(&self) -> &str;

    /// Returns a command that runs the program as an agent on the host. The command's standard input and output are
    /// connected to the agent.
    fn command(&self, program: &Path) -> Result<Command, LabError>;

    /// Returns an identifier of the host's machine and network namespace. Two hosts with equal identifiers are the same
    /// machine and namespace. An agent that was started through one host may take a task for another host with an equal
    /// identifier.
    fn place(&self) -> String;

    /// Returns true if the host counts as another machine: its clock is compared with ours, and it has its own
    /// observer.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the bytes of loadline's program file, if the host may need a copy.
    fn program(&self) -> Option<Arc<[u8]>> {
        None
    }

    /// Returns the hosts among which a load on this host is divided, with the number of agents on each. The list is
    /// empty if the agents run on this host itself.
    fn members(&self) -> Vec<(&dyn Host, u32)> {
        Vec::new()
    }
}

/// Returns one host for each agent (generator process) that runs on `host`. If `host` is a group of hosts, its members
/// take turns in the returned list, and each member occurs as often as it has agents.
pub(crate) fn agents_of(host: &dyn Host) -> Vec<&dyn Host> {
    let members = host.members();
    if members.is_empty() {
        return vec![host];
    }
    let most = members.iter().map(|(_, agents)| *agents).max().unwrap_or(1);
    let round = |round| members.iter().filter(move |(_, agents)| *agents > round).map(|(host, _)| *host);
    (0..most).flat_map(round).collect()
}

/// This machine, in the network namespace of this process.
#[derive(Clone, Debug)]
pub struct Local {
    name: String,
}

impl Local {
    /// Returns this machine as a host with the given name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

impl Default for Local {
    fn default() -> Self {
        Self::new("localhost")
    }
}

impl Host for Local {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        let mut command = Command::new(program);
        command.arg("agent");
        Ok(command)
    }

    fn place(&self) -> String {
        self.name.clone()
    }
}

/// A host of a testbed: a network namespace on this machine.
#[derive(Clone, Debug)]
pub struct NamespaceHost {
    name: String,
    netns: sys::netns::Netns,
}

impl NamespaceHost {
    /// Returns the testbed's host called `name`.
    pub fn in_testbed(bed: &Testbed, name: &str) -> Result<Self, LabError> {
        let netns = bed.netns(name).map_err(|e| LabError::set_up("finding a host of the testbed", e))?;
        Ok(Self { name: name.into(), netns })
    }
}

impl Host for NamespaceHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        let mut command = Command::new(program);
        command.arg("agent");
        self.netns.enter(&mut command);
        Ok(command)
    }

    /// Returns the host's name and the inode number of the namespace. The inode number is unique as long as the
    /// namespace exists.
    fn place(&self) -> String {
        format!("{} {:?}", self.name, self.netns.id())
    }
}
