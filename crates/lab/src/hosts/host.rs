//! Where agents run. A host is anything that can start a process whose standard input and output we hold: this machine,
//! a network namespace, a machine behind ssh or a cluster's own launcher ([`crate::via`]). Nothing else is asked of it: no
//! shared memory, no common clock, no files.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use testbed::Testbed;

use crate::LabError;

/// A place where processes can be started.
pub trait Host {
    /// Its name in the run, as in `hosts[]`.
    fn name(&self) -> &str;

    /// A command that will run `program agent` there. Feeding, reading and stopping it is done through the local child
    /// process that it becomes.
    fn command(&self, program: &Path) -> Result<Command, LabError>;

    /// What is the same for two hosts only where they are one place: an agent that was started through the one may go on with a
    /// task for the other.
    fn place(&self) -> String;

    /// Whether processes there are none of this machine, as far as anybody here can tell: their clock is compared with
    /// ours, and their host is observed from there.
    fn is_remote(&self) -> bool {
        false
    }

    /// The program's bytes, where it may have to be copied there first.
    fn program(&self) -> Option<Arc<[u8]>> {
        None
    }

    /// The hosts that a load on this one is spread over, each with how many agents; empty for itself alone.
    fn members(&self) -> Vec<(&dyn Host, u32)> {
        Vec::new()
    }
}

/// This machine, in the network namespace of this process.
#[derive(Clone, Debug)]
pub struct Local {
    name: String,
}

impl Local {
    /// A name for this machine.
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

/// A host of a testbed.
#[derive(Clone, Debug)]
pub struct NamespaceHost {
    name: String,
    netns: sys::netns::Netns,
}

impl NamespaceHost {
    /// The host of this name.
    pub fn of(bed: &Testbed, name: &str) -> Result<Self, LabError> {
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

    /// The number of its namespace, which is no other's as long as a process is in it.
    fn place(&self) -> String {
        format!("{} {:?}", self.name, self.netns.id())
    }
}
