//! How a command ends.

use std::process::ExitCode;

/// How a command ended; the numbers are part of the contract with other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// An objective or a comparison failed, or nothing came back.
    Failed,
    /// Ended early by the user, with what was measured saved.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Interrupted => Self::from(130),
        }
    }
}
