//! Figures of one part of a load whose rate changes over time, and the limit that this part exceeded, if any.

use run::{Breach, BreachKind, CoursePart, Limits, Stage, Trial};
use stats::average;

use super::counts::{Counted, Counts, counts};
use super::times::{Times, times};
use crate::number::finite;
use crate::thresholds::{COURSE_NOISE, HELD_RATE, UNANSWERED_P99};

/// Divides the measured window at the times in `spans` (seconds since the window began), and returns the figures of
/// each part.
pub(super) fn parts(trial: &Trial, stages: &[Stage], spans: &[f64], limits: &Limits) -> Vec<CoursePart> {
    let of = |ends: &[f64]| part(trial, stages, [ends[0], ends[1]], limits);
    let (mut parts, counts): (Vec<CoursePart>, Vec<Counts>) = spans.windows(2).map(of).unzip();
    let has_errors = |part: &CoursePart| part.breach.is_some_and(|breach| breach.kind == BreachKind::Errors);
    let fails: Vec<bool> = parts.iter().map(has_errors).collect();
    for (at, (part, counts)) in parts.iter_mut().zip(&counts).enumerate() {
        // Failures at the edge between two parts do not count for a part if the neighbouring part has failures of its
        // own.
        let is_failing = |at: Option<usize>| at.and_then(|at| fails.get(at)).is_some_and(|fails| *fails);
        let counts_edge = [!is_failing(at.checked_sub(1)), !is_failing(Some(at + 1))];
        part.is_unknown |= part.breach.is_none() && !counts.show_success(counts_edge, limits);
    }
    parts
}

/// Returns the figures and the counts of one part of the measured window. The part begins `from_s` seconds, and ends
/// `to_s` seconds, after the start of the window. Failures at the edges of the part do not count.
fn part(trial: &Trial, stages: &[Stage], [from_s, to_s]: [f64; 2], limits: &Limits) -> (CoursePart, Counts) {
    // The rates are read slightly inside the part, because a rate at the very end of a stage belongs to the next stage.
    let rate_at = |s: f64| Stage::rate_at(stages, trial.measured.window.begin_s + s);
    let hair_s = 1e-6 * (to_s - from_s);
    let (counts, times) = (counts(trial, [from_s, to_s]), times(trial, &rate_at, [from_s, to_s]));
    let part = CoursePart {
        from_s,
        to_s,
        from: rate_at(from_s + hair_s),
        to: rate_at(to_s - hair_s),
        completed: counts.completed_rate,
        p99_us: times.p99().us,
        p99_at_least: times.p99().lacks_answers,
        failed_share: counts.inside.as_ref().and_then(Counted::failed_share),
        breach: None,
        is_unknown: false,
    };
    let offered = average(
        &(0..100).map(|i| rate_at(from_s + (to_s - from_s) * (f64::from(i) + 0.5) / 100.0)).collect::<Vec<_>>(),
    );
    let breach = breach(&part, (&counts, &times), offered, limits);
    let is_unknown = breach.is_none() && !times.show_success(limits);
    (CoursePart { breach, is_unknown, ..part }, counts)
}

/// Returns the limit that a part of the load exceeded. `offered` is the part's mean offered rate. The number of random
/// arrivals varies by about its square root. A server that keeps up may therefore complete slightly fewer requests in a
/// short part than the offered rate gives.
fn breach(part: &CoursePart, (counts, times): (&Counts, &Times), offered: f64, limits: &Limits) -> Option<Breach> {
    let due = offered * (part.to_s - part.from_s);
    let (kept, least) = (part.completed / offered, HELD_RATE - COURSE_NOISE / due.sqrt());
    let broken =
        |kind, value, limit| Some(Breach { kind, value: finite(value), limit: finite(limit), at_least: false });
    let lost = counts.inside.as_ref().map_or(0.0, Counted::lost_share);
    match part.failed_share {
        Some(failed) if failed > limits.errors => return broken(BreachKind::Errors, failed, limits.errors),
        _ if kept < least => return broken(BreachKind::Behind, kept, HELD_RATE),
        _ => {}
    }
    let all =
        [(BreachKind::P50, &times.inside.p50, limits.p50_us), (BreachKind::P99, &times.inside.p99, limits.p99_us)];
    for (kind, found, limit) in all {
        if let Some((us, limit)) = found.us.zip(limit).filter(|(us, limit)| us > limit) {
            return broken(kind, us, limit).map(|breach| Breach { at_least: found.lacks_answers, ..breach });
        }
    }
    // A request without an answer counts as longer than every limit.
    let is_missing = lost > UNANSWERED_P99 || times.inside.p99.lacks_answers && lost > 0.0;
    if limits.p99_us.is_some() && is_missing { broken(BreachKind::Unanswered, lost, UNANSWERED_P99) } else { None }
}
