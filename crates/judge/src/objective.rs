//! Limits of the objective, and the test whether a trial meets them. The search in the crate `lab` and the findings use
//! the functions of this module.

use run::number::{Unit, quantity};
use run::{AnswerTime, Breach, BreachKind, Limits, Run, Summary, SummaryFigure, TimeFigure, Trial, TrialKind};

use crate::number::{duration, finite, percent, positive, ratio};
use crate::single::{completed_share, failed_share, mostly_refused, none_good, several_sizes, unanswered};
use crate::sweep::lightest;
use crate::thresholds::{DEFAULT_FAR_MEDIANS, DEFAULT_MEDIANS, HELD_RATE, NOTICED_US, UNANSWERED_P99};

/// One part of an objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// Maximum share of the requests, `allowed`, whose time may exceed `limit_us`.
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
/// the requests that took longer than this limit. For a limit on the mean, the counts of slower requests only serve to
/// recognise disturbed tenths of a second.
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

/// Returns the objective of a run. The result is the plan's objective if the plan limits any time. If the plan limits
/// no time, the limit is derived from the median response time without load (reasons in
/// `docs/explanation/capacity.md`).
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
    let unloaded = unloaded_median_us(run).filter(|_| !own && !several_sizes(run));
    // If some answers take long under any load, users notice a higher load only when these answers take noticeably
    // longer.
    let slowest = || least_p99_us(run).filter(|us| *us > NOTICED_US).map_or(0.0, |us| us + NOTICED_US);
    let limits = Limits {
        p50_us: given.p50_us.or(unloaded.map(|us| DEFAULT_MEDIANS * us)),
        p99_us: given.p99_us.or(unloaded.map(|us| NOTICED_US.max(DEFAULT_FAR_MEDIANS * us).max(slowest()))),
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
    Limits { text: text(&limits, own, missing), ..limits }
}

/// Returns the objective in words, such as its limits on percentiles and on errors.
fn text(limits: &Limits, own: bool, missing: Option<&str>) -> String {
    let one = |name: &str, limit: Option<f64>| limit.map(|us| format!("{name} under {}", duration(us)));
    let p50 = one("median", limits.p50_us).map(|text| match own {
        true => text,
        false => format!("{text} (default: {DEFAULT_MEDIANS} × unloaded; set --p50)"),
    });
    let named = [p50, one("mean", limits.mean_us), one("p99", limits.p99_us), one("p99.9", limits.p99_9_us)];
    let others = timed(limits).filter_map(|(time, figure, us)| one(&time.figure_name(figure), Some(us)));
    let all: Vec<String> = named.into_iter().flatten().chain(others).chain(missing.map(str::to_owned)).collect();
    format!("{} and errors at most {}", all.join(", "), quantity(limits.errors, Unit::Share))
}

/// Returns the steps of the sweep whose response times show the server without load. Of several repeats, only the first
/// is used, so that all repeats have one objective. Steps with mostly refusals are left out, because refusals are
/// quick.
fn unloaded_steps(run: &Run) -> Vec<&Trial> {
    let steps = run.repeats().next().unwrap_or_default().iter();
    steps
        .filter(|t| matches!(t.kind, TrialKind::Sweep | TrialKind::Experiment))
        .filter(|t| !mostly_refused(t))
        .collect()
}

/// Returns the least 99th percentile of the response times in any step, microseconds. A pause of the machine lengthens
/// the 99th percentile of one step. A server that answers some requests slowly under any load has a long 99th
/// percentile in all steps. Returns `None` with fewer than two steps.
fn least_p99_us(run: &Run) -> Option<f64> {
    let steps = unloaded_steps(run);
    let all = steps.iter().filter_map(|step| positive(step.latency_us.p99));
    all.min_by(f64::total_cmp).filter(|_| steps.len() >= 2)
}

/// Returns the median response time without load, microseconds. The result is the smaller of the medians of the two
/// lightest steps, since other programs may have disturbed one of these steps.
fn unloaded_median_us(run: &Run) -> Option<f64> {
    let steps = unloaded_steps(run);
    let first = lightest(&steps)?;
    let rest: Vec<&Trial> = steps.iter().copied().filter(|t| !std::ptr::eq(*t, first)).collect();
    let all = [Some(first), lightest(&rest)].into_iter().flatten();
    all.filter_map(|t| positive(t.latency_us.p50)).min_by(f64::total_cmp)
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
    let lacks_events = limits.objective().limits_events() && trial.first_event_us.count == 0;
    if none_good(trial) || lacks_events {
        return Some(Breach { kind: BreachKind::NothingCompleted, value: None, limit: None, at_least: false });
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
    let last_byte = all.into_iter().filter_map(|(kind, figure, limit)| Some((&trial.latency_us, kind, figure, limit?)));
    let others = timed(limits).filter_map(|(time, figure, limit)| {
        Some((trial.answer_summary(time), BreachKind::of_time(time, figure)?, figure, limit))
    });
    last_byte.chain(others).find_map(|(seen, kind, figure, limit)| time_breach(seen, (kind, figure), limit))
}

/// Returns the breach of a limit on a time, if any. If only a lower bound of a percentile is known, the limit counts as
/// exceeded even if the bound is below the limit. If only a lower bound of the mean is known, this bound is compared
/// with the limit. The limit on errors already bounds the number of missing answers.
fn time_breach(seen: &Summary, (kind, figure): (BreachKind, SummaryFigure), limit: f64) -> Option<Breach> {
    let found = seen.figure(figure);
    let lost = seen.unanswered_share();
    match found.lowest() {
        Some(value) if value > limit => {
            let at_least = matches!(found, TimeFigure::AtLeast(_));
            Some(Breach { kind, value: finite(value), limit: finite(limit), at_least })
        }
        _ if found.exact().is_some() || figure == SummaryFigure::Mean || lost <= 0.0 => None,
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
        BreachKind::Errors => format!("{} of the requests failed", percent(value)),
        BreachKind::Behind => format!("{} of the offered load completed", percent(value)),
        BreachKind::Unanswered => {
            format!("{} of the requests were never answered, so p99 is unknown", percent(value))
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
mod tests {
    use super::*;
    use run::{Intensity, Rates, Summary};

    fn trial(p99: f64, completed: u64, failed: u64) -> Trial {
        let mut t = Trial { kind: TrialKind::Sweep, ..Trial::default() };
        t.rates = Rates { completed_rate: completed as f64, offered_rate: completed as f64, ..Rates::default() };
        t.latency_us = Summary { p50: p99 / 2.0, p99, count: completed, ..Summary::default() };
        t.measured.tally.completed = completed;
        t.measured.tally.unexpected_status = failed;
        t
    }

    /// The figures of this test were seen with servers that answered every request.
    #[test]
    fn few_random_arrivals_and_slow_first_answers_do_not_fall_behind() {
        let behind = |(due, completed): (u64, u64), min_us: f64, warmup_s: f64| {
            let mut t = trial(1.5e6, completed, 0);
            t.intensity =
                Intensity::Open { rate: 20.0, arrival: run::Arrival::Poisson, max_connections: 64, pipeline: 1 };
            t.rates = Rates { completed_rate: completed as f64 / 5.0, offered_rate: 20.0, ..Rates::default() };
            (t.latency_us.min, t.latency_us.p90) = (min_us, 1.1 * min_us);
            (t.measured.tally.due, t.measured.length_s) = (due, 5.0);
            t.measured.window = run::Window { begin_s: warmup_s, end_s: warmup_s + 5.0 };
            breach(&t, &Limits::default()).is_some_and(|breach| breach.kind == BreachKind::Behind)
        };
        assert!(!behind((84, 84), 100.0, 0.0), "84 requests arrived instead of 100");
        assert!(behind((120, 84), 100.0, 0.0));
        assert!(!behind((100, 86), 700_000.0, 0.0), "no answer can come in the first 0.7 s");
        assert!(behind((100, 86), 700_000.0, 2.0), "with a warm-up, answers come from the beginning");
    }

    #[test]
    fn without_a_limit_the_unloaded_median_sets_one_that_pauses_do_not_change() {
        let run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
        let limits = limits(&run);
        assert_eq!((limits.p50_us, limits.p99_us), (Some(500.0), Some(100_000.0)));
        let kind = |p99, completed, failed| breach(&trial(p99, completed, failed), &limits).map(|b| (b.kind, b.value));
        assert_eq!(kind(1000.0, 1000, 1), None);
        assert_eq!(kind(1002.0, 1000, 0), Some((BreachKind::P50, Some(501.0))));
        assert_eq!(kind(10.0, 1000, 2), Some((BreachKind::Errors, Some(0.002))));
        assert_eq!(kind(10.0, 0, 0), Some((BreachKind::NothingCompleted, None)));
        let mut tail = trial(100.0, 1000, 0);
        tail.latency_us.p99 = 1e6;
        assert_eq!(breach(&tail, &limits).map(|b| b.kind), Some(BreachKind::P99), "a packet that is sent again");
    }

    /// Two answers in a hundred take 300 ms under any load, so the default limit on the slowest answers is longer.
    #[test]
    fn answers_that_are_slow_under_any_load_raise_the_default_limit() {
        let step = |p99_us: f64| {
            let mut step = trial(100.0, 1000, 0);
            step.latency_us.p99 = p99_us;
            step
        };
        let limit = |trials: Vec<Trial>| limits(&Run { trials, ..Run::default() }).p99_us;
        assert_eq!(limit(vec![step(300_000.0), step(310_000.0)]), Some(400_000.0));
        assert_eq!(limit(vec![step(300_000.0), step(1000.0)]), Some(100_000.0), "a pause during the first step");
        assert_eq!(limit(vec![step(300_000.0)]), Some(100_000.0), "a single step may have had a pause");
    }

    /// Every answer is a quick 401. The user allows any share of errors, and limits the response time.
    #[test]
    fn a_limit_on_the_response_time_is_not_met_without_a_good_answer() {
        let mut refused = trial(100.0, 1000, 1000);
        refused.latency_us = Summary { at_least: run::SummaryFigure::ALL.into_iter().collect(), ..refused.latency_us };
        refused.latency_us.count = 0;
        let of = |limits: Limits| breach(&refused, &Limits { errors: 1.0, ..limits }).map(|b| b.kind);
        for limits in
            [Limits { p99_us: Some(1e6), ..Limits::default() }, Limits { mean_us: Some(1e6), ..Limits::default() }]
        {
            assert_eq!(of(limits), Some(BreachKind::NothingCompleted));
        }
        assert_eq!(of(Limits::default()), None, "nothing but errors is limited, and all of them are allowed");
    }

    /// A rate limit of 100/s refused 98 % of one client's requests, each within 27 µs. Good answers took 10 ms.
    #[test]
    fn the_time_of_refusals_makes_no_limit() {
        let refused = trial(54.0, 1000, 980);
        let of = |trials: Vec<Trial>| limits(&Run { trials, ..Run::default() });
        let found = of(vec![refused.clone()]);
        assert_eq!((found.p50_us, found.p99_us), (None, None));
        assert!(found.text.contains("were refusals"), "{}", found.text);
        assert_eq!(of(vec![refused, trial(20_000.0, 1000, 20)]).p50_us, Some(100_000.0));
    }

    #[test]
    fn each_limit_that_is_named_counts_and_no_other() {
        let mut run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
        run.plan.objective.mean_us = Some(70.0);
        run.plan.objective.p99_9_us = Some(900.0);
        let limits = limits(&run);
        assert_eq!((limits.p50_us, limits.p99_us), (None, None));
        assert!(limits.text.starts_with("mean under 70") && limits.text.contains("p99.9 under 900"), "{}", limits.text);
        let mut seen = trial(5000.0, 1000, 0);
        (seen.latency_us.mean, seen.latency_us.p99_9) = (60.0, 800.0);
        assert!(holds(&seen, &limits));
        seen.latency_us.mean = 71.0;
        assert_eq!(breach(&seen, &limits).map(|b| b.kind), Some(BreachKind::Mean));
        seen.latency_us.mean = 60.0;
        seen.latency_us.p99_9 = 901.0;
        assert_eq!(breach(&seen, &limits).map(|b| b.kind), Some(BreachKind::P999));
    }

    /// Four of sixteen connections got all answers, and the other twelve connections waited to the end. Only a few
    /// requests wait, but they are more than one in a hundred of all requests.
    #[test]
    fn requests_that_were_never_answered_count_against_p99_and_errors() {
        let run = Run { trials: vec![trial(100.0, 1000, 0)], ..Run::default() };
        let mut starved = trial(100.0, 988, 0);
        starved.tally.unanswered = 12;
        let of = |limits: &Limits| breach(&starved, limits).map(|b| b.kind);
        assert_eq!(of(&limits(&run)), Some(BreachKind::Errors));
        let lenient = Limits { errors: 0.05, ..limits(&run) };
        assert_eq!(of(&lenient), Some(BreachKind::Unanswered));
        assert_eq!(of(&Limits { p50_us: None, p99_us: None, ..lenient }), None);
    }

    #[test]
    fn an_open_loop_that_falls_behind_does_not_hold() {
        let mut t = trial(10.0, 800, 0);
        t.intensity =
            Intensity::Open { rate: 1000.0, arrival: run::Arrival::Poisson, max_connections: 100, pipeline: 1 };
        t.rates.offered_rate = 1000.0;
        assert!(!holds(&t, &limits(&Run::default())));
    }

    /// After 100 answers within 1 ms each, the window ends while four requests have waited for 0.9 s. The response
    /// times of the trial must show the stall of the four waiting requests.
    #[test]
    fn requests_in_flight_at_the_end_of_the_window_count_with_their_age() {
        let limits = Limits { p99_us: Some(20_000.0), errors: 0.0, ..Limits::default() };
        let hist = |n: u64, ns: u64| {
            let mut hist = run::Hist::new();
            (0..n).for_each(|_| hist.record_ns(ns));
            hist
        };
        let with = |answers: u64, ages: Option<run::Hist>| {
            let mut stalled = trial(1000.0, 100, 0);
            stalled.histograms.insert("response".into(), hist(answers, 1_000_000));
            ages.into_iter().for_each(|ages| drop(stalled.histograms.insert("under_way".into(), ages)));
            stalled.latency_us = run::response_summary(&stalled.histograms, 0);
            stalled
        };
        assert_eq!(breach(&with(100, None), &limits), None);
        let found = breach(&with(100, Some(hist(4, 900_000_000))), &limits).unwrap();
        assert_eq!((found.kind, found.at_least), (BreachKind::P99, true));
        assert!(found.value.is_some_and(|us| (us / 900_000.0 - 1.0).abs() < 0.01), "{found:?}");
        assert!(words(&found).starts_with("p99 was at least 9"), "{}", words(&found));
        // Some requests are in flight at the end of every window. Among thousands of requests, a few that have waited
        // long do not change the 99th percentile.
        assert_eq!(breach(&with(100, Some(hist(4, 1_500_000))), &limits), None);
        assert_eq!(breach(&with(10_000, Some(hist(4, 900_000_000))), &limits), None);
    }

    /// A fifth of the requests times out after 50 ms, and the user allows half of the requests to fail.
    #[test]
    fn timeouts_break_a_limit_on_the_tail_and_none_on_the_median() {
        let hist = |ns: u64, n: u64| {
            let mut hist = run::Hist::new();
            hist.record_many_ns(ns, n);
            hist
        };
        let mut timed_out = trial(1000.0, 800, 0);
        timed_out.histograms =
            [("response".into(), hist(5_000_000, 800)), ("unanswered".into(), hist(50_000_000, 200))].into();
        timed_out.latency_us = run::response_summary(&timed_out.histograms, 0);
        let of = |limits: Limits| breach(&timed_out, &Limits { errors: 0.5, ..limits }).map(|b| (b.kind, b.at_least));
        let p99 = |us| of(Limits { p99_us: Some(us), ..Limits::default() });
        assert_eq!(p99(10_000.0), Some((BreachKind::P99, true)));
        assert_eq!(p99(1e6), Some((BreachKind::Unanswered, false)), "the rest may take longer than any limit");
        assert_eq!(of(Limits { p50_us: Some(10_000.0), ..Limits::default() }), None);
        assert_eq!(of(Limits { mean_us: Some(20_000.0), ..Limits::default() }), None, "no more failed than allowed");
        assert_eq!(of(Limits { mean_us: Some(10_000.0), ..Limits::default() }), Some((BreachKind::Mean, true)));
    }
}
