//! Ages of the requests that hung from before the measured window until the end of the drain.

use run::Hist;

/// Ages of these requests, as they were recorded at the edges of the window.
#[derive(Debug, Default)]
pub(super) struct HungAges {
    /// Ages at the end of the window.
    pub(super) under_way: Hist,
    /// Ages at the start of the window.
    pub(super) carried_in: Hist,
}
