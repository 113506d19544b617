//! Exit status of a command.

use std::process::ExitCode;

/// Outcome of a command. Other programs depend on these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// An objective or a comparison failed, or nothing completed.
    Failed,
    /// The data of a comparison decides nothing.
    Undecided,
    /// The user ended the command early. The measurements until then are stored.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Undecided => Self::from(3),
            Exit::Interrupted => Self::from(130),
        }
    }
}
