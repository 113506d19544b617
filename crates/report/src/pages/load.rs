//! The result of `load`: the main figures of one fixed load.

use run::{Intensity, Outcome, Run, Summary, Trial, TrialKind};

use super::connection_ends;
use crate::{Block, KeyFigure, Section, Tone, Unit, Weight};
use run::number::{count, number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let fixed: Vec<(&Trial, Outcome)> = run.outcomes().filter(|(t, _)| t.kind == TrialKind::Fixed).collect();
    // Several trials are shown in a table.
    let [(trial, outcome)] = fixed.as_slice() else { return Vec::new() };
    let figures = figures(trial, *outcome, run.plan.load.new_connections);
    vec![Section::new("load", "", Weight::First, vec![Block::KeyFigures(figures)])]
}

fn figures(trial: &Trial, outcome: Outcome, new_connections: bool) -> Vec<KeyFigure> {
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
    let tail = format!(
        "p90 {}, p99 {}, p99.9 {}, max {}; {about}",
        quantity(response.p90, Unit::Micros),
        quantity(response.p99, Unit::Micros),
        quantity(response.p99_9, Unit::Micros),
        quantity(response.max, Unit::Micros)
    );
    let mut figures = vec![plain("Completed", format!("{} requests/s", number(rates.completed_rate)), offered)];
    let median =
        if response.count == 0 { "n/a".into() } else { format!("p50 {}", quantity(response.p50, Unit::Micros)) };
    figures.push(plain("Response", median, if response.count == 0 { String::new() } else { tail }));
    let counted = format!(
        "{} sent, {} of {} connections established",
        count(tally.sent),
        count(tally.connected),
        count(tally.attempted)
    );
    let counted = [counted].into_iter().chain(connection_ends::sentences(trial)).collect::<Vec<_>>().join("; ");
    figures.push(plain("Requests", count(tally.completed), counted));
    figures.push(errors(trial, outcome));
    figures
}

/// Returns the medians of connect and handshake, which a response time with its own connection includes.
fn connecting(trial: &Trial) -> String {
    let part = |name: &str, times: &Summary| match times.count {
        0 => String::new(),
        _ => format!(", {name} {}", quantity(times.p50, Unit::Micros)),
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
