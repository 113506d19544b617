//! Exit status of a command.

use std::process::ExitCode;

/// Outcome of a command, which sets the exit status. Scripts of users depend on the numbers of the exit statuses, so
/// the numbers must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done,
    /// The command failed, for example because an objective was missed, a comparison found a change for the worse, or
    /// no request completed.
    Failed,
    /// A comparison had too little data for a decision.
    Undecided,
    /// The user ended the command early. loadline stored the measurements until then.
    Interrupted,
}

impl Exit {
    /// Exit status of a command that ended with an error, such as a wrong argument or a file that cannot be written.
    pub(crate) const ERROR: u8 = 2;

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
