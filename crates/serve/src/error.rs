//! Why a server cannot be started or goes on.

/// Why a server cannot be started or goes on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A name that stands in no table.
    #[error("there is no {what} {name:?}; there are: {known}")]
    Unknown {
        /// `model`, `service`, `strategy`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What exists.
        known: String,
    },
    /// An option that does not exist.
    #[error("there is no option {name:?}; there are: {known}")]
    UnknownOption {
        /// What was asked for.
        name: String,
        /// What exists.
        known: String,
    },
    /// An option with a value that it cannot have.
    #[error("option {name}={value} cannot be: it takes {wants}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What it takes.
        wants: &'static str,
    },
    /// Two parts of the plan that do not go together.
    #[error("{0}")]
    Combination(String),
    /// The address to listen on is none.
    #[error("cannot listen on {listen:?}: {why}; give ADDRESS:PORT, such as 127.0.0.1:8080 (port 0 picks one)")]
    Listen {
        /// As it was given.
        listen: String,
        /// What is wrong.
        why: String,
    },
    /// A file or directory cannot be used.
    #[error("cannot serve files from {path}: {error}; name a readable directory")]
    Root {
        /// The directory.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A file of records cannot be used.
    #[error("cannot serve records from {path}: {error}; name a readable file of at least one record, or none")]
    Records {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {error}; raise the limit of processes (ulimit -u) or serve fewer connections")]
    Thread {
        /// What the system said.
        error: std::io::Error,
    },
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    Os {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
}

impl ServeError {
    pub(crate) fn os(what: &'static str, errno: sys::Errno) -> Self {
        Self::Os { what, error: errno.into() }
    }
}

/// The row of a table by its name, or an error that lists the names.
pub(crate) fn find<T>(
    table: &'static [T],
    what: &'static str,
    name: &str,
    of: fn(&T) -> &'static str,
) -> Result<&'static T, ServeError> {
    table.iter().find(|row| of(row) == name).ok_or_else(|| ServeError::Unknown {
        what,
        name: name.into(),
        known: table.iter().map(of).collect::<Vec<_>>().join(", "),
    })
}
