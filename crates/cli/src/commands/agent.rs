//! `loadline agent`: a process on another host. The conductor (the process that controls the run) starts it, not the
//! user.

use crate::Exit;

/// Reads a task from standard input and runs it.
pub(crate) fn run() -> anyhow::Result<Exit> {
    lab::agents::inside::run()?;
    Ok(Exit::Done)
}
