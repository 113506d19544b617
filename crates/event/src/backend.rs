//! Kernel mechanisms with which an event queue can wait for events. [`BACKENDS`] has one entry per mechanism.

use crate::{EventError, Result};

/// A kernel mechanism that reports events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Edge-triggered epoll. Measurements compare all other backends with edge-triggered epoll.
    Epoll,
    /// io_uring multishot polls, with a queue of hints (possible events) in user space.
    Uring,
    /// poll(2) over all descriptors in every call.
    Poll,
    /// select(2) over all descriptors in every call, without the usual limit of 1024 descriptors.
    Select,
}

/// Entry of [`BACKENDS`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BackendSpec {
    /// Name by which options select the backend.
    pub name: &'static str,
    /// Description for help texts, in one line.
    pub help: &'static str,
    /// Backend that the table entry describes.
    pub backend: Backend,
    /// True if events are delivered in the order of arrival. False if each call scans the declared descriptors,
    /// beginning where the scan of the previous call stopped.
    pub fifo: bool,
    /// True if calls report a descriptor as long as it stays ready (level-triggered). False if calls report only new
    /// arrivals (edge-triggered).
    pub level: bool,
}

/// All backends of the event library.
pub const BACKENDS: &[BackendSpec] = &[
    BackendSpec {
        name: "epoll",
        help: "edge-triggered epoll, the reference: a wait costs what it delivers",
        backend: Backend::Epoll,
        fifo: true,
        level: false,
    },
    BackendSpec {
        name: "uring",
        help: "io_uring multishot polls, hints queued in user space, declarations in batches",
        backend: Backend::Uring,
        fifo: true,
        level: false,
    },
    BackendSpec {
        name: "poll",
        help: "baseline: poll(2) over all descriptors, a wait costs what is declared",
        backend: Backend::Poll,
        fifo: false,
        level: true,
    },
    BackendSpec {
        name: "select",
        help: "baseline: select(2) with bitmaps of any width, a wait costs the highest descriptor",
        backend: Backend::Select,
        fifo: false,
        level: true,
    },
];

impl Backend {
    /// Returns the table entry of a backend.
    #[must_use]
    pub fn spec(self) -> &'static BackendSpec {
        BACKENDS.iter().find(|row| row.backend == self).unwrap_or(&BACKENDS[0])
    }

    /// Returns the backend called `name`.
    pub fn named(name: &str) -> Result<Self> {
        BACKENDS.iter().find(|row| row.name == name).map(|row| row.backend).ok_or_else(|| EventError::UnknownBackend {
            name: name.into(),
            known: BACKENDS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
        })
    }
}
