//! The verdict held against an experiment: what was predicted, what came out, and whose speed throughput follows.

use run::{Effect, Estimate, Proof, ProofOutcome, ProofTrial, Run, Steadiness, UnusedLever};

use crate::plot::{Axis, BarRow, Bars, Hue, Look, Plot, Scale, Segment, Series};
use crate::{Block, Cell, Col, KeyFigure, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(proof) = &run.findings.proof else { return Vec::new() };
    let mut blocks = vec![Note::block(tone(proof.outcome), format!("{}: {}", word(proof.outcome), proof.why))];
    blocks.extend(effects(proof));
    blocks.extend(in_turns(proof));
    blocks.extend(shares(proof));
    blocks.extend(proof.trials.last().and_then(|trial| dose_response(proof, trial)));
    blocks.extend(proof.trials.last().and_then(|trial| afterwards(proof, trial)));
    blocks.extend(untried(proof));
    vec![Section::new("proof", "Proof", Weight::Main, blocks)]
}

/// The experiment as it stands beside the verdict.
pub(super) fn key_figure(proof: &Proof) -> KeyFigure {
    let tone = if proof.outcome == ProofOutcome::Refuted { Tone::Warn } else { Tone::Plain };
    KeyFigure { name: "Proof".into(), value: word(proof.outcome).into(), detail: proof.why.clone(), tone }
}

fn word(outcome: ProofOutcome) -> &'static str {
    match outcome {
        ProofOutcome::Proven => "proven",
        ProofOutcome::Refuted => "refuted",
        ProofOutcome::NoResult => "not proven",
    }
}

fn tone(outcome: ProofOutcome) -> Tone {
    match outcome {
        ProofOutcome::Proven => Tone::Good,
        ProofOutcome::Refuted => Tone::Warn,
        ProofOutcome::NoResult => Tone::Quiet,
    }
}

/// Predicted beside measured.
fn effects(proof: &Proof) -> Option<Block> {
    let row = |name: &str, e: &Effect| {
        let interval = match e.low < e.high {
            true => Cell::new(format!("{} to {}", number(e.low), number(e.high))),
            false => Cell::default(),
        };
        vec![
            Cell::new(name),
            Cell::new(e.lever.clone()),
            Cell::new(quantity(e.dose, Unit::Share)),
            Cell::new(number(e.ratio)),
            interval,
        ]
    };
    let second = proof.runner_up.as_ref();
    let all = [
        ("predicted", proof.prediction.as_ref()),
        ("measured", proof.measured.as_ref()),
        ("next bottleneck, predicted", second.map(|second| &second.prediction)),
        ("next bottleneck, measured", second.and_then(|second| second.measured.as_ref())),
    ];
    let rows: Vec<Vec<Cell>> = all.into_iter().filter_map(|(name, effect)| Some(row(name, effect?))).collect();
    let columns = vec![
        Col::words("", 0),
        Col::words("lever", 0),
        Col::figures("taken away", 0),
        Col::figures(&format!("{}, on over off", proof.of.name()), 0),
        Col::figures("95 % interval", 1),
    ];
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// The same load with and without each lever: those of turns, and at an offered rate all.
fn in_turns(proof: &Proof) -> Option<Block> {
    let row = |e: &Effect| {
        vec![
            Cell::new(e.lever.clone()),
            Cell::new(number(e.ratio)),
            Cell::new(format!("{} to {}", number(e.low), number(e.high))),
        ]
    };
    let columns = vec![
        Col::words(if proof.of.is_throughput() { "in turns" } else { "lever" }, 0),
        Col::figures(&format!("{}, with over without", proof.of.name()), 0),
        Col::figures("95 % interval", 0),
    ];
    let rows: Vec<Vec<Cell>> = proof.effects.iter().map(row).collect();
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// What was not tried, and why.
fn untried(proof: &Proof) -> Option<Block> {
    let row = |u: &UnusedLever| vec![Cell::new(u.lever.clone()), Cell::new(u.why.clone())];
    let columns = vec![Col::words("not tried", 0), Col::words("why", 0)];
    let rows: Vec<Vec<Cell>> = proof.untried.iter().map(row).collect();
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// Every resource and the remainder, by name.
fn parts(proof: &Proof) -> Vec<(&str, Estimate)> {
    let levers = proof.elasticities.iter().map(|e| (e.lever.as_str(), e.estimate));
    levers.chain(proof.remainder.map(|r| ("untouched", r))).collect()
}

/// Elasticities and the remainder: bars that add up to 1, and their intervals.
fn shares(proof: &Proof) -> Vec<Block> {
    let parts = parts(proof);
    if parts.is_empty() {
        return Vec::new();
    }
    let main = proof.measured.as_ref().map(|effect| effect.lever.as_str());
    let bar = |(name, e): &(&str, Estimate)| BarRow {
        label: (*name).into(),
        segments: vec![Segment { value: e.value.max(0.0), ..Segment::default() }],
        strong: main == Some(*name),
    };
    let row = |(name, e): &(&str, Estimate)| {
        vec![
            Cell::new(*name),
            Cell::new(number(e.value)),
            Cell::new(format!("{} to {}", number(e.low), number(e.high))),
        ]
    };
    let (title, figure) = match proof.of.is_throughput() {
        true => ("How much of a change of speed reaches throughput".to_string(), "elasticity"),
        false => {
            (format!("Of what {} grows by when everything is slower, the share of each", proof.of.name()), "share")
        }
    };
    let bars = Bars {
        title,
        caption: "Together 1; untouched is what no lever reached: a sleep, a lock, a service behind the server.".into(),
        rows: parts.iter().map(bar).collect(),
        full: Some(1.0),
        ..Bars::default()
    };
    let columns = vec![Col::words("speed of", 0), Col::figures(figure, 0), Col::figures("95 % interval", 0)];
    let table = Table { columns, rows: parts.iter().map(row).collect(), ..Table::default() };
    vec![Block::Bars(bars), Block::Table(table)]
}

/// Each slot's throughput against what the main lever took in it, beside what the elasticity says.
fn dose_response(proof: &Proof, trial: &ProofTrial) -> Option<Block> {
    let main = &proof.measured.as_ref()?.lever;
    let lever = trial.levers.iter().find(|l| l.lever == *main)?;
    // At an offered rate the dose is the same in all slots: there is no course to draw.
    let elasticity =
        proof.elasticities.iter().filter(|_| proof.of.is_throughput()).find(|e| e.lever == *main)?.estimate.value;
    let slots = lever.speed.iter().zip(&trial.completed_rate).filter(|(s, r)| s.is_finite() && r.is_finite());
    let slots: Vec<(f64, f64)> = slots.map(|(speed, rate)| (1.0 - speed, *rate)).collect();
    let free = trial.rate_without(lever)?;
    let most = slots.iter().map(|(dose, _)| *dose).fold(0.0, f64::max);
    if !(free > 0.0 && most > 0.0) {
        return None;
    }
    let points = slots.iter().map(|(dose, rate)| (*dose, rate / free)).collect();
    let line = [0.0, most / 2.0, most].map(|dose| (dose, (1.0 - dose).max(0.0).powf(elasticity)));
    Some(Block::Plot(Box::new(Plot {
        title: format!("Throughput against what {main} takes away"),
        caption: "Each point is one slot, relative to the mean of the slots without the lever; dashed: what the elasticity predicts.".into(),
        x: Axis::new("share taken away", Unit::Share, Scale::Linear),
        y: Axis::new("throughput", Unit::Plain, Scale::Linear),
        series: vec![
            Series::new("slots", Look::Dots, Hue::Main, points),
            Series::new("by the elasticity", Look::Dashed, Hue::Quiet, line.to_vec()),
        ],
        ..Plot::default()
    })))
}

fn afterwards(proof: &Proof, trial: &ProofTrial) -> Option<Block> {
    let after = trial.after.filter(|a| a.is_finite())?;
    let slots = format!("{} slots of {}", trial.completed_rate.len(), quantity(trial.slot_s, Unit::Seconds));
    let what = proof.of.name();
    let text = match &proof.steadiness {
        Some(steadiness) => format!("{slots}. {}", steadied(steadiness)),
        None => format!("{slots}; after the levers were off, {what} was {} of that without them.", number(after)),
    };
    Some(Block::Paragraph(text))
}

/// What was not the levers' doing.
fn steadied(steadiness: &Steadiness) -> String {
    let told = |e: &Estimate| format!("{} ({} to {})", number(e.value), number(e.low), number(e.high));
    let back = steadiness.back.as_ref().zip(steadiness.is_back).map(|(back, is_back)| {
        let within = if is_back { "back within noise" } else { "not back within noise" };
        format!(" After the levers were off it was {} of that before: {within}.", told(back))
    });
    format!(
        "Apart from what the levers did, throughput varied by {} from slot to slot; at the end it was {} of that at the start.{}",
        quantity(steadiness.noise, Unit::Share),
        told(&steadiness.drift),
        back.unwrap_or_default()
    )
}
