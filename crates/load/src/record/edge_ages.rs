//! Ages of requests at the two edges of the measured window.

use std::ops::Range;

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
    /// Adds the ages of a request that was in flight at both edges of the measured window. `ages_ns` contains the ages
    /// at the start and at the end of the window.
    pub(super) fn add(&mut self, ages_ns: Range<u64>) {
        self.carried_in.record_ns(ages_ns.start);
        self.under_way.record_ns(ages_ns.end);
    }

    /// Removes the ages in `others` from the ages in `self`.
    pub(super) fn take_back(&mut self, others: &Self) {
        self.under_way.take_back(&others.under_way);
        self.carried_in.take_back(&others.carried_in);
    }
}
