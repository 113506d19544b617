//! `loadline agent`: a process that loadline starts on another host. The conductor (the process that controls the run)
//! starts this command, not the user.

use crate::Exit;

/// Reads a task from standard input and runs it.
pub(crate) fn run() -> anyhow::Result<Exit> {
    lab::agents::inside::run()?;
    Ok(Exit::Done)
}
