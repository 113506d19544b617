//! Options of a queue.

use crate::Backend;

/// Decides what happens to the registration in the kernel when an interest is revoked. Only the backends epoll and
/// io_uring use the option `revocation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Revocation {
    /// Removes the registration in the kernel, so that events without interest cause no wake-ups. Each change of an
    /// interest costs a system call with epoll, and a request to the kernel with io_uring.
    #[default]
    Eager,
    /// Keeps the descriptor registered in the kernel, but suppresses its events. Switching an interest off and on is
    /// cheap, as in the paper by Banga, Mogul and Druschel. However, events that arrive while the interest is switched
    /// off cause needless wake-ups. Call [`EventQueue::forget`] before closing a descriptor.
    Lazy,
}

/// Options of a queue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Kernel mechanism that the queue uses.
    pub backend: Backend,
    /// Effect of revoking an interest.
    pub revocation: Revocation,
    /// True to check the current state at delivery, unless [`EventQueue::drained`] makes the check unnecessary. Only
    /// the backend io_uring uses the option `recheck`. If `recheck` is `false`, delivery is cheaper, but every event
    /// names all declared kinds, and may be outdated.
    pub recheck: bool,
}

impl Options {
    /// Creates options for `backend`, with eager revocation and a check of the state at delivery.
    #[must_use]
    pub const fn new(backend: Backend) -> Self {
        Self { backend, revocation: Revocation::Eager, recheck: true }
    }

    /// Sets the effect of revoking an interest.
    #[must_use]
    pub const fn revocation(mut self, revocation: Revocation) -> Self {
        self.revocation = revocation;
        self
    }

    /// Switches the check of the state at delivery on or off.
    #[must_use]
    pub const fn recheck(mut self, recheck: bool) -> Self {
        self.recheck = recheck;
        self
    }
}
