//! Common rate (requests per second) at which all servers are measured under a load.

use run::{ArenaPlace, ArenaSearch, ArenaState};

use crate::thresholds::COMMON_RATE_SHARE;

/// Returns the rate at which all servers are compared under one load profile. Uses the rate that the plan sets, if any,
/// else [`COMMON_RATE_SHARE`] of the smallest capacity. Returns `None` if no server has a capacity.
pub fn common_rate(state: &ArenaState, profile: usize) -> Option<f64> {
    let searches = state.searches.iter().filter(|search| search.place.profile == profile && counts(search));
    let lowest = searches.filter_map(capacity).reduce(f64::min)?;
    Some(state.plan.profiles.get(profile)?.rate.unwrap_or(COMMON_RATE_SHARE * lowest))
}

/// Returns true if a server is measured at the common rate, because its capacity reaches this rate. If only a lower
/// bound of the capacity is known, this bound must reach the common rate.
pub fn takes_turns(state: &ArenaState, place: ArenaPlace) -> bool {
    let rate = common_rate(state, place.profile).unwrap_or(f64::INFINITY);
    let search = state.search(place).filter(|search| counts(search));
    search.and_then(capacity).is_some_and(|capacity| capacity >= rate)
}

fn counts(search: &ArenaSearch) -> bool {
    search.refused.as_ref().is_none_or(|refused| refused.kind.is_lower_bound())
}

/// Returns the lower end of the interval of a server's capacity, or the capacity itself if the interval is unknown.
fn capacity(search: &ArenaSearch) -> Option<f64> {
    let capacity = search.capacity?;
    let low = if capacity.low.is_finite() { capacity.low } else { capacity.rate };
    Some(low).filter(|low| low.is_finite() && *low > 0.0)
}
