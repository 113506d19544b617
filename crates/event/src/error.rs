//! Errors of the event library. The text of each error says which action failed, and most texts give advice.

use std::io;
use std::os::fd::RawFd;

/// Result type of this library.
pub type Result<T> = std::result::Result<T, EventError>;

/// Reason why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// A queue or a group could not be created, or a queue could not join a group. A possible reason is that the kernel
    /// lacks a feature that the backend needs.
    #[error("the {backend} event queue could not be made: {source}; choose another back end, epoll works everywhere")]
    Create {
        /// Name of the backend; `group` if a group could not be created.
        backend: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// There is no backend with this name.
    #[error("there is no event back end {name:?}; there are: {known}")]
    UnknownBackend {
        /// Name that the caller gave.
        name: String,
        /// Names of all backends, for the error message.
        known: String,
    },
    /// The kernel rejected the declared interest. An earlier interest in the descriptor may have ended, too.
    #[error("interest in descriptor {fd} could not be declared: {source}; is it open, and a socket or a pipe?")]
    Declare {
        /// Descriptor in which interest could not be declared.
        fd: RawFd,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A wait failed.
    #[error("waiting for events failed: {source}")]
    Wait {
        /// Error of the kernel.
        source: io::Error,
    },
}

impl EventError {
    /// Returns the kernel's error number, or 22 (EINVAL) if no system call was made.
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
