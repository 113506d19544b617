//! Minimum size of a group that counts as a pool.

use crate::thresholds::WAIT_FEW;

/// Minimum mean number of members of a group that counts as a pool. One connection is not a pool, because it may carry
/// many requests at once, and neither is one thread.
pub(super) const MIN_MEMBERS: f64 = 2_f64 - WAIT_FEW;
