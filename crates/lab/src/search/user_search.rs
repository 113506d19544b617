//! Search for the capacity as a number of users with think times. The search raises the number of users until the
//! objective fails. After the first failure, the search repeatedly tries the geometric mean of the largest number that
//! passed and the smallest number that failed. The search ends when the largest number that passed and the smallest
//! number that failed are confirmed, so that no single measurement decides.

use judge::Bracket;
use run::{Intensity, LoadPlan, ThinkTime, TrialKind};

use crate::LabError;
use crate::search::{Budget, Conductor, step};

/// Number of requests that the first step should have.
const FIRST_STEP_REQUESTS: f64 = 30.0;
/// Maximum utilization of the server in the first step, if the server has a single thread.
const MAX_FIRST_UTILIZATION: f64 = 0.2;
/// Factor by which a step changes the number of users. As long as every step passes, the number of users is raised. As
/// long as every step fails, the number of users is lowered.
const STEP_FACTOR: u32 = 4;
/// The search confirms an end of the range of user numbers by repeated measurements. The end is confirmed when the
/// number of passed measurements and the number of failed measurements differ by at least `MIN_LEAD`.
const MIN_LEAD: usize = 2;
/// Maximum number of measurements to confirm an end of the range.
const MAX_WINDOWS: usize = 7;

/// Choice of the next number of users. All methods are pure.
#[derive(Clone, Copy, Debug)]
pub struct UserSearch {
    first: u32,
    most: u32,
    precision: f64,
}

impl UserSearch {
    /// Returns a search that starts with `first` users. The range of the capacity reaches from the largest number of
    /// users that passed to the smallest number that failed. The search ends when the width of the range is at most
    /// `precision` times its lower end, and repeated measurements have confirmed both ends.
    pub fn new(first: u32, most: u32, precision: f64) -> Self {
        Self { first: first.clamp(1, most.max(1)), most: most.max(1), precision }
    }

    /// Returns the number of users to try next. Returns `None` if no number is left to try, and each end of the range
    /// is confirmed or has the maximum number of measurements.
    pub fn next(&self, seen: &Bracket) -> Option<u32> {
        let Some(fewest) = seen.fewest() else { return Some(self.first) };
        let middle = match (seen.held(), seen.failed()) {
            (None, _) => fewest / STEP_FACTOR,
            (Some(held), None) if held < self.most => held.saturating_mul(STEP_FACTOR).min(self.most),
            (Some(held), Some(failed)) => {
                let middle = (f64::from(held) * f64::from(failed)).sqrt().round() as u32;
                let wide = f64::from(failed - held) > self.precision * f64::from(held);
                if wide && failed - held > 1 { middle.clamp(held + 1, failed - 1) } else { 0 }
            }
            (Some(_), None) => 0,
        };
        let unsure = |users: &u32| {
            let (lead, windows) = seen.lead(*users);
            lead < MIN_LEAD && windows < MAX_WINDOWS
        };
        let tried = seen.lead(middle).1 > 0;
        Some(middle)
            .filter(|n| *n > 0 && !tried)
            .or_else(|| [seen.held(), seen.failed()].into_iter().flatten().find(unsure))
    }
}

/// Searches for the capacity in users, within a budget. The test request took `response_s` seconds. The results are the
/// load tests of the conductor's run.
pub fn capacity(conductor: &mut dyn Conductor, budget: Budget, response_s: f64) -> Result<(), LabError> {
    let search = conductor.run().plan.search.clone();
    let think = think(conductor.load());
    // On a slow server, several short measurements show more than a single long one.
    let search_s = step::left_s(conductor, budget.end_s());
    let length = budget.search_step_within(search_s, response_s);
    let cycle_s = think.mean_ms / 1e3 + response_s;
    let wanted =
        (FIRST_STEP_REQUESTS * cycle_s / length.measure_s).min(MAX_FIRST_UTILIZATION * cycle_s / response_s.max(1e-6));
    let search = UserSearch::new(wanted.clamp(1.0, 1e6) as u32, search.max_connections, search.precision);
    // Every repeat searches without using the results of earlier repeats.
    let first = conductor.run().trials.len();
    while let Some(users) = search.next(&seen(conductor, first)) {
        let began = conductor.run().trials.len() > first;
        let budget = budget.paced(conductor.overhead_s());
        let left_s = step::left_s(conductor, budget.end_s());
        let length = budget.search_step_within(search_s, response_s).within(left_s, budget.search_step(0.0).measure_s);
        if conductor.stopped() || began && length.whole_s() > left_s {
            return Ok(());
        }
        let intensity = Intensity::Closed { connections: users, pipeline: 1, think: think.clone() };
        let plan = step::plan(conductor, intensity, length);
        let label = if users == 1 { "1 user".into() } else { format!("{users} users") };
        let Some(trial) = step::conduct(conductor, plan, label, TrialKind::Sweep)? else { return Ok(()) };
        if trial.rates.completed_rate <= 0.0 && !conductor.stopped() && !step::is_alive(conductor)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the range of the capacity in users that follows from the load tests with index `first` or above.
fn seen(conductor: &dyn Conductor, first: usize) -> Bracket {
    let run = conductor.run();
    judge::bracket(run.trials.get(first..).unwrap_or_default(), &judge::limits(run))
}

fn think(load: &LoadPlan) -> ThinkTime {
    match &load.intensity {
        Intensity::Closed { think, .. } => think.clone(),
        _ => ThinkTime::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a search on a server that supports `capacity` users. Each measurement gives a wrong result with
    /// probability `lies`.
    fn search(capacity: u32, most: u32, lies: f64) -> (Bracket, usize) {
        let (search, mut seen, mut random) =
            (UserSearch::new(7, most, 0.05), Bracket::default(), fastrand::Rng::with_seed(3));
        let mut windows = 0;
        while let Some(users) = search.next(&seen).filter(|_| windows < 200) {
            let truth = users <= capacity;
            seen.saw(users, if random.f64() < lies { !truth } else { truth });
            windows += 1;
        }
        (seen, windows)
    }

    #[test]
    fn the_bracket_closes_around_the_capacity_in_few_windows() {
        for capacity in [1, 2, 6, 7, 8, 100, 431, 90_000] {
            let (seen, windows) = search(capacity, 1_000_000, 0.0);
            let (held, failed) = (seen.held().unwrap(), seen.failed().unwrap());
            assert!(held <= capacity && capacity < failed, "{capacity}: {held} {failed}");
            assert!(failed - held <= 1 || f64::from(failed - held) <= 0.05 * f64::from(held), "{held} {failed}");
            assert!(windows <= 22, "{windows} for {capacity}");
        }
    }

    #[test]
    fn a_wrong_window_is_outvoted() {
        let (seen, windows) = search(431, 1_000_000, 0.1);
        let (held, failed) = (seen.held().unwrap(), seen.failed().unwrap());
        assert!(
            (400..=460).contains(&held) && (410..=480).contains(&failed) && windows < 60,
            "{held} {failed} {windows}"
        );
    }

    #[test]
    fn the_search_ends_at_the_maximum_or_if_one_user_is_too_many() {
        let (seen, _) = search(1000, 50, 0.0);
        assert_eq!((seen.held(), seen.failed()), (Some(50), None));
        let (seen, _) = search(0, 50, 0.0);
        assert_eq!((seen.held(), seen.failed()), (None, Some(1)));
    }
}
