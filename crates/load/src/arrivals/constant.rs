//! Equal gaps.

/// Equal gaps.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    gap_ns: f64,
}

impl Constant {
    pub(super) fn new(rate_ns: f64) -> Self {
        Self { gap_ns: 1.0 / rate_ns }
    }

    #[inline]
    pub(super) fn gap_ns(&self) -> f64 {
        self.gap_ns
    }
}
