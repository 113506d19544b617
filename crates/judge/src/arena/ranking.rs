//! Results (cells) of all servers under one load: the group of each server, or the reason why the server has no group.

use run::{ArenaCell, ArenaPlace, ArenaRefusal, ArenaRefusalKind, ArenaState};
use stats::pairwise::{PairDifference, PairwiseTest};
use stats::two_means::Trimmed;

use super::answers::wrong_turn;
use super::figures::{cpu_by_round, estimate, turns};
use super::rate::{common_rate, takes_turns};
use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};

/// Returns the results under a load, the best group first. Servers without a group come last.
pub(super) fn cells(state: &ArenaState, profile: usize) -> Vec<ArenaCell> {
    let places = (0..state.plan.entries.len()).map(|entry| ArenaPlace { entry, profile });
    let mut cells: Vec<(ArenaPlace, ArenaCell)> = places.map(|place| (place, cell(state, place))).collect();
    rank(state, &mut cells);
    let cpu = |cell: &ArenaCell| cell.cpu_us_per_request.map_or(f64::INFINITY, |cpu| cpu.value);
    let group = |cell: &ArenaCell| cell.group.unwrap_or(u32::MAX);
    cells.sort_by(|(_, a), (_, b)| group(a).cmp(&group(b)).then(cpu(a).total_cmp(&cpu(b))));
    cells.into_iter().map(|(_, cell)| cell).collect()
}

/// Returns the result of a server under a load. The group is assigned later, by [`rank`].
fn cell(state: &ArenaState, place: ArenaPlace) -> ArenaCell {
    let refused = refused(state, place);
    let search = state.search(place);
    ArenaCell {
        entry: state.plan.entries[place.entry].name.clone(),
        profile: state.plan.profiles[place.profile].name.clone(),
        refused: refused.as_ref().map(|refused| refused.text.clone()),
        refused_kind: refused.map(|refused| refused.kind),
        capacity: search.and_then(|search| search.capacity),
        cpu_us_per_request: estimate(state, place, |turn| turn.cpu_us),
        rss_bytes: estimate(state, place, |turn| turn.rss_bytes),
        pss_bytes: estimate(state, place, |turn| turn.pss_bytes),
        p50_us: estimate(state, place, |turn| turn.p50_us),
        p99_us: estimate(state, place, |turn| turn.p99_us),
        bottleneck: search.and_then(|search| search.bottleneck.clone()),
        turns: turns(state, place, false).count() as u32,
        run: search.and_then(|search| search.run.clone()),
        ..ArenaCell::default()
    }
}

fn refused(state: &ArenaState, place: ArenaPlace) -> Option<ArenaRefusal> {
    let refuse = |kind, text: String| Some(ArenaRefusal { kind, text });
    let build = state.builds.iter().find(|build| build.entry == place.entry);
    if let Some(why) = build.and_then(|build| build.failed.clone()) {
        return refuse(ArenaRefusalKind::Failed, why);
    }
    let Some(search) = state.search(place) else {
        return refuse(ArenaRefusalKind::NotMeasured, "it was not measured: the comparison ended before".into());
    };
    if search.refused.is_some() {
        return search.refused.clone();
    }
    if !takes_turns(state, place) {
        let rate = common_rate(state, place.profile).map_or(String::new(), |rate| format!(", {rate:.0}/s"));
        return refuse(ArenaRefusalKind::TooSlow, format!("it cannot hold the common rate{rate}"));
    }
    wrong_turn(state, place).cloned().or_else(|| spoiled(state, place)).or_else(|| too_few(state, place))
}

/// Returns the reason for the first rejected turn, if most turns (measurements) of the server under this load were
/// rejected.
fn spoiled(state: &ArenaState, place: ArenaPlace) -> Option<ArenaRefusal> {
    let own = || state.turns.iter().filter(|turn| turn.place == place && !turn.twin);
    let mut refusals = own().filter_map(|turn| turn.refused.as_ref());
    let first = refusals.next()?;
    (2 * (1 + refusals.count()) > own().count()).then(|| first.clone())
}

/// Returns the reason not to rank a server that was measured too few times, or whose CPU time is unknown. If the
/// comparison was interrupted, the reason does not advise a larger budget, because resuming adds measurements.
fn too_few(state: &ArenaState, place: ArenaPlace) -> Option<ArenaRefusal> {
    let refuse = |kind, text: String| Some(ArenaRefusal { kind, text });
    let all = turns(state, place, false).count();
    let with_cpu = turns(state, place, false).filter(|turn| turn.cpu_us.is_some()).count();
    match () {
        () if all < FEWEST_WINDOWS => {
            let advice = if state.done { "give more --budget" } else { "go on with --resume" };
            let text = format!("{all} of at least {FEWEST_WINDOWS} turns were measured: {advice}");
            refuse(ArenaRefusalKind::NotMeasured, text)
        }
        () if with_cpu < FEWEST_WINDOWS => {
            refuse(ArenaRefusalKind::NoCounters, "its CPU time is not known: loadline sees no process of it".into())
        }
        () => None,
    }
}

/// Assigns a group to every server that can be ranked. A result (cell) with a `refused_kind` gets no group.
fn rank(state: &ArenaState, cells: &mut [(ArenaPlace, ArenaCell)]) {
    let ranked = cells.iter().enumerate().filter(|(_, (_, cell))| cell.refused_kind.is_none());
    let mut values: Vec<(usize, Vec<f64>)> =
        ranked.map(|(at, (place, _))| (at, cpu_by_round(state, *place, false))).collect();
    let centres = round_centres(&values);
    let middle = |of: &[f64]| {
        let apart: Vec<f64> = of.iter().zip(&centres).map(|(v, c)| v - c).filter(|v| v.is_finite()).collect();
        Trimmed::of(&apart).mean
    };
    values.sort_by(|(_, a), (_, b)| middle(a).total_cmp(&middle(b)));
    let test = PairwiseTest::new(values.len(), COMPARE_LEVEL, |i, j| {
        PairDifference::of(&values[i].1, &values[j].1, FEWEST_WINDOWS).map(|apart| apart.chance())
    });
    let groups = test.groups();
    for (i, (at, _)) in values.iter().enumerate() {
        let apart = (0..values.len()).filter(|j| groups[*j] == groups[i] && test.differs(i, *j));
        cells[*at].1.differs_from = apart.map(|j| cells[values[j].0].1.entry.clone()).collect();
        cells[*at].1.group = Some(groups[i] as u32 + 1);
    }
}

/// Returns how far each round shifts the figures of all servers. Subtracting these shifts removes the differences
/// between slow and fast rounds. Without the subtraction, a server that took no part in a slow round would have an
/// advantage. The mean of a round would be wrong: without an expensive server, the mean is low, although the round was
/// not fast. The fit therefore adjusts the values of the servers and of the rounds in turn, until the error no longer
/// becomes smaller (least squares of a two-way table).
fn round_centres(values: &[(usize, Vec<f64>)]) -> Vec<f64> {
    let rounds = values.first().map_or(0, |(_, values)| values.len());
    let (mut error, mut centres) = (f64::INFINITY, vec![0.0; rounds]);
    loop {
        let (next_error, next) = refitted(values, &centres);
        if next_error < error {
            (error, centres) = (next_error, next);
        } else {
            return centres;
        }
    }
}

/// Fits the servers to the effects of the rounds, and then the effects of the rounds to the servers. Returns the sum of
/// the squared errors, and the new effects.
fn refitted(values: &[(usize, Vec<f64>)], centres: &[f64]) -> (f64, Vec<f64>) {
    let apart = |(_, v): &(usize, Vec<f64>)| mean(v.iter().zip(centres).map(|(v, c)| v - c));
    let own: Vec<f64> = values.iter().map(apart).collect();
    let without_own = |round: usize| values.iter().zip(&own).map(move |((_, v), own)| v[round] - own);
    let next: Vec<f64> = (0..centres.len()).map(|round| mean(without_own(round))).collect();
    let errors = next.iter().enumerate().flat_map(|(round, centre)| without_own(round).map(move |v| v - centre));
    (errors.filter(|error| error.is_finite()).map(|error| error * error).sum(), next)
}

/// Returns the mean of the known values.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    stats::average(&values.filter(|value| value.is_finite()).collect::<Vec<f64>>())
}
