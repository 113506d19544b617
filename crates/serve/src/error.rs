//! Errors of starting and running a server.

/// An error that keeps a server from starting or running.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no model, service or strategy of the given name.
    #[error("there is no {what} {name:?}; there are: {known}")]
    Unknown {
        /// Kind of name: `model`, `service` or `strategy`.
        what: &'static str,
        /// Name that the user gave.
        name: String,
        /// All valid names, separated by commas.
        known: String,
    },
    /// There is no option of the given name.
    #[error("there is no option {name:?}; there are: {known}")]
    UnknownOption {
        /// Name that the user gave.
        name: String,
        /// All valid names, separated by commas.
        known: String,
    },
    /// An option has an invalid value.
    #[error("option {name}={value} cannot be: it takes {wants}")]
    BadOption {
        /// Name of the option.
        name: &'static str,
        /// Value that the user gave.
        value: String,
        /// Description of the valid values.
        wants: &'static str,
    },
    /// Settings of the user exclude each other, or a setting cannot be used for this server. The text explains the
    /// conflict, or why the setting cannot be used.
    #[error("{0}")]
    Combination(String),
    /// The listen address is invalid.
    #[error("cannot listen on {listen:?}: {why}; give ADDRESS:PORT, such as 127.0.0.1:8080 (port 0 picks one)")]
    Listen {
        /// Address that the user gave.
        listen: String,
        /// Reason why the value is invalid.
        why: String,
    },
    /// The directory of the files to serve cannot be used.
    #[error("cannot serve files from {path}: {error}; name a readable directory")]
    Root {
        /// Path of the root directory.
        path: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// A file of records cannot be used.
    #[error("cannot serve records from {path}: {error}; name a readable file of at least one record, or none")]
    Records {
        /// Path of the file with the records.
        path: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// A thread of the server could not be started.
    #[error("cannot start a thread: {why}")]
    Thread {
        /// Reason for the failure, as a sentence. If a limit is exhausted, the reason names the limit's value and the
        /// command that raises the limit.
        why: String,
    },
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    Os {
        /// Description of the action that failed.
        what: &'static str,
        /// Error of the operating system.
        error: std::io::Error,
    },
}

impl ServeError {
    /// Describes the failed start of a thread.
    pub(crate) fn no_thread(error: &std::io::Error) -> Self {
        Self::Thread { why: sys::exhausted::why_not_started(error) }
    }

    pub(crate) fn os(what: &'static str, errno: sys::Errno) -> Self {
        Self::Os { what, error: errno.into() }
    }
}

/// Finds an entry of a table by its name. The error lists all valid names.
pub(crate) fn find<T>(
    table: &'static [T],
    what: &'static str,
    name: &str,
    name_of: fn(&T) -> &'static str,
) -> Result<&'static T, ServeError> {
    table.iter().find(|row| name_of(row) == name).ok_or_else(|| ServeError::Unknown {
        what,
        name: name.into(),
        known: table.iter().map(name_of).collect::<Vec<_>>().join(", "),
    })
}
