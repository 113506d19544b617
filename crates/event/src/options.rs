//! Options of a queue.

use crate::Backend;

/// Effect of revoking in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Revocation {
    /// Removes the registration at once: no more wake-ups, but each change costs a call.
    #[default]
    Eager,
    /// Keeps the registration and suppresses its reports. Interest toggles cheaply, as in the source, but arrivals
    /// meanwhile cost wake-ups. Call [`EventQueue::forget`] before such a descriptor is closed.
    Lazy,
}

/// Options of a queue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The mechanism.
    pub backend: Backend,
    /// Effect of revoking.
    pub revocation: Revocation,
    /// Check the state again when an event is delivered (unless certain, see [`EventQueue::drained`]). Only io_uring
    /// has the choice. There `false` makes a call cheaper, and every event a hint that names all declared kinds.
    pub recheck: bool,
}

impl Options {
    /// Creates options for `backend` with eager revocation and a check at delivery.
    #[must_use]
    pub const fn new(backend: Backend) -> Self {
        Self { backend, revocation: Revocation::Eager, recheck: true }
    }

    /// Sets the kind of revocation.
    #[must_use]
    pub const fn revocation(mut self, revocation: Revocation) -> Self {
        self.revocation = revocation;
        self
    }

    /// Sets the second check at delivery.
    #[must_use]
    pub const fn recheck(mut self, recheck: bool) -> Self {
        self.recheck = recheck;
        self
    }
}
