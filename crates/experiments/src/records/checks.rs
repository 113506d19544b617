//! Checks that the two studies of reading records have in common.

use run::Relation::Equals;
use run::{Check, Trial};

use super::derive;

/// Checks that the server read no record from its disk, as in both studies. The checked value is the largest number of
/// disk reads per record in any trial.
pub(super) fn no_disk(trials: &[Trial]) -> Check {
    let reads = |t: &Trial| derive::cost(t.server.as_ref(), "disk_reads").unwrap_or(f64::NAN);
    let most = trials.iter().map(reads).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) });
    Check::new("records from the server's disk a read", most, Equals, 0.0)
}

/// Checks that the verdict agrees with the utilisation of the wire. Returns `None` if the wire was neither clearly full
/// nor clearly below its limit.
pub(super) fn wire_and_verdict(wire_use: f64, verdict: &str) -> Option<Check> {
    let medium = verdict == "network-medium";
    let holds = |right: bool| f64::from(u8::from(right));
    if wire_use.is_nan() || wire_use < 0.667 {
        Some(Check::new("the wire is not full, and the verdict is not network-medium", holds(!medium), Equals, 1.0))
    } else if wire_use >= 0.9 {
        Some(Check::new("the wire is full, and the verdict is network-medium", holds(medium), Equals, 1.0))
    } else {
        None
    }
}
