//! Interim analyses ("looks") of a running experiment. Every interim analysis may be wrong by chance, so early ones
//! need clearer results (the bounds of O'Brien and Fleming). With these bounds, all interim analyses together are wrong
//! in one of twenty experiments, as often as a single analysis at the end. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.
//!
//! Source: C. Jennison and B. Turnbull, *Group sequential methods* (2000), table 2.3.

use run::{Estimate, ProofTrial};
use stats::student::t95;

use super::estimate;
use crate::thresholds::MOST;

/// Maximum number of looks in an experiment.
pub const MAX_LOOKS: usize = 4;
/// O'Brien-Fleming bound of the last look, for experiments with one to four looks, in standard errors. The bound of
/// look k of K is larger by the factor √(K/k).
const LAST_BORDER: [f64; MAX_LOOKS] = [1.960, 1.977, 2.004, 2.024];
/// Half-width of an ordinary 95 % interval, in standard errors.
const USUAL_BORDER: f64 = 1.960;
/// Returns true if the time slots so far certainly show that the first lever's resource explains more than half of the
/// throughput, or less. The current look (interim analysis) is number `look` of `looks`. The experiment ends after the
/// last look (interim analysis) in any case.
pub fn is_known(trial: &ProofTrial, look: usize, looks: usize) -> bool {
    let found = estimate(trial).ok().and_then(|found| found.elasticities.first().copied());
    found.is_some_and(|found| {
        let sure = stretched(&found, look, looks, trial.completed_rate.len());
        sure.low > MOST || sure.high < MOST
    })
}

/// Number of parameters of an estimate with one lever: the level of the throughput, and the lever's effects in its own
/// and in the following time slot.
const PARAMETERS: f64 = 3.0;

/// Widens a 95 % interval to the interval that this look (interim analysis) requires. Student's t distribution accounts
/// for a small number of time slots.
fn stretched(found: &Estimate, look: usize, looks: usize, slots: usize) -> Estimate {
    let few = t95((slots as f64 - PARAMETERS).max(1.0)) / USUAL_BORDER;
    let (look, looks) = (look.clamp(1, MAX_LOOKS), looks.clamp(1, MAX_LOOKS));
    let border = LAST_BORDER[looks - 1] * (looks as f64 / look.min(looks) as f64).sqrt();
    Estimate::around(found.value, found.half() * few * border / USUAL_BORDER)
}

#[cfg(test)]
mod tests {
    use run::LeverSlots;
    use stats::normal;

    use super::*;

    const SLOTS: usize = 18;

    /// Adds time slots to a trial. The lever takes half of a resource that has the elasticity `elasticity`.
    fn round(trial: &mut ProofTrial, elasticity: f64, noise: f64, random: &mut fastrand::Rng) {
        for _ in 0..SLOTS {
            let on = random.bool();
            let speed: f64 = if on { 0.5 } else { 1.0 };
            trial.completed_rate.push(10.0 / (elasticity / speed + 1.0 - elasticity) * (noise * normal(random)).exp());
            trial.levers[0].on.push(on);
            trial.levers[0].speed.push(speed);
        }
    }

    /// Returns the number of looks until the end, and the decision: true for an elasticity above one half; `None`
    /// without a decision.
    fn experiment(elasticity: f64, noise: f64, looks: usize, seed: u64) -> (usize, Option<bool>) {
        let mut random = fastrand::Rng::with_seed(seed);
        let lever = LeverSlots { lever: "server-cpu".into(), ..LeverSlots::default() };
        let mut trial = ProofTrial { levers: vec![lever], ..ProofTrial::default() };
        for look in 1..=looks {
            round(&mut trial, elasticity, noise, &mut random);
            if is_known(&trial, look, looks) {
                return (look, Some(estimate(&trial).unwrap().elasticities[0].value > MOST));
            }
        }
        (looks, None)
    }

    #[test]
    fn several_looks_are_wrong_no_more_often_than_one() {
        for (noise, looks) in [(0.15, 4), (0.3, 4), (0.3, 2), (0.5, 3)] {
            let all: Vec<_> = (0..400).map(|seed| experiment(MOST, noise, looks, seed)).collect();
            let wrong = all.iter().filter(|(_, decided)| decided.is_some()).count();
            assert!(wrong <= 28, "noise {noise}, {looks} looks: {wrong} of 400 decided where the truth is the border");
        }
    }

    #[test]
    fn clear_experiments_end_early_with_the_right_answer() {
        for truth in [0.0, 1.0] {
            let all: Vec<_> = (0..400).map(|seed| experiment(truth, 0.12, MAX_LOOKS, seed)).collect();
            let right = all.iter().filter(|(_, decided)| *decided == Some(truth > MOST)).count();
            let wrong = all.iter().filter(|(_, decided)| *decided == Some(truth < MOST)).count();
            let rounds: usize = all.iter().map(|(rounds, _)| rounds).sum();
            assert!(right >= 360 && wrong <= 4, "{truth}: {right} right, {wrong} wrong of 400");
            assert!(rounds <= 400 * 3, "{rounds} rounds");
        }
    }

    #[test]
    fn early_borders_are_further_out() {
        let half = |look, looks| stretched(&Estimate::around(1.0, 1.96), look, looks, 100_000).half();
        assert!((half(1, 1) - 1.96).abs() < 1e-3 && (half(4, 4) - 2.024).abs() < 1e-3);
        assert!((half(1, 4) - 4.048).abs() < 1e-3 && (half(2, 4) - 2.862).abs() < 1e-3);
    }
}
