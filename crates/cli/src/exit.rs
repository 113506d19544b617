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

impl Exit {
    /// Returns the exit status as a number.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Undecided => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
