//! Comparison of the capacities of two servers.

use run::{
    ClosedLoopSource, ComparedFigure, ComparisonResult, FigureRole, FigureUnit, Interval, Limits, NeededData, Run,
    Trial, TrialKind,
};

use super::contrast::{Contrast, between, contrast};
use super::figures::{CAPACITY, COMPLETED_RATE};
use super::input::{ComparisonInput, ErrorTerms, Line, Spread, compared};
use super::observations::{Cell, Observation, Pairing, Uncertainty};
use crate::context::repeats::{capacity_under, finished};
use crate::context::single::good;
use crate::thresholds::FEWEST_WINDOWS;
use stats::two_means::welch;
use stats::{Sample, average, ln_sd};

/// A capacity with the interval of its search.
#[derive(Clone, Copy)]
struct Held {
    /// Capacity, requests per second.
    rate: f64,
    interval: Option<Interval>,
    /// True if the search ended too early, so the capacity is only a lower bound.
    at_least: bool,
    /// Source of the capacity, if only closed-loop clients reached it.
    closed_loop: Option<ClosedLoopSource>,
}

/// Compares the capacities. If each side has at least three runs or repeats, the scatter between them gives the error
/// of the difference. With fewer than three runs or repeats, the intervals of the searches give the error of the
/// difference. For live servers, the scatter between alternating windows is added to the error of the difference. If no
/// search of one side found a rate that met the objective, the comparison of the capacities says so.
pub(super) fn capacity(both: &ComparisonInput<'_>) -> Option<Line> {
    let ([old, new], pairing) = (both.runs, both.pairing);
    // Both sides are judged by the objective of the first run of the old side. Each run derives its objective from its
    // own response time without load, so the objectives of runs may differ.
    let limits = old.first().map(|run| &run.findings.limits)?;
    let tried = [old, new].map(|runs| tried(runs, limits));
    let held = tried.each_ref().map(|all| all.iter().flatten().copied().collect::<Vec<Held>>());
    if tried.iter().any(Vec::is_empty) || held.iter().all(Vec::is_empty) {
        return None;
    }
    let said = said([old, new], &tried);
    if held.iter().any(Vec::is_empty) {
        return Some(gone(&tried, &held, said));
    }
    let cell: Cell = [0, 1].map(|side| observations(&held[side]));
    // A search may have found no capacity, so the capacities of both sides have no pairs.
    let apart = contrast(&[cell], Pairing::Kept)?;
    // The difference gets no interval if a search found no rate that met the objective, or if a capacity is a lower
    // bound. The difference also gets no interval if only one side's capacity comes from closed-loop clients.
    let bounds = sources(&held).or_else(|| bounds(&held));
    let uncertainty = if said.is_some() || bounds.is_some() { None } else { uncertainty(&apart, &held, both) };
    let said = said.or(bounds);
    let runs = tried.iter().map(Vec::len).min().filter(|_| !pairing.is_live());
    let of = if uncertainty.is_some_and(|uncertainty| uncertainty.of == NeededData::Windows) {
        NeededData::Windows
    } else {
        NeededData::Runs
    };
    let compared = ComparedFigure { said, ..line(compared(&apart, (held[0].len(), held[1].len()))) };
    Some(Line { compared, settled: None, spread: uncertainty.into(), error_terms: ErrorTerms { of, runs } })
}

fn line(compared: ComparedFigure) -> ComparedFigure {
    let (figure, role) = (CAPACITY.into(), FigureRole::Deciding);
    ComparedFigure { figure, role, unit: FigureUnit::PerSecond, more_is_better: true, ..compared }
}

fn uncertainty(apart: &Contrast, held: &[Vec<Held>; 2], both: &ComparisonInput<'_>) -> Option<Uncertainty> {
    let units = held.iter().map(Vec::len).min().unwrap_or(0);
    let own = own_error(held);
    if let Some(uncertainty) = apart.uncertainty.filter(|_| units >= FEWEST_WINDOWS) {
        // The capacities of a few repeats may be nearly equal by chance. The error of the difference is therefore at
        // least the error that follows from the intervals of the searches.
        return Some(Uncertainty { error: uncertainty.error.max(own.unwrap_or(0.0)), ..uncertainty });
    }
    let (scatter, freedom) = match both.pairing {
        Pairing::InTurns | Pairing::AtOnce | Pairing::Repeated => scatter(both)?,
        Pairing::Kept => (0.0, f64::INFINITY),
    };
    let between = between(both.pairing, (held[0].len(), held[1].len())).hypot(scatter);
    Some(Uncertainty { error: own?.hypot(between), freedom, between, of: NeededData::Windows })
}

/// Returns the standard error that disturbances of the machine add to the difference between two searches, and its
/// degrees of freedom. Returns `None` with too few windows.
///
/// The result of a search depends on a few windows (measured periods) with rates near the capacity. Other programs may
/// disturb each of these windows. Because a disturbed window can decide the search, a capacity is as uncertain as the
/// rate of one window. The alternating windows of both servers show how much the rate of one window scatters. The
/// measured scatter includes disturbed windows, because a disturbed window may have decided a search.
fn scatter(both: &ComparisonInput<'_>) -> Option<(f64, f64)> {
    let [pair] = both.pairs.as_slice() else { return None };
    let side = |at: usize| {
        let lns: Vec<f64> = pair[at].iter().map(|window| good(window.trial).ln()).collect();
        let sample = Sample::of(&lns).filter(|sample| lns.len() >= FEWEST_WINDOWS && sample.sd.is_finite())?;
        Some((sample.sd.powi(2), sample.n - 1.0))
    };
    Some(welch([side(0)?, side(1)?])).filter(|(error, _)| *error > 0.0)
}

/// Makes the table line for a comparison in which no search of one side found a rate that met the objective. The result
/// is "slower" or "faster" if most searches of the better side found a rate that met the objective.
fn gone(tried: &[Vec<Option<Held>>; 2], held: &[Vec<Held>; 2], said: Option<String>) -> Line {
    let rate = |side: usize| {
        held[side].first().map_or(f64::NAN, |_| average(&held[side].iter().map(|h| h.rate).collect::<Vec<_>>()))
    };
    let most = [0, 1].iter().any(|side| 2 * held[*side].len() > tried[*side].len());
    let word = match (most, held[0].is_empty()) {
        (false, _) => ComparisonResult::NotEnough,
        (true, true) => ComparisonResult::Faster,
        (true, false) => ComparisonResult::Slower,
    };
    let windows = (tried[0].len(), tried[1].len());
    let compared = line(ComparedFigure {
        old: rate(0),
        new: rate(1),
        ratio: f64::NAN,
        windows,
        said,
        ..ComparedFigure::default()
    });
    let error_terms = ErrorTerms { of: NeededData::Runs, ..ErrorTerms::default() };
    Line { compared, settled: Some(word), spread: Spread::Unknown, error_terms }
}

/// Returns a sentence about the searches that found no rate that met the objective. Returns `None` if every search
/// found a rate that met the objective.
fn said(runs: [&[Run]; 2], tried: &[Vec<Option<Held>>; 2]) -> Option<String> {
    let of = |side: usize| {
        let (all, held) = (tried[side].len(), tried[side].iter().flatten().count());
        let word = ["old", "new"][side];
        let why = runs[side].iter().filter_map(|run| run.findings.capacity.as_ref()?.failed_why.as_ref()).next();
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        match (held, all) {
            (0, 1) => Some(format!("the {word} server held the objective at no tried rate{why}")),
            (0, _) => Some(format!("the {word} server held the objective in none of {all} searches{why}")),
            _ if held < all => Some(format!("the {word} server held the objective in only {held} of {all} searches")),
            _ => None,
        }
    };
    let said: Vec<String> = [0, 1].into_iter().filter_map(of).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Returns a sentence on the capacities that are only lower bounds. Returns `None` if no capacity is a lower bound.
fn bounds(held: &[Vec<Held>; 2]) -> Option<String> {
    let of = |side: usize| held[side].iter().any(|one| one.at_least).then_some(["old", "new"][side]);
    let sides: Vec<&str> = [0, 1].into_iter().filter_map(of).collect();
    let servers = match sides.as_slice() {
        [] => return None,
        [one] => format!("the {one} server"),
        _ => "both servers".into(),
    };
    Some(format!("the search ended too early for {servers}, so the capacity is at least that high"))
}

/// Returns a sentence if the capacity of one side comes from closed-loop clients, and the capacity of the other side
/// from an open loop. A capacity from a closed loop cannot be compared with a capacity from an open loop.
fn sources(held: &[Vec<Held>; 2]) -> Option<String> {
    let of = |side: usize| held[side].iter().find_map(|one| one.closed_loop);
    let (side, source) = match (of(0), of(1)) {
        (Some(source), None) => ("old", source),
        (None, Some(source)) => ("new", source),
        _ => return None,
    };
    Some(format!("the capacity of the {side} server is that of a {}", source.words()))
}

/// Explains a capacity that is lower than the completed rate: the completed rate need not meet the objective.
pub(super) fn say_below_rate(lines: &mut [Line], old: &[Run]) {
    let values = |line: &Line| [line.compared.old, line.compared.new];
    let Some(rates) = lines.iter().find(|line| line.compared.figure == COMPLETED_RATE).map(values) else { return };
    let capacity = lines.iter_mut().map(|line| &mut line.compared).find(|compared| compared.figure == CAPACITY);
    let Some((capacity, run)) = capacity.zip(old.first()).filter(|(c, _)| c.old < rates[0] || c.new < rates[1]) else {
        return;
    };
    let rule = format!("it keeps {}, which the completed rate need not", run.findings.limits.text);
    capacity.said = Some(capacity.said.take().map_or(rule.clone(), |said| format!("{said}; {rule}")));
}

/// Returns the capacity of each search under `limits`, computed in the same way for both sides. The result is `None`
/// for a search that found no rate that meets these limits.
fn tried(runs: &[Run], limits: &Limits) -> Vec<Option<Held>> {
    let searches = runs.iter().flat_map(|run| finished(run).map(move |trials| (run, trials)));
    // A run without a search shows only the throughput of its load, not a capacity.
    let searched = searches.filter(|(_, trials)| trials.iter().any(|t| t.kind == TrialKind::Search));
    let of = |(run, trials): (&Run, &[Trial])| {
        let found = capacity_under(run, trials, limits).filter(|c| c.rate > 0.0)?;
        let interval = found.low.zip(found.high).map(|(low, high)| Interval { low, high });
        Some(Held { rate: found.rate, interval, at_least: found.at_least, closed_loop: found.closed_loop })
    };
    searched.map(of).collect()
}

fn observations(held: &[Held]) -> Vec<Observation> {
    held.iter().enumerate().map(|(unit, one)| Observation { unit, turn: 0, others: None, ln: one.rate.ln() }).collect()
}

/// Returns the standard error of the difference of the capacities' logarithms, from their intervals. Returns `None` if
/// a capacity has no interval.
fn own_error(held: &[Vec<Held>; 2]) -> Option<f64> {
    let side = |held: &Vec<Held>| {
        let squares: Option<f64> = held.iter().map(|one| one.interval.map(|i| ln_sd(i.low, i.high).powi(2))).sum();
        squares.map(|squares| squares.sqrt() / held.len() as f64)
    };
    let error = side(&held[0])?.hypot(side(&held[1])?);
    Some(error).filter(|error| *error > 0.0 && error.is_finite())
}

#[cfg(test)]
mod tests {
    use crate::compare::compare;
    use crate::compare::observations::Pairing;
    use crate::planted::{PlantedRun, Point};
    use run::{ComparedFigure, ComparisonResult, Run};

    /// Makes a run whose search ends before any rate misses the objective.
    fn never_failed() -> Run {
        let backlog = |t: &mut run::Trial, p: &Point| {
            if p.offered > 0.0 {
                t.rates.completed_rate = 1.1 * p.offered;
            }
        };
        let mut run = PlantedRun::new(10_000.0, 1000.0).steps(&[1]).rates(&[0.074, 0.089, 0.139]).change(backlog).run();
        crate::judge(&mut run);
        run
    }

    #[test]
    fn a_capacity_below_the_completed_rate_says_why() {
        let mut run = PlantedRun::new(10_000.0, 1000.0).run();
        crate::judge(&mut run);
        let runs = [run];
        let said = |rate: f64| {
            let line = |figure: &str, value: f64| super::Line {
                compared: ComparedFigure { figure: figure.into(), old: value, new: value, ..ComparedFigure::default() },
                settled: None,
                spread: super::Spread::Unknown,
                error_terms: super::ErrorTerms::default(),
            };
            let mut lines = [line(super::COMPLETED_RATE, rate), line(super::CAPACITY, 100.0)];
            super::say_below_rate(&mut lines, &runs);
            lines[1].compared.said.clone()
        };
        assert_eq!(said(90.0), None);
        let text = &runs[0].findings.limits.text;
        assert_eq!(said(110.0).unwrap(), format!("it keeps {text}, which the completed rate need not"));
    }

    #[test]
    fn a_capacity_of_a_closed_loop_is_not_compared_with_one_of_an_open_loop() {
        let found = |late: bool| {
            let fails = move |t: &mut run::Trial, _: &Point| {
                if late && t.kind == run::TrialKind::Search {
                    t.latency_us.p99 = 1e9;
                }
            };
            let steps: &[u32] = if late { &[1, 2, 4, 8, 16] } else { &[1] };
            let mut run = PlantedRun::new(10_000.0, 1000.0).steps(steps).rates(&[0.5, 0.9, 1.15]).change(fails).run();
            crate::judge(&mut run);
            run
        };
        let c = compare(("a", &[found(false)]), ("b", &[found(true)]), 0.03, Pairing::Kept).unwrap();
        let line = c.comparisons.iter().find(|c| c.figure == super::CAPACITY).unwrap();
        assert_eq!((line.word, line.low), (ComparisonResult::NotEnough, None), "{line:?}");
        let said = line.said.as_deref().unwrap_or_default();
        assert!(
            said.starts_with("the capacity of the new server is that of a closed loop: no rate was held"),
            "{line:?}"
        );
    }

    /// Each side has three equal lower bounds of its capacity. Equal lower bounds have no scatter, but they say nothing
    /// about the difference of the true capacities.
    #[test]
    fn lower_bounds_of_capacities_decide_nothing() {
        let runs = [never_failed(), never_failed(), never_failed()];
        let c = compare(("a", &runs), ("b", &runs), 0.03, Pairing::Kept).unwrap();
        let line = c.comparisons.iter().find(|c| c.figure == super::CAPACITY).unwrap();
        assert_eq!((line.word, line.low), (ComparisonResult::NotEnough, None), "{line:?}");
        assert!(line.said.as_ref().is_some_and(|said| said.contains("both servers")), "{line:?}");
    }
}
