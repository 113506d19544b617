//! Pairs of windows of two live servers, measured directly after each other or at the same time. Other programs and
//! slow changes of the machine affect both windows of a pair alike.
//!
//! If the figures of both servers certainly rise and fall together, the differences within pairs are the observations.
//! Whatever affects both windows of a pair disappears in their difference. If the figures of both servers are
//! independent of each other, pairing would only halve the degrees of freedom.

use std::collections::BTreeMap;

use run::NeededData;

use super::observations::{Cell, Pairing, Uncertainty};
use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};
use stats::Sample;
use stats::student::two_sided;
use stats::two_means::{Trimmed, correlation};

/// Returns the new value minus the old value for each pair of windows. Returns `None` if the values of both servers may
/// be independent, if the windows have no pairs, or if there are several conditions.
pub(super) fn differences(cells: &[Cell], pairing: Pairing) -> Option<Vec<f64>> {
    let [[old, new]] = cells else { return None };
    if !pairing.has_pairs() {
        return None;
    }
    let new: BTreeMap<usize, f64> = new.iter().map(|observation| (observation.turn, observation.ln)).collect();
    let pairs: Vec<(f64, f64)> = old.iter().filter_map(|one| Some((one.ln, *new.get(&one.turn)?))).collect();
    move_together(&pairs).then(|| pairs.iter().map(|(old, new)| new - old).collect())
}

/// Returns true if the correlation of the pairs is significantly above 0 (Student's test, at the significance level of
/// comparisons).
fn move_together(pairs: &[(f64, f64)]) -> bool {
    let (r, freedom) = (correlation(pairs), pairs.len().saturating_sub(2) as f64);
    let t = r * (freedom / (1.0 - r * r)).sqrt();
    // The test is one-sided, so half of the two-sided probability is compared with the significance level.
    pairs.len() >= FEWEST_WINDOWS && r > 0.0 && two_sided(t, freedom).midpoint(0.0) < COMPARE_LEVEL
}

/// Returns the uncertainty of the difference between two servers that were compared several times, with new processes
/// each time. Each comparison is one observation, so slow changes of the machine between the comparisons cancel. Each
/// side has one value for each comparison, by the index of the comparison.
pub(super) fn by_comparisons([old, new]: &[BTreeMap<usize, f64>; 2]) -> Option<Uncertainty> {
    let both = old.iter().filter_map(|(comparison, old)| Some(new.get(comparison)? - old));
    let differences: Vec<f64> = both.collect();
    let sample = Sample::of(&differences).filter(|_| differences.len() >= FEWEST_WINDOWS)?;
    Some(Uncertainty { error: sample.error(), freedom: sample.n - 1.0, between: 0.0, of: NeededData::Runs })
}

/// Returns the uncertainty of the trimmed mean of the differences, from Yuen's winsorized variance.
pub(super) fn uncertainty(differences: &[f64]) -> Option<Uncertainty> {
    let trimmed = Trimmed::of(differences);
    let (error, freedom, of) = (trimmed.error(), trimmed.freedom(), NeededData::Windows);
    (freedom >= 1.0).then_some(Uncertainty { error, freedom, between: 0.0, of })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::contrast::contrast;
    use crate::compare::observations::Observation;
    use stats::normal;

    /// Simulates `n` windows of each of two servers. Before each window, the machine's speed takes a random step with
    /// the standard deviation `wander`. The logarithms of the second server's measured values are higher by `apart`.
    fn cell(random: &mut fastrand::Rng, n: usize, wander: f64, apart: f64) -> Cell {
        let (mut speed, mut cell) = (0.0, [Vec::new(), Vec::new()]);
        for turn in 0..n {
            for side in [turn % 2, 1 - turn % 2] {
                speed += wander * normal(random);
                let ln = speed + 0.01 * normal(random) + apart * side as f64;
                cell[side].push(Observation { unit: 0, turn, others: None, ln });
            }
        }
        cell
    }

    #[test]
    fn trimmed_pairs_have_one_degree_of_freedom_less() {
        let found = uncertainty(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        // Trimming leaves five of the seven differences. The winsorized squares are 2 * 4 + 2 * 4 + 2 * 1 = 18.
        assert_eq!(found.freedom, 3.0);
        assert!((found.error - (18.0_f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn noise_that_both_sides_share_cancels_in_pairs() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut paired = 0;
        for _ in 0..200 {
            let wanders = cell(&mut random, 20, 0.02, 0.05);
            let apart = contrast(&[wanders], Pairing::InTurns).unwrap();
            assert!(apart.uncertainty.unwrap().error < 0.02, "{apart:?}");
            let still = cell(&mut random, 20, 0.0, 0.05);
            paired += usize::from(differences(std::slice::from_ref(&still), Pairing::InTurns).is_some());
            assert_eq!(differences(&[still], Pairing::Kept), None);
        }
        // For independent servers, the test finds a correlation by chance in 5 of 100 comparisons.
        assert!(paired <= 20, "{paired} of 200");
    }
}
