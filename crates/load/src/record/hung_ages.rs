//! Ages of hung requests, which were in flight from before the measured window until the end of the drain.

use run::Hist;

/// Ages of hung requests. The ages of hung requests are also in the histograms `under_way` and `carried_in` of the
/// record.
#[derive(Debug, Default)]
pub(super) struct HungAges {
    /// Ages at the end of the measured window.
    pub(super) under_way: Hist,
    /// Ages at the start of the measured window.
    pub(super) carried_in: Hist,
}
