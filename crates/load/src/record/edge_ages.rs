//! Ages of requests at the two edges of the measured window.

use run::Hist;

/// Ages of some requests at the edges of the measured window. The ages are also in the histograms `under_way` and
/// `carried_in` of the record.
#[derive(Debug, Default)]
pub(super) struct EdgeAges {
    /// Ages at the end of the measured window.
    pub(super) under_way: Hist,
    /// Ages at the start of the measured window.
    pub(super) carried_in: Hist,
}

impl EdgeAges {
    /// Removes the ages of other requests.
    pub(super) fn take_back(&mut self, others: &Self) {
        self.under_way.take_back(&others.under_way);
        self.carried_in.take_back(&others.carried_in);
    }
}
