//! Errors of building and using testbeds. Each error text says which action failed and why. Most error texts also say
//! what to do.

use std::io;

/// Reason why a testbed could not be created or used.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The text that describes a medium (a simulated network) is invalid.
    #[error("{text:?} is not a medium: {why}; `loadline list media` shows them all")]
    Medium {
        /// Text of a medium that is invalid.
        text: String,
        /// Reason why the text of the medium is invalid.
        why: String,
    },
    /// No testbed can be built as described ([`Spec`](crate::Spec)).
    #[error("the testbed cannot be built: {0}")]
    Spec(String),
    /// The caller may not create network namespaces.
    #[error(
        "cannot make a network namespace: {0}; run as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Namespace(io::Error),
    /// A required program could not be started.
    #[error("cannot start {program}: {source}; install {package}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// Debian package that contains the program.
        package: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The kernel or a program refused a step of building the testbed.
    #[error("cannot {what}: {message}; {advice}")]
    Setup {
        /// The step, as words that complete "cannot …", such as "open a socket".
        what: String,
        /// Error message of the kernel or of the program.
        message: String,
        /// Advice to the user.
        advice: &'static str,
    },
    /// The rate of the medium cannot be changed.
    #[error("the medium cannot be slowed: {0}")]
    Speed(String),
    /// There is no host of the given name.
    #[error("there is no host {name:?}; this testbed has {known}")]
    Host {
        /// Name that the caller asked for.
        name: String,
        /// Names of all hosts, for the error message.
        known: String,
    },
    /// An operation on a named testbed failed, for example because there is no such testbed.
    #[error("testbed {name:?}: {message}")]
    Named {
        /// Name of the testbed.
        name: String,
        /// Cause of the failure, and advice.
        message: String,
    },
}

/// Result type of this crate's functions.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

pub(crate) fn setup(what: impl Into<String>, advice: &'static str) -> impl FnOnce(io::Error) -> TestbedError {
    let what = what.into();
    move |e| TestbedError::Setup { what, message: e.to_string(), advice }
}
