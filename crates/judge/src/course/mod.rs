//! Findings about a single load whose offered rate changes over time. The findings state at which rates the server
//! still answered as many requests as were offered, within the objective. A mean over the whole ramp would describe
//! none of its rates.

mod counts;
mod part;
mod spans;
mod times;

use run::{CourseFinding, CoursePart, Run, Stage, Trial, TrialKind};

use self::part::parts;
use self::spans::spans;
use crate::estimate::objective::{limits, words};
use crate::number::{figure, rate};

/// Returns the parts of the first load with planned stages, and the highest rate at which the server kept up. Returns
/// `None` without planned stages, or if the load was also changed by hand.
pub(crate) fn course(run: &Run) -> Option<CourseFinding> {
    let trial = run.trials.iter().find(|trial| trial.kind == TrialKind::Fixed)?;
    let (stages, limits) = (&run.plan.load.stages, limits(run));
    let points = trial.measured.series_completed.len();
    if stages.is_empty() || !trial.by_hand.is_empty() || points == 0 || trial.measured.length_s <= 0.0 {
        return None;
    }
    Some(held(parts(trial, stages, &spans(stages, trial), &limits)))
}

/// Describes the offered rate of a trial. For a load whose rate changes, gives the lowest and the highest rate.
pub(crate) fn offered(run: &Run, trial: &Trial) -> String {
    match Stage::range(&run.plan.load.stages).filter(|_| trial.kind == TrialKind::Fixed) {
        Some((least, most)) if least < most => format!("{} to {}", figure(least), rate(most)),
        _ => rate(trial.rates.offered_rate),
    }
}

/// Returns true if the offered rate changed during a trial.
pub(crate) fn changes_rate(run: &Run, trial: &Trial) -> bool {
    let is_ramp = Stage::range(&run.plan.load.stages).is_some_and(|(least, most)| least < most);
    trial.kind == TrialKind::Fixed && is_ramp || !trial.by_hand.is_empty()
}

/// Finds the highest rate that met the objective below every rate that failed. If a part with a rising or falling rate
/// failed, it is unknown at which rate the failures began. If any part of the load failed, each part that met the
/// objective therefore counts only with its lowest rate. A part of the load whose result is unknown counts as failed.
fn held(parts: Vec<CoursePart>) -> CourseFinding {
    let (top, bottom) = (|part: &CoursePart| part.from.max(part.to), |part: &CoursePart| part.from.min(part.to));
    let lowest = |is_wanted: fn(&CoursePart) -> bool| {
        let wanted = parts.iter().enumerate().filter(|(_, part)| is_wanted(part));
        wanted.min_by(|a, b| top(a.1).total_cmp(&top(b.1))).map(|(at, _)| at)
    };
    let (failed, unknown) = (lowest(|part| part.breach.is_some()), lowest(|part| part.is_unknown));
    let is_whole = failed.is_none() && unknown.is_none();
    let bounds = [failed, unknown].into_iter().flatten().filter_map(|at| parts.get(at));
    let below = bounds.map(top).fold(f64::INFINITY, f64::min);
    let holding = parts.iter().filter(|part| part.breach.is_none() && !part.is_unknown && top(part) < below);
    let held_rate = holding.map(|part| if is_whole { top(part) } else { bottom(part) }).reduce(f64::max);
    let failed_why = failed.and_then(|at| parts.get(at)?.breach.as_ref()).map(words);
    CourseFinding { held_rate, failed, failed_why, unknown, parts }
}

#[cfg(test)]
mod tests;
