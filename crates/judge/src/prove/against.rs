//! Model of the throughput without levers. A lever is a temporary change that an experiment makes, such as slowing a
//! CPU. Because of the model, a change of the machine's speed is not attributed to a lever.
//!
//! The throughput of a single time slot (a fraction of a second) is noisy. Shared machines also change their speed by
//! up to a third within tenths of a second, and keep the new speed for a while. Neighbouring residuals are therefore
//! correlated: autocorrelations of 0.2 to 0.95 were seen between time slots of 15 to 60 ms.
//!
//! In the model, the throughput without levers is a level that moves from time slot to slot, plus noise in each slot.
//! If the throughput's level hardly moves, the mean of all earlier time slots is the best prediction of the next slot.
//! If the throughput's level moves much, the last time slot is the best prediction of the next slot's throughput.
//! Maximum likelihood chooses the variance of the level's movement.
//!
//! Source: A. Harvey, *Forecasting, structural time series models and the Kalman filter* (1989), the local level model.
//! The innovation of a time slot is the slot's value minus the prediction for the slot. Innovations, divided by their
//! standard deviations, have unit variance and are independent of each other. Ordinary least squares on the divided
//! innovations equals generalized least squares on the time slots' values.

use run::LeverSlots;

use stats::average;
use stats::fit::robust::{Robust, residuals, robust};

/// Candidate variances of the movement of the throughput's level per time slot, relative to the variance of the noise
/// in a slot. With the largest candidate variance, the prediction of a time slot depends almost only on the preceding
/// slot.
const MOVES: &[f64] = &[0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
/// Maximum distance, in time slots, of two slots whose residuals may still be correlated for reasons outside the model.
const LAGS: usize = 3;

/// Regressors for the time slots of a trial: the states of the levers, as their innovations in the local level model
/// (see the top of this file).
pub(super) struct Against {
    rows: Vec<Vec<f64>>,
    level: Level,
}

impl Against {
    /// Fits a model for each candidate variance of the level's movement, and returns the model that fits `figure` best.
    /// `figure` contains one value per time slot.
    pub(super) fn best(levers: &[LeverSlots], slots: &[usize], figure: &[f64]) -> Result<Self, String> {
        let all = MOVES.iter().map(|moves| Self::moving(levers, slots, *moves));
        let told = all.filter_map(|against| Some((against.likelihood(figure)?, against)));
        told.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, against)| against).ok_or_else(|| TOGETHER.into())
    }

    /// Builds the regressors for a given variance of the movement of the throughput's level. Each time slot except the
    /// first gets a row. The row says for each lever whether it is on, and whether it was switched since the preceding
    /// slot. Finally, each regressor is replaced by its innovations in the level model.
    fn moving(levers: &[LeverSlots], slots: &[usize], moves: f64) -> Self {
        let level = Level::moving(slots, moves);
        let of_slots: Vec<Vec<f64>> = slots.iter().map(|t| of_levers(levers, *t)).collect();
        let column = |at: usize| level.innovations(&of_slots.iter().map(|row| row[at]).collect::<Vec<f64>>());
        let columns: Vec<Vec<f64>> = (0..2 * levers.len()).map(column).collect();
        let row = |i: usize| columns.iter().map(|column| column[i]).collect();
        Self { rows: (0..level.steps.len()).map(row).collect(), level }
    }

    /// Regresses a figure (one value per time slot) on the states of the levers.
    pub(super) fn fit(&self, figure: &[f64]) -> Result<Robust, String> {
        robust(&self.level.innovations(figure), &self.rows, LAGS).ok_or_else(|| TOGETHER.into())
    }

    /// Returns the log likelihood of a figure, up to a constant. A Laplace distribution of the innovations is assumed,
    /// so a few outliers do not decide the result.
    fn likelihood(&self, figure: &[f64]) -> Option<f64> {
        let innovations = self.level.innovations(figure);
        let fit = robust(&innovations, &self.rows, 0)?;
        let sizes: Vec<f64> = residuals(&innovations, &self.rows, &fit.coefficients).iter().map(|r| r.abs()).collect();
        let known: f64 = self.level.steps.iter().map(|step| step.known.ln()).sum();
        Some(known - sizes.len() as f64 * average(&sizes).max(1e-12).ln())
    }
}

const TOGETHER: &str = "the levers were always on together, so their effects cannot be separated";

/// Returns the regressors of a time slot. Each lever has two regressors. The first regressor is 1 while the lever is
/// on, and 0 while the lever is off. The second regressor is the first regressor of the preceding time slot, minus the
/// first regressor of this slot.
pub(super) fn of_levers(levers: &[LeverSlots], t: usize) -> Vec<f64> {
    let on = |l: &LeverSlots, t: usize| f64::from(u8::from(l.on[t]));
    let now = levers.iter().map(|l| on(l, t));
    now.chain(levers.iter().map(|l| on(l, t - 1) - on(l, t))).collect()
}

/// Weights with which the estimated level of throughput follows the throughput of each time slot.
struct Level {
    /// For each time slot except the first, its weights in the level model.
    steps: Vec<Step>,
}

/// Weights with which the level model treats the value of one time slot.
struct Step {
    /// Share of the time slot's innovation by which the estimated level of throughput moves.
    gain: f64,
    /// Inverse of the innovation's standard deviation, in units of one time slot's noise. The innovation is the time
    /// slot's value minus its prediction from the slots before.
    known: f64,
}

impl Level {
    fn moving(slots: &[usize], moves: f64) -> Self {
        // Variance of the throughput's level after the time slots so far, in units of the variance of one slot's noise.
        // After the first time slot, the variance of the throughput's level equals the variance of one slot's noise.
        let mut open = 1.0;
        let step = |pair: &[usize]| {
            let expected = open + moves * (pair[1] - pair[0]) as f64;
            open = expected / (expected + 1.0);
            Step { gain: open, known: 1.0 / (expected + 1.0).sqrt() }
        };
        Self { steps: slots.windows(2).map(step).collect() }
    }

    /// Returns the innovations of all time slots except the first. Each innovation is divided by its standard
    /// deviation, which is in units of one time slot's noise.
    fn innovations(&self, figure: &[f64]) -> Vec<f64> {
        let mut level = figure.first().copied().unwrap_or_default();
        let new = |(step, value): (&Step, &f64)| {
            let new = value - level;
            level += step.gain * new;
            new * step.known
        };
        self.steps.iter().zip(figure.iter().skip(1)).map(new).collect()
    }
}

#[cfg(test)]
mod tests {
    use run::{Estimate, ProofTrial};

    use super::super::estimate;
    use super::super::estimate::slots::throughput;
    use super::*;
    use stats::normal;

    const SLOTS: usize = 118;
    const SEEDS: u64 = 200;

    /// Simulates a trial. The elasticity of throughput is 0.8 for the server's speed and 0.1 for the generator's. The
    /// machine alternates between two speeds. The lower speed is two thirds of the higher speed. The machine keeps each
    /// speed for `keeps` time slots on average. If `keeps` is 0, the machine has only one speed.
    fn trial(seed: u64, noise: f64, keeps: f64) -> ProofTrial {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut on = || (0..SLOTS).map(|_| random.bool()).collect::<Vec<bool>>();
        let (server, client) = (on(), on());
        let taken = |on: &[bool]| on.iter().map(|on| if *on { 0.75 } else { 1.0 }).collect::<Vec<f64>>();
        let mut slow = false;
        let rate = |t: usize| {
            slow ^= keeps > 0.0 && random.f64() < 1.0 / keeps;
            let of_levers = taken(&server)[t].powf(0.8) * taken(&client)[t].powf(0.1);
            1000.0 * of_levers * if slow { 0.67 } else { 1.0 } * (noise * normal(&mut random)).exp()
        };
        let completed_rate = (0..SLOTS).map(rate).collect();
        let lever = |on: &Vec<bool>| LeverSlots { speed: taken(on), on: on.clone(), ..LeverSlots::default() };
        ProofTrial { completed_rate, levers: vec![lever(&server), lever(&client)], ..ProofTrial::default() }
    }

    /// Returns the number of intervals for the server's elasticity that contain the true value, and the mean half-width
    /// of all intervals.
    fn found(noise: f64, keeps: f64) -> (u64, f64) {
        let of = |seed| estimate(&trial(seed, noise, keeps)).unwrap().elasticities[0];
        let all: Vec<Estimate> = (0..SEEDS).map(of).collect();
        let held = all.iter().filter(|e| e.low <= 0.8 && e.high >= 0.8).count() as u64;
        (held, all.iter().map(Estimate::half).sum::<f64>() / SEEDS as f64)
    }

    /// Returns the ratio of two standard errors for the effect of the server's lever, both averaged over seeds. For the
    /// first standard error, the model itself chooses the variance with which the level of throughput moves. For the
    /// second standard error, the variance of the level's movement is the argument `moves`.
    fn over(noise: f64, keeps: f64, moves: f64) -> f64 {
        let slots: Vec<usize> = (1..SLOTS).collect();
        let sd = |against: &Against, y: &[f64]| against.fit(y).unwrap().covariance[0][0].sqrt();
        let of = |seed| {
            let one = trial(seed, noise, keeps);
            let y = throughput(&one, &slots);
            let best = Against::best(&one.levers, &slots, &y).unwrap();
            (sd(&best, &y), sd(&Against::moving(&one.levers, &slots, moves), &y))
        };
        let (best, fixed) = (0..SEEDS).map(of).fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a, sum.1 + b));
        best / fixed
    }

    #[test]
    fn on_a_machine_that_changes_its_speed_intervals_hold_the_truth_and_leave_less_open_than_a_level_that_stays() {
        for (keeps, at_most) in [(6.0, 0.5), (12.0, 0.5), (40.0, 0.5)] {
            let ((held, half), over) = (found(0.03, keeps), over(0.03, keeps, 0.0));
            println!(
                "kept for {keeps} slots: {held} of {SEEDS} hold, half of one {half:.3}, {over:.2} of a level that stays"
            );
            assert!(held * 100 >= 93 * SEEDS && over < at_most, "{keeps}: {held}, {half}, {over}");
        }
    }

    #[test]
    fn on_a_machine_of_one_speed_the_level_stays() {
        let ((held, half), over) = (found(0.03, 0.0), over(0.03, 0.0, 0.0));
        println!("one speed: {held} of {SEEDS} hold, half of one {half:.3}, {over:.2} of a level that stays");
        assert!(held * 100 >= 93 * SEEDS && over < 1.03, "{held} of {SEEDS}, {half}, {over}");
    }

    #[test]
    fn a_drifting_level_is_followed_and_innovations_do_not_depend_on_its_start() {
        let drift: Vec<f64> = (0..40).map(f64::from).collect();
        let of = |moves, from: f64| {
            Level::moving(&(0..40).collect::<Vec<_>>(), moves)
                .innovations(&drift.iter().map(|v| from + v).collect::<Vec<f64>>())
        };
        let same = of(0.1, 0.0).iter().zip(of(0.1, 1024.0)).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(same, "{:?}", of(0.1, 1024.0));
        let last = |moves| {
            of(moves, 0.0).last().copied().unwrap() / Level::moving(&(0..40).collect::<Vec<_>>(), moves).steps[38].known
        };
        assert!((last(0.0) - 20.0).abs() < 1e-9 && (last(10.0) - 1.0).abs() < 0.1, "{} {}", last(0.0), last(10.0));
    }

    /// The throughput's level also moves during time slots that were not measured, so the level is less certain after
    /// such slots.
    #[test]
    fn slots_that_were_not_seen_leave_the_level_more_open() {
        let (all, some) = (Level::moving(&[1, 2, 3], 1.0), Level::moving(&[1, 2, 9], 1.0));
        assert!(some.steps[1].gain > all.steps[1].gain && some.steps[1].known < all.steps[1].known);
    }
}
