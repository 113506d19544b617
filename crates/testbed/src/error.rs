//! Errors of a testbed: attempted action, cause, advice.

use std::io;

/// Reason why a testbed could not be created or used.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The text names no medium.
    #[error("{text:?} is not a medium: {why}; `loadline list media` shows them all")]
    Medium {
        /// Given text.
        text: String,
        /// Reason.
        why: String,
    },
    /// The spec cannot be built.
    #[error("the testbed cannot be built: {0}")]
    Spec(String),
    /// Namespaces are forbidden.
    #[error(
        "cannot make a network namespace: {0}; run as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Namespace(io::Error),
    /// A required program could not be started.
    #[error("cannot start {program}: {source}; install {package}")]
    Program {
        /// The program.
        program: &'static str,
        /// Debian package that contains it.
        package: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// A set-up step was refused.
    #[error("cannot {what}: {message}; {advice}")]
    Setup {
        /// The step.
        what: String,
        /// Error of the program or kernel.
        message: String,
        /// Advice.
        advice: &'static str,
    },
    /// The rate of a medium cannot be changed.
    #[error("the medium cannot be slowed: {0}")]
    Speed(String),
    /// The host does not exist.
    #[error("there is no host {name:?}; this testbed has {known}")]
    Host {
        /// Requested name.
        name: String,
        /// Known names.
        known: String,
    },
    /// A named testbed cannot be found or created.
    #[error("testbed {name:?}: {message}")]
    Named {
        /// Its name.
        name: String,
        /// Cause and advice.
        message: String,
    },
}

/// Result of this crate.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

pub(crate) fn setup(what: impl Into<String>, advice: &'static str) -> impl FnOnce(io::Error) -> TestbedError {
    let what = what.into();
    move |e| TestbedError::Setup { what, message: e.to_string(), advice }
}
