//! `loadline schema`: the contract of run.json.

use crate::{Exit, output};

/// Prints the schema.
pub(crate) fn run() -> anyhow::Result<Exit> {
    output::print(&format!("{:#}\n", run::schema()))?;
    Ok(Exit::Done)
}
