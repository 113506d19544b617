//! Lower bound of the capacity: the second-highest rate at which a measured window met the objective.

use run::{Limits, Trial};

use crate::estimate::objective::holds;

/// Returns the second-highest rate at which a window of the search met the objective. Only rates below the lowest rate
/// that missed the objective are considered. Returns 0 if fewer than two windows met the objective at a rate below the
/// lowest rate that missed it.
///
/// If only a few answers in each window are late, the estimate of the queueing model is uncertain. An uncertain
/// estimate may be below rates at which all windows met the objective.
pub(super) fn held_twice(search: &[&Trial], limits: &Limits) -> f64 {
    let offered = |t: &Trial| t.rates.offered_rate;
    let (held, broke): (Vec<&Trial>, Vec<&Trial>) = search.iter().partition(|t| holds(t, limits));
    let lowest = broke.into_iter().map(offered).fold(f64::INFINITY, f64::min);
    let mut rates: Vec<f64> = held.into_iter().map(offered).filter(|rate| *rate < lowest).collect();
    rates.sort_by(|a, b| b.total_cmp(a));
    rates.get(1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use crate::planted::PlantedRun;

    /// In this case, observed on a real server, windows at 248 to 297 requests/s met the objective, and a window at 357
    /// requests/s did not. An earlier version of loadline reported a capacity of 277/s, below a rate that had met the
    /// objective.
    #[test]
    fn two_windows_that_held_are_below_the_capacity() {
        let of = |rates: &[f64]| {
            let run = PlantedRun::new(20_000.0, 200.0).rates(rates).run();
            let facts = Facts::of(&run);
            held_twice(&facts.search, &facts.limits)
        };
        assert!((of(&[0.5, 0.8, 0.9, 1.15]) - 160.0).abs() < 1e-9);
        assert_eq!(of(&[0.5, 1.15]), 0.0, "one window may hold by chance");
    }
}
