//! Marks that several charts share: the limits of the objective, and the capacity.

use run::{Capacity, Run, TrialKind};

use super::rate;
use crate::Unit;
use crate::plot::{Hue, Mark, Spot};
use run::number::quantity;

/// Returns marks for the objective's limits on the response time. The limit on p50 has the colour of the p50 line, and
/// the limit on p99 has the colour of the p99 line.
pub(super) fn objectives(run: &Run) -> Vec<Mark> {
    let limits = &run.findings.limits;
    let named = [
        ("p50", limits.p50_us, Hue::Main),
        ("mean", limits.mean_us, Hue::Quiet),
        ("p99", limits.p99_us, Hue::Second),
        ("p99.9", limits.p99_9_us, Hue::Quiet),
    ];
    let mark = |name, us, hue| Mark::new(Spot::Y(us), format!("{name} at most {}", quantity(us, Unit::Micros)), hue);
    named.into_iter().filter_map(|(name, us, hue)| Some(mark(name, us?, hue))).collect()
}

/// Returns the mark at the capacity, for an axis of offered rates. The label of a lower bound says that it is one.
pub(super) fn capacity(found: &Capacity) -> Mark {
    let least = if found.at_least { "at least " } else { "" };
    Mark::new(Spot::X(found.rate), format!("capacity {least}{}/s", rate::rate(found)), Hue::Alarm)
}

/// Returns true if the capacity was found in an open loop.
pub(super) fn in_open_loop(run: &Run) -> bool {
    run.picked(|p| p.at_capacity).is_some_and(|t| t.kind == TrialKind::Search)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_lower_bound_says_so() {
        let label = |at_least| capacity(&Capacity { rate: 705.0, held: true, at_least, ..Capacity::default() }).label;
        assert_eq!([true, false].map(label), ["capacity at least 705/s", "capacity 705/s"]);
    }
}
