//! The result of `load`: the main figures of a load that was asked for. It has no capacity, since no other load was tried.

use run::{
    Breach, BreachKind, CourseFinding, Intensity, LoadState, Outcome, Run, Summary, SummaryFigure, Trial, TrialKind,
};

use super::times::time_in_words;
use super::{course, server_acts, statuses};
use crate::{Block, KeyFigure, Section, Tone, Unit, Weight};
use run::number::{count, number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let fixed: Vec<(&Trial, Outcome)> = of_load(run).collect();
    // Several trials are shown in a table.
    let [(trial, outcome)] = fixed.as_slice() else { return Vec::new() };
    let changed = run.findings.course.as_ref();
    let mut all: Vec<KeyFigure> = changed.map(course::key_figure).into_iter().collect();
    all.extend(figures(trial, *outcome, run.plan.load.new_connections, changed));
    all.extend(objective(run, *outcome));
    let mut blocks = vec![Block::KeyFigures(all)];
    blocks.extend(changed.map(|changed| Block::Table(course::table(changed))));
    vec![Section::new("load", "", Weight::First, blocks)]
}

/// Returns true if the findings are about a load that was asked for, and not about a search.
pub(super) fn asked(run: &Run) -> bool {
    run.findings.state == Some(LoadState::Requested)
}

fn of_load(run: &Run) -> impl Iterator<Item = (&Trial, Outcome)> {
    run.outcomes().filter(|(trial, _)| trial.kind == TrialKind::Fixed)
}

/// Returns the headline of a load: failures first, then how far a changing rate was held, then percentiles; `None` for a search.
pub(super) fn title(run: &Run) -> Option<String> {
    let all: Vec<(&Trial, Outcome)> = of_load(run).filter(|_| asked(run)).collect();
    let (trial, first) = all.first()?;
    if all.iter().all(|(_, outcome)| outcome.good_rate.is_none_or(|rate| rate <= 0.0)) {
        let status = statuses::main(&trial.tally).map_or(String::new(), |status| format!(": {status}"));
        return Some(format!("No answer was good{status}"));
    }
    let times = |figure| {
        let lowest = all.iter().map(|(trial, _)| trial.latency_us.figure(figure).lowest().unwrap_or(0.0));
        let text = range(lowest, |us| quantity(us, Unit::Micros));
        let known = all.iter().all(|(trial, _)| trial.latency_us.figure(figure).exact().is_some());
        if known { text } else { format!("at least {text}") }
    };
    let times = format!("p50 {}, p99 {}", times(SummaryFigure::P50), times(SummaryFigure::P99));
    let repeats = if all.len() > 1 { format!(" in {} repeats", all.len()) } else { String::new() };
    let rest = match &run.findings.course {
        Some(changed) => format!("{}; {times}", course::headline(changed)),
        None => {
            let rates = range(all.iter().filter_map(|(_, outcome)| outcome.good_rate), number);
            format!("{times} at {rates} requests/s{repeats}")
        }
    };
    let breach = first.breach.as_ref();
    Some(match breach.and_then(|breach| broken(breach, trial, run.findings.course.is_some())) {
        Some(why) => format!("{why}; {rest}"),
        None => crate::words::capital(&rest),
    })
}

/// Writes the smallest and the largest value.
fn range(values: impl Iterator<Item = f64> + Clone, write: impl Fn(f64) -> String) -> String {
    let [least, most] = [values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)].map(write);
    if least == most { least } else { format!("{least} to {most}") }
}

/// Returns the broken limit that a headline begins with. For a changing rate, another sentence states how far the
/// server kept up.
fn broken(breach: &Breach, trial: &Trial, changed: bool) -> Option<String> {
    let value = breach.value.map(|value| quantity(value, Unit::Share))?;
    match breach.kind {
        BreachKind::Errors => {
            let status =
                statuses::main(&trial.tally).map_or(String::new(), |status| format!(", most with status {status}"));
            Some(format!("{value} of the requests failed{status}"))
        }
        BreachKind::Unanswered => Some(format!("{value} of the requests were never answered")),
        BreachKind::Behind if !changed => Some(format!("Only {value} of the offered load completed")),
        _ => None,
    }
}

/// Returns the limits on the response time that the user named, and whether the load met them.
fn objective(run: &Run, outcome: Outcome) -> Option<KeyFigure> {
    let asked = &run.plan.objective;
    let limits = [("p50", asked.p50_us), ("mean", asked.mean_us), ("p99", asked.p99_us), ("p99.9", asked.p99_9_us)];
    let named: Vec<String> = limits
        .into_iter()
        .filter_map(|(name, us)| Some(format!("{name} at most {}", quantity(us?, Unit::Micros))))
        .collect();
    let (value, tone) = if outcome.held { ("met", Tone::Good) } else { ("not met", Tone::Bad) };
    let figure = KeyFigure { name: "Objective".into(), value: value.into(), detail: named.join(", "), tone };
    (!named.is_empty()).then_some(figure)
}

fn figures(trial: &Trial, outcome: Outcome, new_connections: bool, changed: Option<&CourseFinding>) -> Vec<KeyFigure> {
    let plain =
        |name: &str, value: String, detail: String| KeyFigure { name: name.into(), value, detail, tone: Tone::Plain };
    let (rates, tally, response) = (&trial.rates, &trial.tally, &trial.latency_us);
    let open = matches!(trial.intensity, Intensity::Open { .. } | Intensity::SClients { .. });
    let offered = format!(
        "offered {}, sent {}; {} in flight",
        quantity(rates.offered_rate, Unit::PerSecond),
        quantity(rates.sent_rate, Unit::PerSecond),
        number(rates.concurrency)
    );
    let about = match (open, new_connections) {
        (true, false) => "from the intended start".into(),
        (true, true) => format!("from the intended start{}", connecting(trial)),
        (false, true) => format!("from the connect{}", connecting(trial)),
        (false, false) => "from the send".into(),
    };
    let time = |figure| time_in_words(response.figure(figure));
    let tail = format!(
        "p90 {}, p99 {}, p99.9 {}, max {}; {about}",
        time(SummaryFigure::P90),
        time(SummaryFigure::P99),
        time(SummaryFigure::P999),
        time(SummaryFigure::Max)
    );
    let median = if response.count == 0 { "n/a".into() } else { format!("p50 {}", time(SummaryFigure::P50)) };
    let mut figures = vec![plain("Response", median, if response.count == 0 { String::new() } else { tail })];
    // The mean of a changing rate is none of its rates.
    if changed.is_none() {
        figures.push(plain("Completed", format!("{} requests/s", number(rates.completed_rate)), offered));
    }
    let counted = format!(
        "{} sent, {} of {} connections established",
        count(tally.sent),
        count(tally.connected),
        count(tally.attempted)
    );
    let counted = [counted].into_iter().chain(server_acts::sentences(trial)).collect::<Vec<_>>().join("; ");
    figures.push(plain("Requests", count(tally.completed), counted));
    figures.push(errors(trial, outcome));
    figures
}

/// Returns the medians of connect and handshake, which a response time with its own connection includes.
fn connecting(trial: &Trial) -> String {
    let part = |name: &str, times: &Summary| match times.count {
        0 => String::new(),
        _ => format!(", {name} {}", time_in_words(times.figure(SummaryFigure::P50))),
    };
    format!("{}{}", part("with connect", &trial.connect_us), part("handshake", &trial.handshake_us))
}

/// Returns the number of failed requests, and the share that counts for the objective.
fn errors(trial: &Trial, outcome: Outcome) -> KeyFigure {
    let tally = &trial.tally;
    let bad = tally.error_count() + tally.unexpected_status + tally.unanswered;
    let share =
        outcome.failed_share.filter(|s| *s > 0.0).map(|s| format!("{} of the requests", quantity(s, Unit::Share)));
    let detail: Vec<String> = share.into_iter().chain([super::trials::failures(tally)]).collect();
    let tone = if bad == 0 { Tone::Plain } else { Tone::Bad };
    KeyFigure { name: "Errors".into(), value: count(bad), detail: detail.join("; "), tone }
}
