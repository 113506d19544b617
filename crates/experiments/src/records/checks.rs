//! Checks that the two studies of reading records have in common.

use run::Relation::Equals;
use run::{Check, Trial};

use super::derive;

/// Checks that the server read no record from its disk, as in both studies. The checked value is the largest number of
/// disk reads per record in any trial. If the server's file system does not tell where records were, the value is NaN.
pub(super) fn no_disk(trials: &[Trial]) -> Check {
    let cost = |t: &Trial, id| derive::cost(t.server.as_ref(), id);
    let is_known = |t: &Trial, reads: f64| reads > 0.0 || cost(t, "cache_hits") != Some(0.0);
    let reads = |t: &Trial| cost(t, "disk_reads").filter(|reads| is_known(t, *reads)).unwrap_or(f64::NAN);
    let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    let most = trials.iter().map(reads).fold(0.0, larger);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(hits: f64, reads: f64) -> Trial {
        let mut side = run::Side::default();
        for (id, value) in [("cache_hits", hits), ("disk_reads", reads)] {
            let per_request = run::Reading::Value(value);
            side.costs.insert(id.into(), run::Cost { per_request, unit: run::FigureUnit::Plain });
        }
        Trial { server: Some(side), ..Trial::default() }
    }

    #[test]
    fn an_unknown_origin_of_records_is_not_the_cache() {
        let value = |trials: &[Trial]| no_disk(trials).value;
        assert_eq!(value(&[trial(1.0, 0.0), trial(0.9, 0.1)]), 0.1);
        assert_eq!(value(&[trial(1.0, 0.0)]), 0.0);
        assert!(value(&[trial(0.0, 0.0), trial(1.0, 0.0)]).is_nan());
    }
}
