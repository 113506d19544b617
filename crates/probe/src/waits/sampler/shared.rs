//! State that the sampler of waiting threads shares with its own thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use run::WaitProfile;

/// Requests of the sampler's owner to the sampling thread, and the thread's answers.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) stop: bool,
    pub(super) profile: WaitProfile,
    /// True while a caller waits for the profile.
    pub(super) wanted: bool,
    /// Number of calls of `WaitSampler::edge` so far.
    pub(super) edges: u32,
}

pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
