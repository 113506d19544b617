//! Upper bound of the capacity without a model: each window of a search either met the objective or clearly missed it.
//!
//! A model may put the capacity far above the rates that met the objective. On a machine with a changing speed, the
//! estimate mostly follows the closed loop, which may have run at a faster moment.

use stats::shares::chance_above_half;
use stats::{NORMAL_95, normal_tail};

use super::chance::chance_of;
use super::left_out::{is_beyond_disturbance, left_out};
use super::neighbours::UsualShare;
use super::pooled::Pooled;
use crate::Facts;
use crate::estimate::objective::holds;
use crate::thresholds::{FAILURES_BELOW, LIKELY_HELD};

/// Offered rates of the windows of a search. A window that missed the objective, but not clearly, is not used.
#[derive(Default)]
pub(super) struct Votes {
    /// Rates at which a window met the objective, at least in its undisturbed time.
    held: Vec<f64>,
    /// Rates at which a window clearly missed the objective.
    failed: Vec<f64>,
    /// Failed rates that are certain: no disturbance explains the failure, and the chance that the rate meets the
    /// objective is so small that a 95 % interval excludes it.
    surely_failed: Vec<f64>,
}

impl Votes {
    /// Counts the windows of a search. `chances` is the result of [`super::chances`] for the run.
    pub(super) fn of(facts: &Facts<'_>, chances: &[Option<f64>]) -> Self {
        let usual = UsualShare::of(facts.run.trials.iter());
        let mut votes = Self::default();
        for trial in facts.search.iter().copied() {
            let (rate, chance) = (trial.rates.offered_rate, chance_of(facts, chances, trial));
            let is_disturbed = || left_out(trial, &facts.limits, usual).seconds > 0.0;
            match (holds(trial, &facts.limits), chance.map(|chance| chance >= LIKELY_HELD)) {
                (true, _) => votes.held.push(rate),
                (false, Some(true)) if is_disturbed() => votes.held.push(rate),
                (false, Some(true)) => {}
                (false, _) => {
                    votes.failed.push(rate);
                    let is_of_load = || !is_disturbed() || is_beyond_disturbance(trial, &facts.limits, usual);
                    let is_certain = chance.is_some_and(|chance| chance < normal_tail(NORMAL_95)) && is_of_load();
                    votes.surely_failed.extend(is_certain.then_some(rate));
                }
            }
        }
        votes
    }

    /// Returns the lowest rate that certainly failed, above all rates at which a window met the objective. Returns
    /// infinity if no rate certainly failed. `speeds` is the standard deviation of the logarithm of the machine's
    /// speed, or 0 if the speed did not change. If the machine's speed changed, a single window may have failed at a
    /// slow moment. At a fast moment, the server may complete more than the rate of this window, and more than `most`,
    /// the highest completed rate. In this case, the result is the larger of these two rates, raised by the scatter of
    /// the speed. An even lower failed rate is returned if so many windows failed at or below it that chance is an
    /// unlikely reason.
    fn lowest_sure_failure(&self, speeds: f64, most: f64) -> f64 {
        let held = self.held.iter().copied().fold(0.0, f64::max);
        let mut rates: Vec<f64> = self.surely_failed.iter().copied().filter(|rate| *rate > held).collect();
        rates.sort_by(f64::total_cmp);
        let is_enough = |failed: u32| 1.0 - chance_above_half(failed, failed) < normal_tail(NORMAL_95);
        let Some(lowest) = rates.first().copied() else { return f64::INFINITY };
        if speeds <= 0.0 {
            return lowest;
        }
        let at_fast_moment = lowest.max(most) * (NORMAL_95 * speeds).exp();
        let of_several = (1..).zip(&rates).find(|(failed, _)| is_enough(*failed)).map(|(_, rate)| *rate);
        of_several.map_or(at_fast_moment, |rate| rate.min(at_fast_moment))
    }

    /// Returns the lowest failed rate that is very probably above the capacity. Clearly more windows failed at or below
    /// this rate than succeeded at or above it: for example, 2 to 0, or 4 to 1. Returns infinity if no failed rate is
    /// very probably above the capacity.
    fn most(&self) -> f64 {
        let is_above = |rate: &f64| self.chance_failed(*rate) >= FAILURES_BELOW;
        self.failed.iter().copied().filter(is_above).fold(f64::INFINITY, f64::min)
    }

    /// Returns the probability that most windows at a rate would fail. Windows that failed below the rate are evidence
    /// for it, and windows that succeeded above the rate are evidence against it.
    fn chance_failed(&self, rate: f64) -> f64 {
        let held = self.held.iter().filter(|one| **one >= rate).count() as u32;
        let failed = self.failed.iter().filter(|one| **one <= rate).count() as u32;
        chance_above_half(failed, held + failed)
    }

    /// Moves an estimate between `least`, a rate that is certainly sustained, and the upper bound of the windows.
    /// `most` is the highest completed rate of any load. Below, the best window is the one with the highest rate that
    /// met the objective.
    ///
    /// - If the machine's speed changed, a failed window below the estimate contradicts the estimate, unless a window
    ///   succeeded at a higher rate. The estimate is then lowered to the rate of the best window.
    /// - The interval always contains the estimate. The upper end of the interval is at least the rate of the best
    ///   window. This rule does not apply to an estimate from overloaded windows, in which a queue may grow before any
    ///   answer is late.
    /// - The interval does not exceed a rate that certainly failed, unless a window succeeded at this rate or above.
    pub(super) fn bound(&self, p: &mut Pooled, (least, most): (f64, f64)) {
        let Some(held) = self.held.iter().copied().reduce(f64::max) else { return };
        let estimate = &mut p.estimate;
        let failed = self.lowest_sure_failure(if estimate.is_unsteady() { estimate.speeds } else { 0.0 }, most);
        // If a rate below the whole interval certainly failed, the model is wrong. The windows bracket the capacity.
        if estimate.low >= failed {
            (estimate.low, estimate.rate, estimate.high) = (held, (held * failed).sqrt(), failed);
            return;
        }
        let bounded = estimate.rate.max(least.min(estimate.high)).min(self.most()).min(failed);
        let is_contradicted = self.failed.iter().any(|failed| (held..=bounded).contains(failed));
        p.is_lowered = estimate.is_unsteady() && is_contradicted && bounded > held;
        estimate.rate = if p.is_lowered { held } else { bounded };
        estimate.low = estimate.low.min(estimate.rate);
        estimate.high = estimate.high.max(if p.of_overloads { estimate.rate } else { held }).min(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::PlantedRun;

    /// Returns an estimate with its interval, on a machine whose speed did not change.
    fn pooled(rate: f64, low: f64, high: f64) -> Pooled {
        let estimate = crate::CapacityEstimate { rate, low, high, steep: f64::INFINITY, speeds: 0.0 };
        Pooled { estimate, beyond: 120.0, windows: 2, of_overloads: false, is_lowered: false, left_out: None }
    }

    #[test]
    fn one_window_of_five_may_have_been_disturbed() {
        let one = Votes { held: vec![150.0, 160.0, 170.0, 180.0], failed: vec![120.0], surely_failed: vec![120.0] };
        assert_eq!((one.most(), one.lowest_sure_failure(0.0, 0.0)), (f64::INFINITY, f64::INFINITY));
        let two = Votes { held: vec![100.0], failed: vec![120.0, 130.0, 140.0], surely_failed: vec![140.0] };
        assert_eq!((two.most(), two.lowest_sure_failure(0.0, 0.0)), (130.0, 140.0));
    }

    /// An earlier version of loadline left 120/s in the interval, although this rate certainly failed.
    #[test]
    fn an_interval_ends_at_a_rate_that_certainly_failed() {
        let mut pooled = pooled(110.0, 90.0, 150.0);
        let votes = Votes { held: vec![100.0], failed: vec![120.0], surely_failed: vec![120.0] };
        votes.bound(&mut pooled, (0.0, 0.0));
        let found = pooled.estimate;
        assert_eq!((found.low, found.rate, found.high), (90.0, 110.0, 120.0));
    }

    /// The model put the capacity between 130/s and 200/s, although 121/s certainly failed. If only the upper end of
    /// the interval were lowered to 121/s, the interval would be empty.
    #[test]
    fn windows_bracket_the_capacity_if_a_rate_below_the_whole_interval_failed() {
        let mut pooled = pooled(150.0, 130.0, 200.0);
        let votes = Votes { held: vec![100.0], failed: vec![121.0], surely_failed: vec![121.0] };
        votes.bound(&mut pooled, (0.0, 110.0));
        let found = pooled.estimate;
        assert_eq!((found.low, found.rate, found.high), (100.0, 110.0, 121.0));
    }

    /// An earlier version of loadline let an interval end at twice the highest completed rate, although windows failed
    /// at five rates below it.
    #[test]
    fn on_a_machine_whose_speed_changed_one_failed_window_is_certain_up_to_the_scatter_of_the_speed() {
        let failed = |rates: &[f64]| Votes { held: vec![100.0], failed: rates.to_vec(), surely_failed: rates.to_vec() };
        assert_eq!(failed(&[150.0, 110.0]).lowest_sure_failure(0.0, 0.0), 110.0);
        assert!((failed(&[150.0, 110.0]).lowest_sure_failure(0.1, 105.0) - 110.0 * 0.196_f64.exp()).abs() < 0.1);
        assert!((failed(&[150.0, 110.0]).lowest_sure_failure(0.1, 140.0) - 140.0 * 0.196_f64.exp()).abs() < 0.1);
        assert_eq!(failed(&[150.0, 110.0, 90.0, 120.0, 130.0, 140.0]).lowest_sure_failure(0.3, 105.0), 150.0);
    }

    /// A pause of 5 ms cannot explain that a server answered only half of the offered requests. An earlier version of
    /// loadline ignored such windows, so the interval had no upper end.
    #[test]
    fn a_pause_does_not_excuse_a_window_that_fell_far_behind() {
        let votes = |paused_s: f64| {
            let pause = move |t: &mut run::Trial, _: &crate::planted::Point| {
                let begin_s = t.measured.window.begin_s;
                t.measured.pauses = vec![run::Window { begin_s, end_s: begin_s + paused_s }];
                t.measured.others = vec![0.0; 20];
            };
            let run = PlantedRun::new(1000.0, 4000.0).rates(&[0.5, 0.8, 2.0]).change(pause).run();
            let facts = Facts::of(&run);
            Votes::of(&facts, &crate::capacity::chances(&run.trials, &facts.limits)).surely_failed
        };
        assert_eq!(votes(0.005), [8000.0]);
        assert_eq!(votes(1.1), [0.0; 0], "more than half of the window was a pause");
    }
}
