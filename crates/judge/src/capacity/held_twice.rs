//! Lowest capacity that the windows of a search allow.

use run::{Limits, Trial};

use crate::objective::holds;

/// Returns the second-highest rate of the search that held the objective, below all rates that did not hold it; 0
/// without two such rates. If only a few answers in each window are late, the queueing model is uncertain. Its best
/// estimate may then lie below the rates of windows that all held the objective.
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

    /// Seen live: windows at 248 to 297/s held the objective, and one at 357/s did not. Loadline reported a capacity of
    /// 277/s, below a rate that had held.
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
