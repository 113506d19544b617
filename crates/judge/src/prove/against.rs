//! What a slot is held against, so that what a machine does by itself is not put down to a lever.
//!
//! The level of the sixteen slots that it stands among takes up slow drift, and is exact where slots scatter by themselves. Shared
//! machines change their speed by a third within tenths of a second and keep it for a while, so that residuals of neighbours are alike (an
//! autocorrelation of 0.5 to 0.95 between slots of 60 ms was seen): there the slot before says more, since all but a few slots
//! have the speed of the one before, and those few are outliers. Whichever leaves less open is taken.

use run::LeverSlots;

use crate::fit::robust::{Robust, robust};

/// Slots that share a level of their own.
const SLOTS_OF_A_LEVEL: usize = 16;
/// Differences of neighbours hang together by construction, the next ones by little.
const LAGS_OF_STEPS: usize = 3;
/// By so much less must steps leave open (a variance) to be taken: who takes the narrower of two intervals is wrong a little more often.
const PLAINLY_LESS: f64 = 0.7;

/// The equations of a trial's slots, and how a figure of each slot enters them.
pub(super) struct Against {
    rows: Vec<Vec<f64>>,
    /// Of each equation, the places of the slot before and of the slot among the slots; none where a slot stands for itself.
    steps: Option<Vec<(usize, usize)>>,
}

impl Against {
    /// Whichever of the two leaves less open of what the levers did to this figure of each slot.
    pub(super) fn best(levers: &[LeverSlots], slots: &[usize], figure: &[f64]) -> Result<Self, String> {
        let open = |against: &Self| {
            let found = against.fit(figure).ok()?;
            Some((0..levers.len()).map(|j| found.covariance[j][j]).sum::<f64>())
        };
        let (levels, steps) = (Self::levels(levers, slots), Self::steps(levers, slots));
        match (open(&levels), open(&steps)) {
            (Some(of_levels), Some(of_steps)) if of_steps < PLAINLY_LESS * of_levels => Ok(steps),
            (Some(_), _) => Ok(levels),
            (None, Some(_)) => Ok(steps),
            (None, None) => Err(TOGETHER.into()),
        }
    }

    /// A row a slot: whether each lever is on, whether that changed since the last slot, and the level.
    pub(super) fn levels(levers: &[LeverSlots], slots: &[usize]) -> Self {
        let levels = slots.len().div_ceil(SLOTS_OF_A_LEVEL).max(1);
        let level = |i: usize| (0..levels).map(move |n| f64::from(u8::from(n == i * levels / slots.len())));
        let row = |(i, t): (usize, &usize)| of_levers(levers, *t).chain(level(i)).collect();
        Self { rows: slots.iter().enumerate().map(row).collect(), steps: None }
    }

    /// The same less that of the slot before, where that was seen, and how all of it drifts.
    fn steps(levers: &[LeverSlots], slots: &[usize]) -> Self {
        let both: Vec<(usize, usize)> =
            (1..slots.len()).filter(|i| slots[*i] == slots[i - 1] + 1).map(|i| (i - 1, i)).collect();
        let row = |(before, now): &(usize, usize)| {
            let change = of_levers(levers, slots[*now]).zip(of_levers(levers, slots[*before]));
            change.map(|(now, before)| now - before).chain([1.0]).collect()
        };
        Self { rows: both.iter().map(row).collect(), steps: Some(both) }
    }

    /// What the columns do to a figure of each slot.
    pub(super) fn fit(&self, figure: &[f64]) -> Result<Robust, String> {
        let found = match &self.steps {
            None => robust(figure, &self.rows, 0),
            Some(both) => {
                let moved: Vec<f64> = both.iter().map(|(before, now)| figure[*now] - figure[*before]).collect();
                robust(&moved, &self.rows, LAGS_OF_STEPS)
            }
        };
        found.ok_or_else(|| TOGETHER.into())
    }

    /// The rows of equations that are of slots, not of steps.
    pub(super) fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }
}

const TOGETHER: &str = "the levers were on and off together and cannot be told apart";

fn of_levers(levers: &[LeverSlots], t: usize) -> impl Iterator<Item = f64> {
    let on = |l: &LeverSlots, t: usize| f64::from(u8::from(l.on[t]));
    let now = levers.iter().map(move |l| on(l, t));
    now.chain(levers.iter().map(move |l| on(l, t - 1) - on(l, t)))
}

#[cfg(test)]
mod tests {
    use run::{Estimate, ProofTrial};

    use super::super::estimate;
    use super::super::estimate::throughput;
    use super::*;
    use crate::sample::normal;

    const SLOTS: usize = 118;
    const SEEDS: u64 = 200;

    /// A server that carries 0.8 of the throughput and a generator that carries 0.1, on a machine that changes between two speeds, one
    /// two thirds of the other, and keeps each for so many slots in the mean (0: it has one).
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

    /// How many intervals of the server's hold the truth, and half of one in the mean.
    fn found(noise: f64, keeps: f64) -> (u64, f64) {
        let of = |seed| estimate(&trial(seed, noise, keeps)).unwrap().elasticities[0];
        let all: Vec<Estimate> = (0..SEEDS).map(of).collect();
        let held = all.iter().filter(|e| e.low <= 0.8 && e.high >= 0.8).count() as u64;
        (held, all.iter().map(Estimate::half).sum::<f64>() / SEEDS as f64)
    }

    /// Half of the interval of what the server's lever did to throughput, in the mean, against levels and against the better of both.
    fn open(keeps: f64) -> (f64, f64) {
        let slots: Vec<usize> = (1..SLOTS).collect();
        let sd = |against: &Against, y: &[f64]| against.fit(y).unwrap().covariance[0][0].sqrt();
        let of = |seed| {
            let one = trial(seed, 0.03, keeps);
            let y = throughput(&one, &slots);
            let levels = Against::levels(&one.levers, &slots);
            (sd(&levels, &y), sd(&Against::best(&one.levers, &slots, &y).unwrap(), &y))
        };
        (0..SEEDS).map(of).fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a, sum.1 + b))
    }

    #[test]
    fn on_a_machine_that_changes_its_speed_intervals_hold_the_truth_and_leave_less_open_than_levels() {
        for (keeps, of_levels) in [(6.0, 0.5), (12.0, 0.6), (40.0, 1.0)] {
            let ((held, half), (levels, best)) = (found(0.03, keeps), open(keeps));
            let less = best / levels;
            println!("kept for {keeps} slots: {held} of {SEEDS} hold, half of one {half:.3}, {less:.2} of levels");
            assert!(held * 100 >= 93 * SEEDS && less < of_levels, "{keeps}: {held}, {half}, {less}");
        }
    }

    #[test]
    fn on_a_machine_of_one_speed_levels_are_taken() {
        let ((held, half), (levels, best)) = (found(0.03, 0.0), open(0.0));
        println!("one speed: {held} of {SEEDS} hold, half of one {half:.3}, {:.2} of levels", best / levels);
        assert!(held * 100 >= 93 * SEEDS && best / levels > 0.97, "{held} of {SEEDS}, {half}, {best} {levels}");
    }

    #[test]
    fn slots_that_were_not_seen_take_no_step() {
        let one = trial(1, 0.03, 0.0);
        let slots: Vec<usize> = (1..SLOTS).filter(|t| t % 10 != 0).collect();
        let steps = Against::steps(&one.levers, &slots);
        assert_eq!(steps.rows.len(), slots.len() - 1 - (SLOTS - 1) / 10);
    }
}
