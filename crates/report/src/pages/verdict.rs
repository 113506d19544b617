//! The verdict, with the warnings before it.

use run::{Bottleneck, Capacity, OwnLimit, Run, Trial, TrialKind, UsersFinding};

use super::{figures, load, pick, proof};
use crate::words::capital;
use crate::{Block, EvidenceLine, Item, KeyFigure, List, Note, Section, Tone, Unit, Weight};
use run::number::{number, quantity};

/// Number of warnings above the verdict; the page about trust has the rest.
pub(super) const FIRST_WARNINGS: usize = 2;

/// Returns the warnings that come before all figures.
pub(super) fn warned(run: &Run) -> Vec<Section> {
    let blocks = warnings(run);
    if blocks.is_empty() { Vec::new() } else { vec![Section::new("warnings", "", Weight::First, blocks)] }
}

/// Returns the verdict of a search or a load.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.plan.experiment().is_some() { Vec::new() } else { judged(run, "") }
}

/// Returns the verdict of an experiment, which follows the experiment's own conclusions. There is none where no request
/// was sent, and where each trial has its own verdict their table has it.
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
        blocks.push(Note::block(Tone::Warn, "Interrupted: only a part was measured."));
    }
    for e in &run.findings.expected {
        let (tone, word) = match (e.met, e.undecided) {
            (true, _) => (Tone::Good, "Met"),
            (false, true) => (Tone::Bad, "Not known"),
            (false, false) => (Tone::Bad, "Not met"),
        };
        blocks.push(Note::block(tone, format!("{word}: {}; {}", e.text, e.found)));
    }
    let warned = &run.findings.trust.warnings;
    blocks.extend(warned.iter().take(FIRST_WARNINGS).map(|w| Note::block(Tone::Warn, capital(w))));
    if let Some(more) = warned.len().checked_sub(FIRST_WARNINGS).filter(|n| *n > 0) {
        let word = if more == 1 { "warning" } else { "warnings" };
        blocks.push(Note::leading(Tone::Warn, format!("{more} more {word}: see Trust in the report"), "trust"));
    }
    blocks
}

fn key_figures(run: &Run) -> Vec<KeyFigure> {
    let found = &run.findings;
    let mut figures = Vec::new();
    // A load that was asked for shows no capacity; its own page has its figures.
    let searched = found.capacity.as_ref().filter(|_| found.users.is_none() && !load::asked(run));
    if let Some(c) = searched {
        figures.push(KeyFigure {
            name: "Capacity".into(),
            value: capacity(c),
            detail: format!("{}{}{}", capital(&c.objective), failed(c), most(run)),
            tone: if c.held { Tone::Plain } else { Tone::Bad },
        });
    }
    figures.extend(found.users.as_ref().map(|users| of_users(users, found.capacity.as_ref())));
    if let Some(k) = &found.knee {
        figures.push(KeyFigure {
            name: "Knee".into(),
            value: format!("full with {} in flight", number(k.concurrency)),
            detail: format!(
                "{} each alone, {} at most",
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
            detail: capital(&next.why),
            tone: Tone::Plain,
        });
    }
    figures
}

/// Returns the capacity with its interval, or the bound that is known of it.
fn capacity(c: &Capacity) -> String {
    let rate = format!("{} requests/s", number(c.rate));
    match (c.held, c.at_least) {
        (false, _) if c.rate <= 0.0 => "unknown".into(),
        (false, _) => format!("below {rate}"),
        (true, true) => format!("at least {rate}"),
        (true, false) => format!("{rate}{}", interval(c)),
    }
}

/// Returns the capacity in users: the largest number that held the objective and the smallest that did not.
fn of_users(users: &UsersFinding, capacity: Option<&Capacity>) -> KeyFigure {
    let objective = capacity.map_or(String::new(), |c| c.objective.clone());
    let mean = quantity(users.think.mean_ms * 1e3, Unit::Micros);
    let think = format!("who think {mean}{}", if users.think.exponential { " on average" } else { "" });
    let why = users.failed_why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let failed =
        users.failed.map_or("; more were not tried".into(), |n| format!("; not with {}{why}", number(f64::from(n))));
    let all = users.capacity.as_ref().map_or(String::new(), |c| {
        format!(
            "; {} by all windows (95 % interval {} to {})",
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

/// Most that one side of an interval may be longer than the other for a single ± to describe both.
const MAX_LOPSIDED: f64 = 1.25;

/// Returns the 95 % interval where the windows give one: with ± only if both sides are about equally long.
fn interval(c: &Capacity) -> String {
    let (Some(low), Some(high), Some(half)) = (c.low, c.high, c.precision()) else { return String::new() };
    let ends = format!("{} to {}", number(low), number(high));
    let sides = (high - c.rate) / (c.rate - low);
    match (1.0 / MAX_LOPSIDED..=MAX_LOPSIDED).contains(&sides) {
        true => format!(" ± {} ({ends})", quantity(half, Unit::Share)),
        false => format!(" ({ends})"),
    }
}

/// Returns the rate at which the objective failed, and the limit that was broken.
fn failed(c: &Capacity) -> String {
    let own = || match &c.own_limit {
        Some(limit) => own_limit(limit),
        None if c.at_least => ". No load failed: a longer --budget tries higher ones".into(),
        None => String::new(),
    };
    let Some(rate) = c.failed_at.map(|rate| quantity(rate, Unit::PerSecond)) else { return own() };
    match &c.failed_why {
        Some(why) => format!(". At {rate} {why}"),
        None => format!(". It failed at {rate}"),
    }
}

/// Returns the limit of the load itself, and the flag that raises it.
fn own_limit(limit: &OwnLimit) -> String {
    format!(
        ". The capacity is at least this: at {} all {} connections of the load were in use, {} per request as without \
         load. Raise --connections",
        quantity(limit.offered_rate, Unit::PerSecond),
        limit.connections,
        quantity(limit.response_us, Unit::Micros)
    )
}

/// Returns the highest rate of good answers of any trial, where it is not the capacity.
fn most(run: &Run) -> String {
    let Some((trial, rate)) = beyond(run) else { return String::new() };
    let rate = quantity(rate, Unit::PerSecond);
    match trial.kind {
        TrialKind::Sweep => format!(". Peak {rate} (closed loop, {})", pick::name(trial)),
        _ => format!(". Peak {rate}, beyond the objective"),
    }
}

/// Returns the trial with the highest rate of good answers and that rate, where it is not the capacity.
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
        detail: format!("{}{}", capital(sentence), sure(found.confidence)),
        tone,
    }
}

/// Returns ` (95 % sure)`, and nothing for a verdict that names no cause.
fn sure(confidence: f64) -> String {
    if confidence > 0.0 { format!(" ({} sure)", quantity(confidence, Unit::Share)) } else { String::new() }
}

fn reasons(found: &Bottleneck) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !found.evidence.is_empty() {
        blocks.push(Block::Evidence(found.evidence.iter().map(evidence).collect()));
    }
    blocks.extend(
        closest(found)
            .map(|text| Block::List(List { title: "Margin".into(), items: vec![Item::new("", text)], brief: 1 })),
    );
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

/// Returns the signal that is closest to its threshold, and the verdict beyond it.
fn closest(found: &Bottleneck) -> Option<String> {
    let margin = found.margins.first()?;
    let interval = if margin.low < margin.high {
        format!(" ({} to {})", number(margin.low), number(margin.high))
    } else {
        String::new()
    };
    let (value, threshold) = (number(margin.value), number(margin.threshold));
    let side = if margin.value < margin.threshold { "above" } else { "below" };
    let beyond = match margin.would_be.as_str() {
        "" => String::new(),
        other => format!("; {side} it the verdict would be {other}"),
    };
    Some(format!("{} {value}{interval}, threshold {threshold}{beyond}", capital(&margin.signal)))
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
    #[test]
    fn the_closest_margin_is_shown_with_its_threshold_and_the_next_verdict() {
        let margin = run::Margin {
            signal: "time that the thread ran".into(),
            value: 0.93,
            low: 0.91,
            high: 0.95,
            threshold: 0.87,
            would_be: "server-concurrency".into(),
        };
        let far = run::Margin { signal: "another".into(), ..margin.clone() };
        let found = run::Bottleneck { margins: vec![margin, far], ..run::Bottleneck::default() };
        let text = super::closest(&found).unwrap();
        let parts = ["Time that the thread ran 0.93", "(0.91", "threshold 0.87", "would be server-concurrency"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert_eq!(super::closest(&run::Bottleneck::default()), None);
    }
}
