//! Page of the report about the experiment that tests the verdict (the named bottleneck). The page shows the
//! prediction, the measurement, and the resources that explain the throughput. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use run::{
    Effect, Elasticity, ElasticityBasis, Estimate, LeverSlots, Proof, ProofOutcome, ProofTrial, Run, Steadiness,
    UnusedLever,
};

use crate::plot::{Axis, BarRow, Bars, Hue, Look, Plot, Scale, Segment, Series};
use crate::words::capital;
use crate::{Block, Cell, Col, KeyFigure, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(proof) = &run.findings.proof else { return Vec::new() };
    let mut blocks = Vec::new();
    if !super::answered::has_answer(run) {
        blocks.push(Note::block(tone(proof.outcome), format!("{}: {}", capital(word(proof)), proof.why)));
    }
    blocks.extend(effects(proof));
    blocks.extend(in_turns(proof));
    blocks.extend(shares(proof));
    blocks.extend(ProofTrial::of_speeds(&proof.trials).and_then(|trial| dose_response(proof, trial)));
    blocks.extend(ProofTrial::of_speeds(&proof.trials).and_then(|trial| afterwards(proof, trial)));
    blocks.extend(untried(proof));
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Section::new("proof", "Proof", Weight::Main, blocks)]
}

/// Returns the experiment's outcome as a main figure of the verdict section.
pub(super) fn key_figure(proof: &Proof) -> KeyFigure {
    let tone = if proof.outcome == ProofOutcome::Refuted { Tone::Warn } else { Tone::Plain };
    KeyFigure { name: "Proof".into(), value: word(proof).into(), detail: capital(&proof.why), tone }
}

/// Returns the word for the outcome of the experiment.
pub(super) fn word(proof: &Proof) -> &'static str {
    match proof.outcome {
        ProofOutcome::Proven => "proven",
        ProofOutcome::Supported => "supported",
        ProofOutcome::Refuted => "refuted",
        ProofOutcome::Inconclusive => "inconclusive",
        ProofOutcome::NotTested => "not tested",
    }
}

fn tone(outcome: ProofOutcome) -> Tone {
    match outcome {
        ProofOutcome::Proven | ProofOutcome::Supported => Tone::Good,
        ProofOutcome::Refuted => Tone::Warn,
        ProofOutcome::Inconclusive | ProofOutcome::NotTested => Tone::Quiet,
    }
}

/// Returns a prediction and the name of its table row. A prediction for throughput is converted to the dose of the
/// measurement, as in the sentence about the outcome. For other predictions, the row's name says if the planned dose
/// differs from the measured one.
fn predicted(proof: &Proof, name: &str, planned: &Effect, measured: Option<&Effect>) -> (String, Effect) {
    match measured.filter(|measured| measured.lever == planned.lever && measured.dose != planned.dose) {
        Some(measured) if proof.of.is_throughput() => (name.into(), planned.at_dose(measured.dose)),
        Some(_) => (format!("{name} for the planned share"), planned.clone()),
        None => (name.into(), planned.clone()),
    }
}

/// Returns the table of the predicted and the measured effects of slowing a resource.
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
    let pair = |prefix: &str, planned: Option<&Effect>, measured: Option<&Effect>| {
        let predicted = planned.map(|planned| predicted(proof, &format!("{prefix}predicted"), planned, measured));
        let rows = predicted.map(|(name, effect)| row(&name, &effect)).into_iter();
        rows.chain(measured.map(|effect| row(&format!("{prefix}measured"), effect))).collect::<Vec<_>>()
    };
    let mut rows = pair("", proof.prediction.as_ref(), proof.measured.as_ref());
    if let Some(second) = &proof.runner_up {
        rows.extend(pair("next bottleneck, ", Some(&second.prediction), second.measured.as_ref()));
    }
    let columns = vec![
        Col::words("", 0),
        Col::words("lever", 0),
        Col::figures("taken away", 0),
        Col::figures(&format!("{}, on over off", proof.of.name()), 0),
        Col::figures("95 % interval", 1),
    ];
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// Returns the table that compares the load with and without a lever (a way to slow a resource). In a closed loop, the
/// table lists only the levers that alternated with the unchanged load. In an open loop, the table lists all levers.
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

/// Returns a table of the levers (changes) that the experiment did not try, with the reason for each lever.
fn untried(proof: &Proof) -> Option<Block> {
    let row = |u: &UnusedLever| vec![Cell::new(u.lever.clone()), Cell::new(u.why.clone())];
    let columns = vec![Col::words("not tried", 0), Col::words("why", 0)];
    let rows: Vec<Vec<Cell>> = proof.untried.iter().map(row).collect();
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// Share of the performance that one resource explains, or the remaining share, which no tested resource explains.
struct Part<'a> {
    name: &'a str,
    estimate: Estimate,
    basis: ElasticityBasis,
}

/// Returns the share of the throughput or response time that each tested resource explains, and the remaining share,
/// which no tested resource explains.
fn parts(proof: &Proof) -> Vec<Part<'_>> {
    let part = |e| Part { name: "untested", estimate: e, basis: ElasticityBasis::Measured };
    let levers = proof.parts().map(|e| Part { name: &e.lever, estimate: e.estimate, basis: e.basis });
    levers.chain(proof.remainder.map(part)).collect()
}

/// Returns the table row of a part: its name, its estimate and its interval.
fn part_row(part: &Part<'_>) -> Vec<Cell> {
    let e = &part.estimate;
    let value = match part.basis {
        ElasticityBasis::Measured => number(e.value),
        ElasticityBasis::Wanted | ElasticityBasis::Joint => format!("at most {}", number(e.high)),
        ElasticityBasis::Open => "lever took too little".into(),
    };
    vec![Cell::new(part.name), Cell::new(value), Cell::new(format!("{} to {}", number(e.low), number(e.high)))]
}

/// Returns the table of two other elasticities: for the number of CPUs, and for the load. The sum of all shares and the
/// remainder, which is 1, does not contain these two elasticities.
fn other_elasticities(proof: &Proof) -> Option<Block> {
    let row = |e: &Elasticity| part_row(&Part { name: &e.lever, estimate: e.estimate, basis: e.basis });
    let rows: Vec<Vec<Cell>> = proof.elasticities.iter().filter(|e| !e.is_part()).map(row).collect();
    let columns = vec![Col::words("also tested", 0), Col::figures("elasticity", 0), Col::figures("95 % interval", 0)];
    (!rows.is_empty()).then(|| Block::Table(Table { columns, rows, ..Table::default() }))
}

/// Returns the shares that the resources explain, and the remainder, as a table with intervals and as bars. The sum of
/// all shares and the remainder is 1.
fn shares(proof: &Proof) -> Vec<Block> {
    let parts = parts(proof);
    if parts.is_empty() {
        return Vec::new();
    }
    let main = proof.measured.as_ref().map(|effect| effect.lever.as_str());
    let bar = |part: &Part<'_>| BarRow {
        label: part.name.into(),
        segments: vec![Segment { value: part.estimate.value.max(0.0), ..Segment::default() }],
        strong: main == Some(part.name),
    };
    let (title, figure) = match proof.of.is_throughput() {
        true => ("What explains throughput".to_string(), "share"),
        false => (format!("What explains the growth of {} when everything slows down", proof.of.name()), "share"),
    };
    let bars = Bars {
        title,
        caption: "Shares of 1. Untested: what the experiment cannot slow, such as a sleep, a lock or an upstream."
            .into(),
        rows: parts.iter().filter(|part| part.basis != ElasticityBasis::Open).map(bar).collect(),
        full: Some(1.0),
        ..Bars::default()
    };
    let columns = vec![Col::words("resource", 0), Col::figures(figure, 0), Col::figures("95 % interval", 0)];
    let table = Table { columns, rows: parts.iter().map(part_row).collect(), ..Table::default() };
    // The chart of bars comes last, so that it is next to the chart of [`dose_response`].
    std::iter::once(Block::Table(table)).chain(other_elasticities(proof)).chain([Block::Bars(bars)]).collect()
}

/// Returns the dose of each slot: the share of its resource that a lever took, as measured. The doses agree with the
/// dose of `measured` in the table of effects: the loss of speed relative to the slots without the lever. If the
/// elasticity is only bounded, the lever hardly slowed the users of the resource. The dose is then the share that the
/// lever itself measured.
fn slot_doses(lever: &LeverSlots, measured: &Effect, basis: ElasticityBasis) -> Option<Vec<f64>> {
    if !basis.is_measured() {
        return Some(lever.on.iter().map(|on| if *on { measured.dose } else { 0.0 }).collect());
    }
    let off = lever.on.iter().zip(&lever.speed).filter(|(on, speed)| !**on && speed.is_finite());
    let (sum, n) = off.fold((0.0, 0_u32), |(sum, n), (_, speed)| (sum + speed, n + 1));
    let full = sum / f64::from(n);
    (full > 0.0).then(|| lever.speed.iter().map(|speed| 1.0 - speed / full).collect())
}

/// Returns the chart of throughput by the share of the resource that the main lever took away. Each point is one slot
/// (a period of a fraction of a second), and a dashed line shows the prediction.
fn dose_response(proof: &Proof, trial: &ProofTrial) -> Option<Block> {
    let measured = proof.measured.as_ref()?;
    let main = &measured.lever;
    let lever = trial.levers.iter().find(|l| l.lever == *main)?;
    // In an open loop, the lever takes away an equal share of the resource in every slot, so there is no curve to draw.
    let part = proof.elasticities.iter().filter(|_| proof.of.is_throughput()).find(|e| e.lever == *main)?;
    let elasticity = part.estimate.value;
    let doses = slot_doses(lever, measured, part.basis)?;
    let slots = doses.into_iter().zip(&trial.completed_rate).filter(|(dose, r)| dose.is_finite() && r.is_finite());
    let slots: Vec<(f64, f64)> = slots.map(|(dose, rate)| (dose, *rate)).collect();
    let free = trial.rate_without(lever)?;
    let most = slots.iter().map(|(dose, _)| *dose).fold(0.0, f64::max);
    if !(free > 0.0 && most > 0.0) {
        return None;
    }
    let points = slots.iter().map(|(dose, rate)| (*dose, rate / free)).collect();
    let line = [0.0, most / 2.0, most].map(|dose| (dose, (1.0 - dose).max(0.0).powf(elasticity)));
    Some(Block::Plot(Box::new(Plot {
        title: format!("Throughput against the share of {main} taken away"),
        caption: "Each point is one slot, relative to the mean of the slots without the lever. Dashed: predicted from the share.".into(),
        x: Axis::new("share taken away", Unit::Share, Scale::Linear),
        y: Axis::new("throughput", Unit::Plain, Scale::Linear),
        series: vec![
            Series::new("slots", Look::Dots, Hue::Main, points),
            Series::new("predicted", Look::Dashed, Hue::Quiet, line.to_vec()),
        ],
        ..Plot::default()
    })))
}

fn afterwards(proof: &Proof, trial: &ProofTrial) -> Option<Block> {
    let after = trial.after.filter(|a| a.is_finite())?;
    let slots =
        format!("{} of {}", counted(trial.completed_rate.len() as f64, "slot"), quantity(trial.slot_s, Unit::Seconds));
    let what = proof.of.name();
    let text = match &proof.steadiness {
        Some(steadiness) => format!("{slots}. {}", steadied(steadiness)),
        None => format!("{slots}. Afterwards {what} was {} times that without the levers.", number(after)),
    };
    Some(Block::Paragraph(text))
}

/// Describes changes of throughput during the experiment that the levers did not cause.
fn steadied(steadiness: &Steadiness) -> String {
    let told = |e: &Estimate| format!("{} ({} to {})", number(e.value), number(e.low), number(e.high));
    let back = steadiness.back.as_ref().zip(steadiness.is_back).map(|(back, is_back)| {
        let within = if is_back { "it returned" } else { "it did not return" };
        format!(" Afterwards it was {} times that before: {within}.", told(back))
    });
    format!(
        "Without the levers' effect, throughput varied by {} from slot to slot; at the end it was {} times that at the start.{}",
        quantity(steadiness.noise, Unit::Share),
        told(&steadiness.drift),
        back.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
