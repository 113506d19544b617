//! How a queue is to be made.

use crate::Backend;

/// What revoking does in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Revocation {
    /// The registration is taken out at once: no wake-up comes any more, each change costs a call.
    #[default]
    Eager,
    /// The registration stays and what it reports is left out: interest toggles cheaply, as in the source, and
    /// arrivals meanwhile cost wake-ups. Such a descriptor must be given to [`EventQueue::forget`] before its close.
    Lazy,
}

/// How a queue is to be made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The mechanism.
    pub backend: Backend,
    /// What revoking does.
    pub revocation: Revocation,
    /// Look at the state again when an event is delivered (unless it is sure, see [`EventQueue::drained`]). Only io_uring
    /// has the choice: `false` makes a call cheaper there, and every event a hint that names all declared kinds.
    pub recheck: bool,
}

impl Options {
    /// A queue on `backend` with eager revocation, looking again at delivery.
    #[must_use]
    pub const fn new(backend: Backend) -> Self {
        Self { backend, revocation: Revocation::Eager, recheck: true }
    }

    /// With this kind of revocation.
    #[must_use]
    pub const fn revocation(mut self, revocation: Revocation) -> Self {
        self.revocation = revocation;
        self
    }

    /// With or without the second look at delivery.
    #[must_use]
    pub const fn recheck(mut self, recheck: bool) -> Self {
        self.recheck = recheck;
        self
    }
}
