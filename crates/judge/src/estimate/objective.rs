//! Limits of the objective, and the test whether a trial meets them. The search in the crate `lab` and the findings use
//! the functions of this module.

mod unloaded;

use run::number::{Unit, quantity};
use run::{AnswerTime, Breach, BreachKind, Hist, Limits, Run, Summary, SummaryFigure, TimeFigure, Trial, TrialKind};

use self::unloaded::Unloaded;
use crate::context::single::{
    completed_share, failed_share, good, highest_rate, mostly_refused, none_good, several_sizes, unanswered,
};
use crate::number::{duration, finite, percent, positive, ratio};
use crate::thresholds::{
    DEFAULT_FAR_MEDIANS, DEFAULT_MEDIANS, FEWEST_WINDOWS, HELD_RATE, MUCH_LOWER, NOTICED_US, UNANSWERED_P99,
};

/// One part of an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// Maximum share of the requests, `allowed`, that may take longer than `limit_us`.
    Late { time: AnswerTime, limit_us: f64, allowed: f64 },
    /// Maximum mean response time, microseconds.
    Mean { limit_us: f64 },
    /// Maximum share of the requests that may fail.
    Failed { allowed: f64 },
}

/// Returns the parts of an objective. A trial meets the objective if it meets every part.
pub(crate) fn parts(limits: &Limits) -> Vec<Part> {
    let late = |limit: Option<f64>, figure: SummaryFigure| {
        let time = AnswerTime::LastByte;
        limit.zip(figure.share_above()).map(|(limit_us, allowed)| Part::Late { time, limit_us, allowed })
    };
    let others = timed(limits)
        .filter_map(|(time, figure, limit_us)| Some(Part::Late { time, limit_us, allowed: figure.share_above()? }));
    let mean = limits.mean_us.map(|limit_us| Part::Mean { limit_us });
    let failed = Some(Part::Failed { allowed: limits.errors });
    let (p50, p99) = (late(limits.p50_us, SummaryFigure::P50), late(limits.p99_us, SummaryFigure::P99));
    let all = [p50, mean, p99, late(limits.p99_9_us, SummaryFigure::P999), failed].into_iter().flatten();
    all.chain(others).collect()
}

/// Returns each limit on a time other than the response time.
fn timed(limits: &Limits) -> impl Iterator<Item = (AnswerTime, SummaryFigure, f64)> {
    let all = limits.objective().timed().into_iter();
    all.flat_map(|(time, limits)| limits.each().map(move |(figure, us)| (time, figure, us)).collect::<Vec<_>>())
}

/// Returns the limits on the response time, microseconds. For each limit, a search counts, in each tenth of a second,
/// the requests that took longer than this limit. A limit on the mean uses these counts only to recognise disturbed
/// tenths of a second.
pub fn late_us(limits: &Limits) -> Vec<f64> {
    [limits.p50_us, limits.mean_us, limits.p99_us, limits.p99_9_us].into_iter().flatten().collect()
}

/// Returns true if an objective limits the response time or another time, such as the time to the first byte.
fn limits_a_time(limits: &Limits) -> bool {
    longest_mean_us(limits).is_some() || timed(limits).next().is_some()
}

/// Returns the longest mean response time, microseconds, at which the objective can still be met.
pub fn longest_mean_us(limits: &Limits) -> Option<f64> {
    // If response times are exponential, the mean is 1.44 times the median, and the 99th percentile is 4.6 times the
    // mean. If response times are constant, the median, the mean and the 99th percentile are equal.
    let all = [limits.p50_us.map(|us| 1.5 * us), limits.mean_us, limits.p99_us, limits.p99_9_us];
    all.into_iter().flatten().reduce(f64::min)
}

/// Returns the objective of a run. The result is the plan's objective if the plan limits a time. If the plan limits no
/// time, the limit is derived from the usual response time without load (reasons in `docs/explanation/capacity.md`).
pub fn limits(run: &Run) -> Limits {
    let asked = &run.plan.objective;
    let given = Limits {
        p50_us: asked.p50_us.and_then(positive),
        p99_us: asked.p99_us.and_then(positive),
        p99_9_us: asked.p99_9_us.and_then(positive),
        mean_us: asked.mean_us.and_then(positive),
        first_byte: asked.first_byte,
        first_event: asked.first_event,
        gap: asked.gap,
        errors: asked.errors,
        text: String::new(),
    };
    let own = limits_a_time(&given);
    let unloaded = Unloaded::of(&unloaded_steps(run)).filter(|_| !own && !several_sizes(run));
    // If some answers take long under any load, users notice a heavier load only when these answers become noticeably
    // longer.
    let slowest = || least_p99_us(run).filter(|us| *us > NOTICED_US).map_or(0.0, |us| us + NOTICED_US);
    let limits = Limits {
        p50_us: given.p50_us.or(unloaded.map(|usual| DEFAULT_MEDIANS * usual.us)),
        p99_us: given.p99_us.or(unloaded.map(|usual| NOTICED_US.max(DEFAULT_FAR_MEDIANS * usual.us).max(slowest()))),
        ..given
    };
    let missing = match (limits_a_time(&limits), several_sizes(run)) {
        (true, _) => None,
        (false, true) => Some("no limit on the response time (several request sizes)"),
        (false, false) if run.trials.iter().any(|t| t.kind == TrialKind::Sweep) => {
            Some("no limit on the response time (most answers without load were refusals)")
        }
        (false, false) => Some("no limit on the response time (no unloaded trial)"),
    };
    Limits { text: text(&limits, unloaded, missing), ..limits }
}

/// Returns the objective in words, such as its limits on percentiles and on errors. `unloaded` is the usual response
/// time without load if the limits were derived from it.
fn text(limits: &Limits, unloaded: Option<Unloaded>, missing: Option<&str>) -> String {
    let one = |name: &str, limit: Option<f64>| limit.map(|us| format!("{name} under {}", duration(us)));
    let p50 = one("median", limits.p50_us).map(|text| match unloaded {
        None => text,
        Some(Unloaded { is_mean: false, .. }) => format!("{text} (default: {DEFAULT_MEDIANS} × unloaded; set --p50)"),
        Some(_) => format!(
            "{text} (default: {DEFAULT_MEDIANS} × unloaded mean, since response times differ widely; set --p50)"
        ),
    });
    let named = [p50, one("mean", limits.mean_us), one("p99", limits.p99_us), one("p99.9", limits.p99_9_us)];
    let others = timed(limits).filter_map(|(time, figure, us)| one(&time.figure_name(figure), Some(us)));
    let all: Vec<String> = named.into_iter().flatten().chain(others).chain(missing.map(str::to_owned)).collect();
    format!("{} and errors at most {}", all.join(", "), quantity(limits.errors, Unit::Share))
}

/// Returns the steps of the sweep whose response times show the server without load. Of several repeats, only the first
/// is used, so that all repeats have one objective. Steps in which most answers are refusals are left out, because
/// refusals are quick.
fn unloaded_steps(run: &Run) -> Vec<&Trial> {
    let steps = run.repeats().next().unwrap_or_default().iter();
    steps
        .filter(|t| matches!(t.kind, TrialKind::Sweep | TrialKind::Experiment))
        .filter(|t| !mostly_refused(t))
        .collect()
}

/// Returns the least 99th percentile of the response times in any step, microseconds. A pause of the machine lengthens
/// the 99th percentile of one step. A server that answers some requests slowly under any load has a long 99th
/// percentile in all steps. A step with few answers may have no slow answer by chance. The light steps together
/// therefore replace the steps with few answers, if they have enough answers. Returns `None` with fewer than two steps.
fn least_p99_us(run: &Run) -> Option<f64> {
    let steps = unloaded_steps(run);
    let slow = |answers: u64| SummaryFigure::P99.share_above().unwrap_or(0.0) * answers as f64;
    let is_enough = |answers: u64| slow(answers) >= FEWEST_WINDOWS as f64;
    let of_light = light_times(&steps).filter(|times| is_enough(times.len()));
    let each = steps.iter().filter(|step| of_light.is_none() || is_enough(step.latency_us.count));
    let each = each.filter_map(|step| positive(step.latency_us.p99));
    let light = of_light.as_ref().and_then(|times| positive(times.quantile_us(SummaryFigure::P99.share()?)));
    each.chain(light).min_by(f64::total_cmp).filter(|_| steps.len() >= 2)
}

/// Returns the response times of all light steps together. A light step has at most half of the highest rate, so hardly
/// any request waits. Returns `None` if the times of any light step are unknown.
fn light_times(steps: &[&Trial]) -> Option<Hist> {
    let most = highest_rate(steps.iter().copied());
    let light = steps.iter().filter(|step| good(step) <= MUCH_LOWER * most);
    let each: Option<Vec<&Hist>> = light.map(|step| step.histograms.get("response")).collect();
    let mut all = Hist::new();
    each?.into_iter().for_each(|times| all.merge(times));
    Some(all)
}

/// Returns the limit of the objective that a trial exceeded. Returns `None` if the trial met the objective.
pub fn breach(trial: &Trial, limits: &Limits) -> Option<Breach> {
    let broken = |kind, value: f64, limit: f64| {
        Some(Breach { kind, value: finite(value), limit: finite(limit), at_least: false })
    };
    if positive(trial.rates.completed_rate).is_none() {
        return Some(Breach { kind: BreachKind::NothingCompleted, value: None, limit: None, at_least: false });
    }
    let failed = failed_share(trial).unwrap_or(1.0);
    if failed > limits.errors {
        return broken(BreachKind::Errors, failed, limits.errors);
    }
    let kept = completed_share(trial);
    if kept < HELD_RATE && matches!(trial.intensity, run::Intensity::Open { .. }) {
        return broken(BreachKind::Behind, kept, HELD_RATE);
    }
    if !limits_a_time(limits) {
        return None;
    }
    if none_good(trial) {
        return Some(Breach { kind: BreachKind::NothingCompleted, value: None, limit: None, at_least: false });
    }
    if timed(limits).any(|(time, ..)| time.is_of_events() && trial.answer_summary(time).is_empty()) {
        return Some(Breach { kind: BreachKind::NoEvents, value: None, limit: None, at_least: false });
    }
    let lost = unanswered(trial);
    let lost = ratio(lost, lost + trial.measured.tally.completed as f64).unwrap_or(0.0);
    if lost > UNANSWERED_P99 {
        return broken(BreachKind::Unanswered, lost, UNANSWERED_P99);
    }
    let all = [
        (BreachKind::P50, SummaryFigure::P50, limits.p50_us),
        (BreachKind::Mean, SummaryFigure::Mean, limits.mean_us),
        (BreachKind::P99, SummaryFigure::P99, limits.p99_us),
        (BreachKind::P999, SummaryFigure::P999, limits.p99_9_us),
    ];
    let last_byte =
        all.into_iter().filter_map(|(kind, figure, limit)| Some((AnswerTime::LastByte, kind, figure, limit?)));
    let others = timed(limits)
        .filter_map(|(time, figure, limit)| Some((time, BreachKind::of_time(time, figure)?, figure, limit)));
    let broken = |(time, kind, figure, limit)| time_breach(trial, time, (kind, figure), limit);
    last_byte.chain(others).find_map(broken)
}

/// Returns the breach of a limit on a time, such as the response time, if any. If only a lower bound of a percentile is
/// known, the limit counts as exceeded even if the lower bound is below the limit. A limit on the mean also counts as
/// exceeded if a request got no answer, because the mean is then unknown. Times of events count in the same way: an
/// answer without any event never got its first event.
fn time_breach(
    trial: &Trial,
    time: AnswerTime,
    (kind, figure): (BreachKind, SummaryFigure),
    limit: f64,
) -> Option<Breach> {
    let seen: &Summary = trial.answer_summary(time);
    let found = seen.figure(figure);
    let lost = seen.unanswered_share();
    match found.lowest() {
        Some(value) if value > limit => {
            let at_least = matches!(found, TimeFigure::AtLeast(_));
            Some(Breach { kind, value: finite(value), limit: finite(limit), at_least })
        }
        _ if found.exact().is_some() || lost <= 0.0 => None,
        _ if time.is_of_events() => {
            Some(Breach { kind: BreachKind::NoEvents, value: finite(lost), limit: None, at_least: false })
        }
        _ => Some(Breach {
            kind: BreachKind::Unanswered,
            value: finite(lost),
            limit: finite(UNANSWERED_P99),
            at_least: false,
        }),
    }
}

/// Counts the requests that were still unanswered at the end of the window, and had been in flight for longer than
/// `limit_us`.
pub(crate) fn overdue(trial: &Trial, limit_us: f64) -> f64 {
    let within_ns = (limit_us * 1e3).clamp(0.0, u64::MAX as f64) as u64;
    trial.histograms.get("under_way").map_or(0.0, |ages| ages.len() as f64 * (1.0 - ages.share_within_ns(within_ns)))
}

/// Returns true if a trial met the objective.
pub(crate) fn holds(trial: &Trial, limits: &Limits) -> bool {
    breach(trial, limits).is_none()
}

/// Describes a breach in words, with its figure: `p99 was 30 ms`.
pub(crate) fn words(breach: &Breach) -> String {
    let value = breach.value.unwrap_or(f64::NAN);
    let time = |value| format!("{}{}", if breach.at_least { "at least " } else { "" }, duration(value));
    match breach.kind {
        BreachKind::NothingCompleted => "no request got a good answer".into(),
        BreachKind::NoEvents if breach.value.is_some() => {
            format!("{} of the answers had no event, so the limited time is unknown", percent(value))
        }
        BreachKind::NoEvents => "no answer had enough events to measure the limited time".into(),
        BreachKind::Errors => format!("{} of the requests failed", percent(value)),
        BreachKind::Behind => format!("{} of the offered load completed", percent(value)),
        BreachKind::Unanswered => {
            format!("{} of the requests were never answered, so their response times are unknown", percent(value))
        }
        BreachKind::P50 => format!("the median was {}", time(value)),
        BreachKind::P99 => format!("p99 was {}", time(value)),
        BreachKind::P999 => format!("p99.9 was {}", time(value)),
        BreachKind::Mean => format!("the mean was {}", time(value)),
        other => format!("{} was {}", timed_figure(other), time(value)),
    }
}

/// Returns the name of a limited figure that belongs to a time other than the response time, with its article ("the
/// median …").
fn timed_figure(kind: BreachKind) -> String {
    let name = kind.timed_figure().unwrap_or_default();
    if name.starts_with("median") { format!("the {name}") } else { name }
}

#[cfg(test)]
mod tests;
