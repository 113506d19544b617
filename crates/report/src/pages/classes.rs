//! Results of each class of a request mix, in one table. A sentence names the class that breaks the objective at the
//! lowest load.

use run::{Breach, BreachKind, ClassFinding, Run, SummaryFigure, TimeFigure};

use super::pick;
use super::times::short_time;
use crate::{Block, Cell, Col, Note, Section, Table, Tone, Unit, Weight};
use run::number::{number, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let found = &run.findings.classes;
    if found.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Table(table(run, found))];
    blocks.extend(first(run, found).map(|sentence| Note::block(Tone::Plain, sentence)));
    blocks.extend(super::class_costs::blocks(run));
    vec![Section::new("classes", "Classes of requests", Weight::Main, blocks)]
}

fn table(run: &Run, found: &[ClassFinding]) -> Table {
    let shown = run.picked(|p| p.loaded);
    let columns = vec![
        Col::words("class", 0),
        Col::figures("share", 1),
        Col::figures("completed/s", 0),
        Col::figures("p50", 1),
        Col::figures("p90", 5),
        Col::figures("p99", 0),
        Col::figures("p99.9", 5),
        Col::figures("errors", 0),
        Col::figures("bytes", 3),
        Col::words("breaks a limit", 2),
    ];
    let mut table = Table {
        caption: shown.map_or(String::new(), |trial| format!("Each class of requests at {}.", pick::name(trial))),
        columns,
        rows: found.iter().map(|class| row(run, class)).collect(),
        ..Table::default()
    };
    table.explain_absent();
    table
}

fn row(run: &Run, class: &ClassFinding) -> Vec<Cell> {
    let or = |value: Option<f64>, unit| {
        value.map_or_else(|| Cell::absent("none completed"), |value| Cell::from(quantity(value, unit)))
    };
    let time = |value: Option<f64>, figure| match value {
        Some(us) if class.at_least.contains(figure) => Cell::from(short_time(TimeFigure::AtLeast(us))),
        value => or(value, Unit::Micros),
    };
    let errors = class.failed_share.map_or_else(
        || Cell::absent("none was made"),
        |share| Cell::from(quantity(share, Unit::Share)).toned(if share > 0.0 { Tone::Bad } else { Tone::Plain }),
    );
    vec![
        class.name.clone().into(),
        class.share.map_or_else(|| Cell::absent("none was sent"), |share| quantity(share, Unit::Share).into()),
        class.rate.map_or_else(|| Cell::absent("none completed"), |rate| number(rate).into()),
        time(class.p50_us, SummaryFigure::P50),
        time(class.p90_us, SummaryFigure::P90),
        time(class.p99_us, SummaryFigure::P99),
        time(class.p99_9_us, SummaryFigure::P999),
        errors,
        class.bytes.map_or_else(|| Cell::absent("not measured separately"), |bytes| quantity(bytes, Unit::Size).into()),
        fails(run, class)
            .map_or_else(|| "at no load".into(), |(at, _)| Cell::from(format!("at {at}")).toned(Tone::Warn)),
    ]
}

/// Returns the lowest load at which a class broke the objective, and the limit that the class exceeded.
fn fails(run: &Run, class: &ClassFinding) -> Option<(String, Breach)> {
    let trial = run.trials.get(class.failing?)?;
    Some((pick::name(trial), class.breach?))
}

/// Returns a sentence that names the class that breaks the objective at the lowest load.
fn first(run: &Run, found: &[ClassFinding]) -> Option<String> {
    let class = found.iter().find(|class| class.first_to_fail)?;
    let (at, breach) = fails(run, class)?;
    Some(format!("{} is the first to fail, at {at}: {}.", class.name, how(&breach)))
}

/// Describes an exceeded limit, with the measured value.
fn how(breach: &Breach) -> String {
    let value = breach.value.unwrap_or(f64::NAN);
    let share = || quantity(value, Unit::Share);
    let time = |name: &str| format!("{name} was {}", quantity(value, Unit::Micros));
    match breach.kind {
        BreachKind::NothingCompleted => "nothing of it completed".into(),
        BreachKind::NoEvents => "its answers had too few events".into(),
        BreachKind::Errors => format!("{} of its requests failed", share()),
        BreachKind::Behind => format!("{} of it completed", share()),
        BreachKind::Unanswered => format!("{} of its requests were never answered", share()),
        BreachKind::P50 => time("p50"),
        BreachKind::P99 => time("p99"),
        BreachKind::P999 => time("p99.9"),
        BreachKind::Mean => time("the mean"),
        other => time(&other.timed_figure().unwrap_or_default()),
    }
}
