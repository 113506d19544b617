//! The sweep over the number of clients: its steps, the decisive step (the step that represents the run), and the
//! plateau, if throughput stopped growing.

use run::{ErrorKind, Intensity, Key, Trial, TrialKind};

use crate::context::single::{clients, closed, good, highest_rate, r1_us, responses};
use crate::number::{positive, ratio};
use crate::thresholds::{ASKED_FOR_MORE, FLAT, FLAT_BY_ONE, MUCH_LOWER, PLATEAU_KEPT, REACHED};
use stats::NORMAL_95;

/// Result of a sweep: how throughput behaved at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plateau {
    /// Throughput stopped growing: from `from` to `to` clients, throughput grew by less than 5 % per doubling of the
    /// clients.
    Flat {
        /// Number of clients of the decisive step, or of the first step whose rate is within 5 % of the highest rate.
        from: f64,
        /// Largest number of clients of the sweep. For a plateau that an open loop showed, the number of the open
        /// loop's requests in flight.
        to: f64,
        /// Growth of the rate between `from` and `to` clients, as a share of the rate at `from`; negative if the rate
        /// fell.
        growth: f64,
    },
    /// The rate still grew at the last step.
    Grows,
    /// There was no sweep, or a sweep with a single step.
    NoResult,
}

/// Returns the settings of a trial that change the server, its load or the network path. All steps of a sweep must have
/// equal values of the returned settings.
fn conditions(key: &Key) -> impl PartialEq + use<'_> {
    (key.record_bytes, key.cold, &key.values)
}

/// Returns the largest set of an experiment's trials that forms a sweep: trials with equal settings ([`conditions`]),
/// each with another number of clients.
fn experiment(trials: Vec<&Trial>) -> Vec<&Trial> {
    let mut groups: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        match groups
            .iter_mut()
            .find(|g| g.first().is_some_and(|first| conditions(&first.key) == conditions(&trial.key)))
        {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    let once = |g: &Vec<&Trial>| {
        let mut numbers: Vec<f64> = g.iter().map(|t| clients(t)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.windows(2).all(|pair| pair[0] < pair[1])
    };
    groups.into_iter().filter(|g| g.len() >= 2 && once(g)).max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the steps of the sweep, ordered by number of clients. In a run of `find` or `prove`, the steps are the run's
/// closed-loop trials. In an experiment, the steps are the largest sweep among the trials.
pub(crate) fn sweep<'a>(trials: &[&'a Trial]) -> Vec<&'a Trial> {
    let of =
        |kind: TrialKind| -> Vec<&Trial> { trials.iter().copied().filter(|t| closed(t) && t.kind == kind).collect() };
    let mut sweep: Vec<&Trial> = of(TrialKind::Sweep);
    match sweep.is_empty() {
        true => sweep = experiment(of(TrialKind::Experiment)),
        false => sweep.extend(of(TrialKind::Fixed)),
    }
    // A step whose connects failed on the generator's host had fewer clients than planned, so it is left out.
    if sweep.iter().any(|t| !lacked_connections(t)) {
        sweep.retain(|t| !lacked_connections(t));
    }
    sweep.sort_by(|a, b| clients(a).total_cmp(&clients(b)));
    sweep
}

/// Returns true if connects of a trial failed for lack of local ports or descriptors.
pub fn lacked_connections(trial: &Trial) -> bool {
    let failed = |kind: ErrorKind| trial.tally.errors.0.contains_key(&kind);
    failed(ErrorKind::ClientFds) || failed(ErrorKind::ClientPorts)
}

/// Returns the trials whose rate is at least [`REACHED`] times the highest rate, in the given order. Differences
/// between rates so near the highest rate are noise, so the first returned trial is as good as the others.
pub(crate) fn top<'a>(trials: &[&'a Trial]) -> Vec<&'a Trial> {
    let best = highest_rate(trials.iter().copied());
    trials.iter().copied().filter(|t| good(t) >= REACHED * best).collect()
}

/// Returns the step with the fewest clients that has a response time.
pub(crate) fn lightest<'a>(steps: &[&'a Trial]) -> Option<&'a Trial> {
    let usable = steps.iter().filter(|t| positive(t.rates.completed_rate).is_some() && r1_us(t).is_some());
    usable.copied().min_by(|a, b| clients(a).total_cmp(&clients(b)))
}

/// Finds the plateau: at least twice the clients raised the rate by less than [`FLAT`]. The sweep of `loadline find`
/// also ends at the threshold [`FLAT`]. A sweep that ended for lack of growth therefore has a plateau even if its last
/// step is the decisive step. A sweep that ran out of time has a plateau if an open loop offered more than the sweep's
/// highest rate, and completed no more.
pub(crate) fn plateau(sweep: &[&Trial], search: &[&Trial], decisive: Option<&Trial>) -> Plateau {
    let (Some(decisive), Some(last), true) = (decisive, sweep.last(), sweep.len() >= 2) else {
        return Plateau::NoResult;
    };
    let best = highest_rate(sweep.iter().copied());
    let none = |first: &Trial| (1.0 + FLAT).powf(doublings(sweep, first, last));
    let near = sweep.iter().copied().find(|t| good(t) * none(t) > best).unwrap_or(decisive);
    let of = |first: &Trial| {
        let growth = (good(last) / good(first).max(f64::MIN_POSITIVE)) - 1.0;
        let (from, to) = (clients(first), clients(last));
        let enough = to >= 2.0 * from && !may_have_grown(first, last, growth) || by_one(sweep, first);
        (enough && growth.is_finite() && growth < none(first) - 1.0).then_some(Plateau::Flat { from, to, growth })
    };
    let before = (clients(last), best, f64::INFINITY);
    of(decisive).or_else(|| of(near)).or_else(|| offered_more(search, Some(before))).unwrap_or(Plateau::Grows)
}

/// Returns true if the sweep stopped growing, but an open loop completed at least twice its highest rate. The server
/// has changed since the sweep: it compiled its code, filled a cache, or started more workers. By the utilization law,
/// a device that the sweep filled could not have served the higher rate.
pub(crate) fn is_outgrown(sweep: &[&Trial], search: &[&Trial]) -> bool {
    let best = |trials: &[&Trial]| highest_rate(trials.iter().copied());
    let is_flat = matches!(plateau(sweep, &[], top(sweep).first().copied()), Plateau::Flat { .. });
    is_flat && best(sweep) <= MUCH_LOWER * best(search)
}

/// Returns true if a heavier load of the run completed far more than `trial`. The resource that limited `trial` carried
/// the higher rate later, so this resource is not the limit.
pub(crate) fn is_outdone<'a>(trial: &Trial, mut loaded: impl Iterator<Item = &'a Trial>) -> bool {
    let (load, rate) = (trial.rates.concurrency, good(trial));
    loaded.any(|other| other.rates.concurrency > load && good(other) >= ASKED_FOR_MORE * rate)
}

/// Finds a plateau in open loops alone, among those that reach the highest rate.
pub(crate) fn plateau_of_open_loops(search: &[&Trial]) -> Plateau {
    offered_more(&top(search), None).unwrap_or(Plateau::NoResult)
}

/// Finds a plateau that an open loop shows. The open loop offered more than the sweep's highest load (or another open
/// loop) completed, but did not complete more. An open loop that is compared with the sweep must have had twice as many
/// requests in flight. An answer just before or after the end of a window changes the window's count by one, so a
/// difference of one answer is allowed. `swept` is the sweep's highest load: its clients, its rate, and an infinite
/// offered rate.
fn offered_more(search: &[&Trial], swept: Option<(f64, f64, f64)>) -> Option<Plateau> {
    let before = |t: &&Trial| Some((in_flight(t)?, good(t), t.rates.offered_rate));
    let loads: Vec<(f64, f64, f64)> = swept.into_iter().chain(search.iter().filter_map(before)).collect();
    let flat = |t: &Trial, (from, rate, offered): (f64, f64, f64)| {
        let (growth, to) = (good(t) / rate - 1.0, in_flight(t)?);
        let beyond = |rate: f64| t.rates.offered_rate >= ASKED_FOR_MORE * rate;
        let is_more = to >= 2.0 * from || beyond(offered);
        let one = 1.0 / (t.measured.tally.completed as f64).max(1.0);
        let seen = beyond(rate) && is_more && growth + one >= PLATEAU_KEPT - 1.0 && growth - one < FLAT;
        seen.then_some(Plateau::Flat { from, to, growth })
    };
    search.iter().rev().find_map(|t| loads.iter().find_map(|load| flat(t, *load)))
}

/// Returns the number of requests that an open loop had on its connections, by Little's law. Leaves out requests that
/// waited for a connection.
fn in_flight(trial: &Trial) -> Option<f64> {
    let Intensity::Open { max_connections, pipeline, .. } = trial.intensity else { return None };
    let asked = trial.rates.completed_rate * positive(trial.latency_us.mean)? / 1e6;
    Some(asked.min(f64::from(max_connections) * f64::from(pipeline)))
}

/// Returns the number of doublings of the clients between two steps, at least 1. If the sweep has other steps between
/// the two steps, returns 1, because the first doubling may have given all the growth.
fn doublings(sweep: &[&Trial], first: &Trial, last: &Trial) -> f64 {
    let (from, to) = (clients(first), clients(last));
    // The steps of the sweep are ordered by their numbers of clients.
    let next = sweep.get(sweep.partition_point(|t| clients(t) <= from));
    let between = next.is_some_and(|t| clients(t) < to);
    if between || from <= 0.0 { 1.0 } else { (to / from).log2().max(1.0) }
}

/// Returns true if throughput may have grown in proportion to the clients between two steps, and only chance hides it.
/// If a few answers take far longer than the others, the rate of a short step depends on the number of slow answers in
/// it. By renewal theory, a number of answers has a relative error: the coefficient of variation of their times,
/// divided by the square root of their number.
fn may_have_grown(first: &Trial, last: &Trial, growth: f64) -> bool {
    let error = rate_error(first).hypot(rate_error(last));
    growth + NORMAL_95 * error >= clients(last) / clients(first).max(1.0) - 1.0
}

/// Returns the relative error of the rate of a step, by the scatter of its response times; 0 if their scatter is
/// unknown.
fn rate_error(step: &Trial) -> f64 {
    let variation = responses(step).and_then(|times| ratio(times.sd_us(), times.mean_us())).unwrap_or(0.0);
    variation / (step.measured.tally.completed as f64).max(1.0).sqrt()
}

/// Returns true if one more client raised the rate by less than 2 % (condition (a) in `rules/network_medium.rs`). A
/// sweep that adds one client at a time needs condition (a), because its neighbouring steps differ by less than a
/// factor of two.
fn by_one(sweep: &[&Trial], first: &Trial) -> bool {
    let after = sweep.iter().find(|t| clients(t) > clients(first));
    after.is_some_and(|t| {
        clients(t) <= clients(first) + 1.0 && good(t) / good(first).max(f64::MIN_POSITIVE) < 1.0 + FLAT_BY_ONE
    })
}

#[cfg(test)]
mod tests;
