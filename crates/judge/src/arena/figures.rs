//! Figures of one server under one load: means over its turns, with 95 % intervals. A turn is one measurement at the
//! common rate.

use run::{ArenaNoise, ArenaPlace, ArenaState, ArenaTurn, Estimate};
use stats::pairwise::PairDifference;
use stats::student::t95;
use stats::two_means::Trimmed;

use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};

/// Returns the accepted turns (measurements) of a server under a load. If `twin` is true, returns the turns
/// (measurements) of the server's second start. One server is started twice only to measure the noise between two
/// starts.
pub(super) fn turns(state: &ArenaState, place: ArenaPlace, twin: bool) -> impl Iterator<Item = &ArenaTurn> {
    state.turns.iter().filter(move |turn| turn.place == place && turn.twin == twin && turn.refused.is_none())
}

/// Returns the logarithm of the CPU time per request for each round of the comparison. The value is NaN for a round
/// without an accepted turn (a measurement of one server).
pub(super) fn cpu_by_round(state: &ArenaState, place: ArenaPlace, twin: bool) -> Vec<f64> {
    let rounds = state.turns.iter().map(|turn| turn.round as usize + 1).max().unwrap_or(0);
    let mut values = vec![f64::NAN; rounds];
    for turn in turns(state, place, twin) {
        if let Some((cpu, value)) = turn.cpu_us.zip(values.get_mut(turn.round as usize)) {
            *value = cpu.ln();
        }
    }
    values
}

/// Returns the geometric mean of a figure over all turns (measurements) of a server under a load, with its 95 %
/// interval.
pub(super) fn estimate(
    state: &ArenaState,
    place: ArenaPlace,
    figure: impl Fn(&ArenaTurn) -> Option<f64>,
) -> Option<Estimate> {
    let lns: Vec<f64> =
        turns(state, place, false).filter_map(figure).map(f64::ln).filter(|ln| ln.is_finite()).collect();
    let trimmed = Trimmed::of(&lns);
    let (mean, half) = (trimmed.mean, t95(trimmed.freedom()) * trimmed.error());
    // Two or more equal values give an interval of width zero. With a single value, no interval can be computed.
    let half = if lns.len() < 2 { f64::NAN } else { half };
    let end = |ln: f64| if ln.is_finite() { ln.exp() } else { f64::NAN };
    (!lns.is_empty()).then(|| Estimate { value: mean.exp(), low: end(mean - half), high: end(mean + half) })
}

/// Compares the CPU time per request of two starts of one server under a load. The true cost of both starts is equal,
/// so a ratio other than 1 is noise.
pub(super) fn noise(state: &ArenaState, profile: usize) -> Option<ArenaNoise> {
    let place = state.turns.iter().find(|turn| turn.twin && turn.place.profile == profile)?.place;
    let [first, second] = [false, true].map(|twin| cpu_by_round(state, place, twin));
    let apart = PairDifference::of(&first, &second, FEWEST_WINDOWS);
    let ratio = apart.map(|apart| {
        let half = apart.half(COMPARE_LEVEL);
        Estimate { value: apart.mean.exp(), low: (apart.mean - half).exp(), high: (apart.mean + half).exp() }
    });
    Some(ArenaNoise {
        profile: state.plan.profiles.get(profile)?.name.clone(),
        entry: state.plan.entries.get(place.entry)?.name.clone(),
        ratio,
        tied: apart.is_none_or(|apart| apart.chance() > COMPARE_LEVEL),
        pairs: apart.map_or(0, |apart| apart.rounds as u32),
    })
}
