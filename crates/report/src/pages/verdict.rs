//! Section about the verdict: the knee of the throughput curve, the evidence, the margins to other verdicts, further
//! advice, and the next bottleneck.

use run::{Bottleneck, Run};

use super::answered::{self, is_judged};
use super::{figures, limited, proof, rate};
use crate::words::capital;
use crate::{Block, EvidenceLine, Item, KeyFigure, List, Section, Tone, Unit, Weight};
use run::number::{number, quantity};

/// Returns the verdict section of a search or of a load that the user chose.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.plan.experiment().is_some() { Vec::new() } else { judged(run, "") }
}

/// Returns the verdict section of an experiment, which comes after the experiment's own conclusions. Returns no section
/// if no request was sent, or if the table of trials has a verdict in each row.
pub(super) fn of_experiment(run: &Run) -> Vec<Section> {
    let together = run.plan.experiment().is_some() && run.sent_requests() && !figures::judged_by_row(run);
    if together { judged(run, "What the counters say") } else { Vec::new() }
}

fn judged(run: &Run, title: &str) -> Vec<Section> {
    let figures = key_figures(run);
    let mut blocks = if figures.is_empty() { Vec::new() } else { vec![Block::KeyFigures(figures)] };
    if is_judged(run) {
        blocks.extend(reasons(run, answered::has_answer(run)));
    }
    let title = if answered::has_answer(run) { "Why" } else { title };
    if blocks.is_empty() { Vec::new() } else { vec![Section::new("verdict", title, Weight::First, blocks)] }
}

/// Returns the main figures of the verdict, except the figures that the summary already contains.
fn key_figures(run: &Run) -> Vec<KeyFigure> {
    let found = &run.findings;
    let in_answer = answered::is_of_search(run);
    let mut figures = Vec::new();
    if let Some(c) = answered::searched(run).filter(|_| !in_answer) {
        let (value, tone) = (rate::capacity(c, &rate::unit(run)), if c.held { Tone::Plain } else { Tone::Bad });
        let detail = rate::unusual_source(c).map_or(c.objective.clone(), |source| format!("{}; {source}", c.objective));
        figures.push(KeyFigure { name: "Capacity".into(), value, detail: capital(&detail), tone });
    }
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
    if is_judged(run) && !in_answer && answered::single(run).is_none() {
        figures.push(bottleneck(&found.bottleneck));
    }
    figures.extend(found.proof.as_ref().filter(|_| !in_answer).map(proof::key_figure));
    if let Some(next) = found.bottleneck.next.as_ref().filter(|_| is_judged(run)) {
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

/// Returns the confidence as text, such as ` (95 % sure)`; empty for a confidence of 0.
fn sure(confidence: f64) -> String {
    if confidence > 0.0 { format!(" ({} sure)", quantity(confidence, Unit::Share)) } else { String::new() }
}

/// Returns the evidence, the advice and other lists, without evidence that the summary already states. If `advised` is
/// true, the summary already contains the first piece of advice.
fn reasons(run: &Run, advised: bool) -> Vec<Block> {
    let found = &run.findings.bottleneck;
    let lines: Vec<EvidenceLine> =
        found.evidence.iter().filter(|line| !limited::is_stated(run, &line.text)).map(evidence).collect();
    let mut blocks = if lines.is_empty() { Vec::new() } else { vec![Block::Evidence(lines)] };
    blocks.extend(
        closest(found)
            .map(|text| Block::List(List { title: "Margin".into(), items: vec![Item::new("", text)], brief: 1 })),
    );
    let sentences = |texts: &[String]| texts.iter().map(|t| Item::new("", t.clone())).collect::<Vec<_>>();
    let ruled_out: Vec<Item> = found.ruled_out.iter().map(|r| Item::new(r.id.clone(), r.why.clone())).collect();
    let rest = found.advice.get(usize::from(advised)..).unwrap_or_default();
    let lists = [
        (if advised { "Also try" } else { "What to do" }, sentences(rest), 2),
        ("Ruled out", ruled_out, 0),
        ("Not known", sentences(&found.missing), 2),
    ];
    for (title, items, brief) in lists.into_iter().filter(|(_, items, _)| !items.is_empty()) {
        blocks.push(Block::List(List { title: title.into(), items, brief }));
    }
    blocks
}

/// Returns a sentence about the signal that is closest to its threshold, with the verdict that would follow beyond this
/// threshold.
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
