//! CPU time that good answers need, if the server refuses a part of the requests. Refusals use CPU time, too: a client
//! of a closed loop sends again as soon as it is refused. Refusals may therefore fill CPUs that the good answers hardly
//! use. Such CPUs do not limit the rate of good answers.

use crate::Facts;
use crate::context::single::{good, highest_rate, refused, server_of};
use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::signals::full::{busiest, full};
use crate::thresholds::REFUSED;

/// Returns the share of the server's CPUs, or of its busiest thread, that the good answers of a trial need at most.
///
/// The good answers of a trial are assumed to cost as much as in the heaviest load without refusals. The result holds
/// for the highest rate of good answers of any load. A server whose CPUs limit this highest rate is therefore full by
/// the returned share, too. If refusals are so few that they cannot use the rest of the CPU time, the good answers use
/// it. Returns `None` if the trial has hardly any refusals, or if no load without refusals shows the cost.
pub(crate) fn good_share(facts: &Facts<'_>, view: &View<'_>) -> Option<f64> {
    let share = Some(refused(view.trial)).filter(|share| *share >= REFUSED)?;
    let open = || facts.loaded().filter(|trial| refused(trial) < REFUSED);
    let heaviest = open().filter_map(server_of).max_by(|a, b| good(a.trial).total_cmp(&good(b.trial)))?;
    let each = ratio(busy(&heaviest)?, positive(good(heaviest.trial))?)?;
    let refusals = each * share * view.trial.rates.completed_rate;
    Some((each * highest_rate(facts.loaded())).max(busy(view)? - refusals))
}

/// Returns the probability that the good answers of a trial leave the server no CPU time; see [`good_share`]. CPU time
/// that refusals use counts as time left. Returns `None` if the server's CPU use is unknown.
pub(crate) fn fullness_by_good(facts: &Facts<'_>, view: &View<'_>) -> Option<f64> {
    let chance = |share: f64| full("", view.given(), share).chance();
    Some(chance(busiest(view)?).min(good_share(facts, view).map_or(1.0, chance)))
}

/// Returns the largest busy share of the server's CPUs and threads, with the work of other programs on these CPUs.
fn busy(view: &View<'_>) -> Option<f64> {
    Some(busiest(view)?.max(view.processors_busy().unwrap_or(0.0)))
}
