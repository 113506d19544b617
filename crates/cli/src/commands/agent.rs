//! `loadline agent`: a process that the conductor starts, not the user.

use crate::Exit;

/// Reads a task from standard input and runs it.
pub(crate) fn run() -> anyhow::Result<Exit> {
    lab::agents::inside::run()?;
    Ok(Exit::Done)
}
