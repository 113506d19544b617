//! Checks that both studies have in common.

use run::Relation::Equals;
use run::{Check, Trial};

use super::derive;

/// Checks that no record came from a disk, as in both published studies. The value is the largest share of records in a
/// trial that came from a disk.
pub(super) fn no_disk(trials: &[Trial]) -> Check {
    let reads = |t: &Trial| derive::cost(t.server.as_ref(), "disk_reads").unwrap_or(f64::NAN);
    let most = trials.iter().map(reads).fold(0.0, |a, b| if b.is_nan() { f64::NAN } else { f64::max(a, b) });
    Check::new("records from the server's disk a read", most, Equals, 0.0)
}

/// Checks the verdict against the utilization of the wire, if the medium is the published one.
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
