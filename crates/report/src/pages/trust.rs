//! Page about the reliability of the figures.

use run::{Run, TimeSpent};

use super::warned::{self, FIRST_WARNINGS};
use crate::words::capital;
use crate::{Block, Item, KeyFigure, List, Note, Section, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let trust = &run.findings.trust;
    let mut blocks: Vec<Block> =
        warned::all(run).into_iter().skip(FIRST_WARNINGS).map(|w| Note::block(Tone::Warn, capital(w))).collect();
    let figures = figures(run);
    if !figures.is_empty() {
        blocks.push(Block::KeyFigures(figures));
    }
    if !trust.held.is_empty() {
        let items = trust.held.iter().map(|h| Item::new("", h.clone())).collect();
        blocks.push(Block::List(List { title: "Held".into(), items, brief: 2 }));
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Section::new("trust", "Trust", Weight::Main, blocks)]
}

fn figures(run: &Run) -> Vec<KeyFigure> {
    let trust = &run.findings.trust;
    let mut figures = Vec::new();
    if let Some(ceiling) = trust.generator_ceiling {
        let used = trust.ceiling_used.map(|share| quantity(share, Unit::Share));
        let detail = match (used, trust.generator_limited) {
            (Some(used), true) => {
                format!("it reached its own limit at {used} of that, so the server is not to blame")
            }
            (Some(used), false) => format!("the rate is {used} of that"),
            (None, _) => String::new(),
        };
        let tone = if trust.generator_limited { Tone::Bad } else { Tone::Plain };
        figures.push(KeyFigure {
            name: "Generator".into(),
            value: format!("{} requests/s without a network", number(ceiling)),
            detail,
            tone,
        });
    }
    if let Some(share) = trust.measured_share {
        figures.push(KeyFigure {
            name: "Measured".into(),
            value: format!("{} of the run's time", quantity(share, Unit::Share)),
            detail: trust.spent.as_ref().map_or("the rest: starting, warm-up, drain and judging".into(), rest),
            tone: Tone::Plain,
        });
    }
    if let Some(share) = trust.probe_share {
        let value = format!("{} of one CPU", quantity(share, Unit::Share));
        figures.push(KeyFigure {
            name: "Probe".into(),
            value,
            detail: "cost of reading the counters".into(),
            tone: Tone::Plain,
        });
    }
    figures
}

/// Describes how much time the run spent on each activity outside of measured windows, such as warm-ups.
fn rest(spent: &TimeSpent) -> String {
    let parts = [
        ("warm-ups", spent.settle_s),
        ("starting agents", spent.start_s),
        ("drains", spent.drain_s),
        ("counters at rest", spent.at_rest_s),
        ("other (first requests, experiments, judging)", spent.other_s),
    ];
    let told: Vec<String> = parts.iter().map(|(what, s)| format!("{what} {}", quantity(*s, Unit::Seconds))).collect();
    format!("the rest: {}", told.join(", "))
}
