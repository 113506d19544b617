//! Function that makes one row of the counter table.

use crate::recording::counter_spec::{Aggregation, CounterSpec, Kind, Unit};

/// Returns a row whose counter is the sum over its instances.
pub(super) const fn c(
    id: &'static str,
    object: &'static str,
    unit: Unit,
    kind: Kind,
    help: &'static str,
) -> CounterSpec {
    CounterSpec { id, object, unit, kind, together: Aggregation::Sum, help }
}
