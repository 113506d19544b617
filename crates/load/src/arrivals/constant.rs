//! Arrivals with equal gaps.

use fastrand::Rng;

use super::row::{ArrivalSpec, Gaps};

/// Row of arrivals with equal gaps in [`ARRIVALS`](super::ARRIVALS).
pub(super) const SPEC: ArrivalSpec =
    ArrivalSpec { name: "constant", help: "equal gaps, also over all threads together", parameters: &[] };

/// Arrivals with equal gaps.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    gap_ns: f64,
}

impl Constant {
    pub(super) fn new(rate_ns: f64, _: &mut Rng) -> Self {
        Self { gap_ns: 1.0 / rate_ns }
    }
}

impl Gaps for Constant {
    fn begin_ns(&self, phase: f64) -> f64 {
        (phase - 1.0) * self.gap_ns
    }

    #[inline]
    fn gap_ns(&mut self, _: f64, _: &mut Rng) -> f64 {
        self.gap_ns
    }
}
