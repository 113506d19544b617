//! `loadline schema`: prints the JSON schema of run.json.

use crate::{Exit, output};

/// Prints the JSON schema.
pub(crate) fn run() -> anyhow::Result<Exit> {
    output::print(run::SCHEMA)?;
    Ok(Exit::Done)
}
