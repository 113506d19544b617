//! The verdict: what a person must know before anything else, warnings first.

use run::{Bottleneck, Capacity, Run, Trial, TrialKind, UsersFinding};

use super::{figures, pick, proof};
use crate::{Block, EvidenceLine, Item, KeyFigure, List, Note, Section, Tone, Unit, Weight};
use run::number::{number, quantity};

/// Warnings beyond these are on the page about trust.
pub(super) const FIRST_WARNINGS: usize = 2;

/// What weakens the figures, before any of them.
pub(super) fn warned(run: &Run) -> Vec<Section> {
    let blocks = warnings(run);
    if blocks.is_empty() { Vec::new() } else { vec![Section::new("warnings", "", Weight::First, blocks)] }
}

/// The verdict of a search or a load.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.plan.experiment().is_some() { Vec::new() } else { judged(run, "") }
}

/// The verdict of an experiment stands behind its own conclusions. Where no request was sent there is none, and where each
/// trial has its own it is in the table of these.
pub(super) fn of_experiment(run: &Run) -> Vec<Section> {
    let together = run.plan.experiment().is_some() && run.sent_requests() && !figures::judged_by_row(run);
    if together { judged(run, "What the counters say") } else { Vec::new() }
}

fn judged(run: &Run, title: &str) -> Vec<Section> {
    let figures = key_figures(run);
    if figures.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::KeyFigures(figures)];
    blocks.extend(reasons(&run.findings.bottleneck));
    vec![Section::new("verdict", title, Weight::First, blocks)]
}

fn warnings(run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    if run.trials.is_empty() {
        let text = "No trial was finished, so there is nothing to judge.";
        blocks.push(Note::block(Tone::Bad, text));
    }
    if run.interrupted {
        blocks.push(Note::block(Tone::Warn, "Interrupted: this is what was measured until then."));
    }
    for e in &run.findings.expected {
        let (tone, word) = if e.met { (Tone::Good, "Expected and met") } else { (Tone::Bad, "Expected and not met") };
        blocks.push(Note::block(tone, format!("{word}: {}; {}", e.text, e.found)));
    }
    let warned = &run.findings.trust.warnings;
    blocks.extend(warned.iter().take(FIRST_WARNINGS).map(|w| Note::block(Tone::Warn, w.clone())));
    if let Some(more) = warned.len().checked_sub(FIRST_WARNINGS).filter(|n| *n > 0) {
        let word = if more == 1 { "warning" } else { "warnings" };
        blocks.push(Note::leading(Tone::Warn, format!("{more} more {word}: see Trust in the report"), "trust"));
    }
    blocks
}

fn key_figures(run: &Run) -> Vec<KeyFigure> {
    let found = &run.findings;
    let mut figures = Vec::new();
    if let Some(c) = found.capacity.as_ref().filter(|_| found.users.is_none()) {
        figures.push(KeyFigure {
            name: "Capacity".into(),
            value: format!("{} requests/s{}", number(c.rate), interval(c)),
            detail: format!("{}{}{}", c.objective, failed(c), most(run)),
            tone: if c.held { Tone::Plain } else { Tone::Bad },
        });
    }
    figures.extend(found.users.as_ref().map(|users| of_users(users, found.capacity.as_ref())));
    if let Some(k) = &found.knee {
        let reached = k.reached_at.map_or_else(String::new, |n| format!("; 95 % reached at {}", number(n)));
        figures.push(KeyFigure {
            name: "Knee".into(),
            value: format!("{} in flight", number(k.concurrency)),
            detail: format!(
                "R1 {} × Xmax {}{reached}",
                quantity(k.r1_us, Unit::Micros),
                quantity(k.x_max, Unit::PerSecond)
            ),
            tone: Tone::Plain,
        });
    }
    let judged = !found.bottleneck.sentence.is_empty() || !found.bottleneck.evidence.is_empty() || !figures.is_empty();
    if judged {
        figures.push(bottleneck(&found.bottleneck));
    }
    figures.extend(found.proof.as_ref().map(proof::key_figure));
    if let Some(next) = found.bottleneck.next.as_ref().filter(|_| judged) {
        let rate = next.rate.map_or_else(String::new, |r| format!(" at {}", quantity(r, Unit::PerSecond)));
        figures.push(KeyFigure {
            name: "Next".into(),
            value: format!("{}{rate}", next.id),
            detail: next.why.clone(),
            tone: Tone::Plain,
        });
    }
    figures
}

/// The capacity in users: with how many the objective held, and with how many it did not.
fn of_users(users: &UsersFinding, capacity: Option<&Capacity>) -> KeyFigure {
    let objective = capacity.map_or(String::new(), |c| c.objective.clone());
    let mean = quantity(users.think.mean_ms * 1e3, Unit::Micros);
    let think = format!("who think {mean}{}", if users.think.exponential { " on average" } else { "" });
    let why = users.failed_why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let failed =
        users.failed.map_or("; more were not tried".into(), |n| format!("; not with {}{why}", number(f64::from(n))));
    let all = users.capacity.as_ref().map_or(String::new(), |c| {
        format!(
            "; {} by all windows (95 %: {} to {})",
            number(c.value.round()),
            number(c.low.round()),
            number(c.high.round())
        )
    });
    let value = match users.held {
        Some(n) => format!("{} users, {} requests/s", number(f64::from(n)), number(users.rate)),
        None => format!("fewer than {} users", number(f64::from(users.failed.unwrap_or(1)))),
    };
    let tone = if users.held.is_some() { Tone::Plain } else { Tone::Bad };
    KeyFigure { name: "Capacity".into(), value, detail: format!("{think}; {objective}{failed}{all}"), tone }
}

/// The 95 % interval, where the windows give one.
fn interval(c: &Capacity) -> String {
    match (c.low, c.high, c.precision()) {
        (Some(low), Some(high), Some(half)) => {
            format!(" ± {} ({} to {})", quantity(half, Unit::Share), number(low), number(high))
        }
        _ => String::new(),
    }
}

/// Where the objective broke, and how.
fn failed(c: &Capacity) -> String {
    let Some(rate) = c.failed_at.map(|rate| quantity(rate, Unit::PerSecond)) else { return String::new() };
    match &c.failed_why {
        Some(why) => format!("; at {rate} {why}"),
        None => format!("; not at {rate}"),
    }
}

/// The most good answers a second of any trial, where that is another figure: there shows what stops it.
fn most(run: &Run) -> String {
    let Some((trial, rate)) = beyond(run) else { return String::new() };
    let rate = quantity(rate, Unit::PerSecond);
    match trial.kind {
        TrialKind::Sweep => format!("; peak {rate} (closed loop, {})", pick::name(trial)),
        _ => format!("; peak {rate}, past the objective"),
    }
}

/// The trial with the most good answers a second and that rate, where it is another figure than the capacity.
pub(super) fn beyond(run: &Run) -> Option<(&Trial, f64)> {
    let place = run.findings.picks.beyond?;
    run.trials.get(place).zip(run.findings.outcomes.get(place)?.good_rate)
}

fn bottleneck(found: &Bottleneck) -> KeyFigure {
    let meaning = run::bottleneck(&found.id).map_or("", |b| b.meaning);
    let sentence = if found.sentence.is_empty() { meaning } else { &found.sentence };
    let id = if found.id.is_empty() { "unknown" } else { &found.id };
    let tone = if matches!(id, "unknown" | "not-saturated") { Tone::Plain } else { Tone::Warn };
    KeyFigure {
        name: "Bottleneck".into(),
        value: id.into(),
        detail: format!(
            "{sentence} ({}, confidence {})",
            found.sureness.word(),
            quantity(found.confidence, Unit::Share)
        ),
        tone,
    }
}

fn reasons(found: &Bottleneck) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !found.evidence.is_empty() {
        blocks.push(Block::Evidence(found.evidence.iter().map(evidence).collect()));
    }
    let sentences = |texts: &[String]| texts.iter().map(|t| Item::new("", t.clone())).collect::<Vec<_>>();
    let ruled_out: Vec<Item> = found.ruled_out.iter().map(|r| Item::new(r.id.clone(), r.why.clone())).collect();
    let lists = [
        ("What to do", sentences(&found.advice), 2),
        ("Ruled out", ruled_out, 0),
        ("Not known", sentences(&found.missing), 2),
    ];
    for (title, items, brief) in lists.into_iter().filter(|(_, items, _)| !items.is_empty()) {
        blocks.push(Block::List(List { title: title.into(), items, brief }));
    }
    blocks
}

fn evidence(found: &run::Evidence) -> EvidenceLine {
    let text = |value: Option<f64>| value.map_or_else(String::new, |v| quantity(v, found.unit));
    let share = found.value.zip(found.limit).map(|(v, l)| v / l).filter(|s| s.is_finite() && (0.0..=1.5).contains(s));
    EvidenceLine {
        text: found.text.clone(),
        counter: found.counter.clone(),
        place: found.place.clone(),
        value: text(found.value),
        limit: text(found.limit),
        share,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn warnings_that_are_folded_away_are_led_to() {
        let mut run = run::Run { trials: vec![run::Trial::default()], ..run::Run::default() };
        run.findings.trust.warnings = ["one", "two", "three"].map(str::to_string).into();
        let html = crate::render("html", &run, &crate::Style::default()).unwrap();
        assert!(html.contains(r##"<a href="#trust">1"##) && html.contains(r#"<section id="trust">"#), "{html}");
    }
}
