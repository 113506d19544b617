//! Where agents run. A host is anything that can start a process whose standard input and output we hold: this machine,
//! a network namespace, later a machine behind ssh or a cluster's own launcher. Nothing else is asked of it: no shared
//! memory, no common clock but the start time, no files.

use std::path::Path;
use std::process::Command;

use crate::LabError;

/// A place where processes can be started.
pub trait Host {
    /// Its name in the run, as in `hosts[]`.
    fn name(&self) -> &str;

    /// A command that will run `program` there. Feeding, reading and stopping it is done through the local child
    /// process that it becomes.
    fn command(&self, program: &Path) -> Result<Command, LabError>;
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
        Ok(Command::new(program))
    }
}
