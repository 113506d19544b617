//! What can go wrong when a testbed is made: what was tried, what happened, what to do.

use std::io;

/// Why a testbed could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The medium's text does not name one.
    #[error("{text:?} is not a medium: {why}; `loadline list media` shows them all")]
    Medium {
        /// What was given.
        text: String,
        /// What does not fit.
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
    /// A program that is needed could not be started.
    #[error("cannot start {program}: {source}; install {package}")]
    Program {
        /// The program.
        program: &'static str,
        /// Debian package that holds it.
        package: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A set-up step was refused.
    #[error("cannot {what}: {message}; {advice}")]
    Setup {
        /// The step.
        what: String,
        /// What the program or kernel said.
        message: String,
        /// What to do.
        advice: &'static str,
    },
    /// The rate of a medium stays as it is.
    #[error("the medium cannot be slowed: {0}")]
    Speed(String),
    /// No such host.
    #[error("there is no host {name:?}; this testbed has {known}")]
    Host {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A named testbed cannot be found or made.
    #[error("testbed {name:?}: {message}")]
    Named {
        /// Its name.
        name: String,
        /// What happened and what to do.
        message: String,
    },
}

/// Result of this crate.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

pub(crate) fn setup(what: impl Into<String>, advice: &'static str) -> impl FnOnce(io::Error) -> TestbedError {
    let what = what.into();
    move |e| TestbedError::Setup { what, message: e.to_string(), advice }
}
