//! A host of a testbed as a place where agents run.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use testbed::Testbed;

use crate::{Host, LabError};

/// One host of a testbed. Keeps the testbed alive.
#[derive(Clone, Debug)]
pub struct BedHost {
    bed: Arc<Testbed>,
    name: String,
}

impl BedHost {
    /// The host of that name; a name that the testbed does not know fails when something is started there.
    pub fn new(bed: Arc<Testbed>, name: impl Into<String>) -> Self {
        Self { bed, name: name.into() }
    }
}

impl Host for BedHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        Ok(self.bed.command(&self.name, program)?)
    }
}
