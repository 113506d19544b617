//! `loadline agent`: what the conductor starts; not for people.

use crate::Exit;

/// Works on the task that comes on standard input.
pub(crate) fn run() -> anyhow::Result<Exit> {
    lab::agents::inside::run()?;
    Ok(Exit::Done)
}
