//! What can go wrong, with what was tried and what to do.

use std::io;
use std::os::fd::RawFd;

/// What this library returns.
pub type Result<T> = std::result::Result<T, EventError>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The kernel does not give what the back end needs.
    #[error("the {backend} event queue could not be made: {source}; choose another back end, epoll works everywhere")]
    Create {
        /// Name of the back end.
        backend: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no such back end.
    #[error("there is no event back end {name:?}; there are: {known}")]
    UnknownBackend {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The interest was not taken; what held before is gone too.
    #[error("interest in descriptor {fd} could not be declared: {source}; is it open, and a socket or a pipe?")]
    Declare {
        /// The descriptor.
        fd: RawFd,
        /// What the kernel said.
        source: io::Error,
    },
    /// Waiting failed.
    #[error("waiting for events failed: {source}")]
    Wait {
        /// What the kernel said.
        source: io::Error,
    },
}

impl EventError {
    /// The kernel's error number, 22 (EINVAL) where the kernel was not asked.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::Create { source, .. } | Self::Declare { source, .. } | Self::Wait { source } => {
                source.raw_os_error().unwrap_or(22)
            }
            Self::UnknownBackend { .. } => 22,
        }
    }

    pub(crate) fn declare(fd: RawFd, errno: sys::Errno) -> Self {
        Self::Declare { fd, source: errno.into() }
    }

    pub(crate) fn wait(errno: sys::Errno) -> Self {
        Self::Wait { source: errno.into() }
    }
}
