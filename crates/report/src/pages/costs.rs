//! What one request costs on both sides: processor time split in its parts, and every other cost in a table.

use std::collections::BTreeSet;

use run::{Cost, Reading, Run, Side, Trial};

use super::pick;
use crate::number::{quantity, quantity_in};
use crate::{BarRow, Bars, Block, Cell, Col, Hue, Section, Segment, Table, Unit, Weight};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(loaded) = pick::saturated(run) else { return Vec::new() };
    let shown: Vec<&Trial> = match pick::unloaded(run) {
        Some(first) if !std::ptr::eq(first, loaded) => vec![first, loaded],
        _ => vec![loaded],
    };
    let table = table(&shown);
    if table.rows.is_empty() {
        return Vec::new();
    }
    let bars = bars(&shown);
    let mut sections = Vec::new();
    if bars.rows.iter().any(|r| r.sum() > 0.0) {
        sections.push(Section::new("processor", "Processor time per request", Weight::Full, vec![Block::Bars(bars)]));
    }
    sections.push(Section::new("costs", "Costs per request", Weight::Main, vec![Block::Table(table)]));
    sections
}

/// The parts of processor time, by the ends of the ids of the costs.
const PARTS: &[(&str, Hue)] =
    &[("user", Hue::Main), ("system", Hue::Second), ("softirq", Hue::Third), ("irq", Hue::Fourth)];

fn bars(shown: &[&Trial]) -> Bars {
    let mut rows = Vec::new();
    for trial in shown {
        for (name, side) in sides(trial) {
            let segments: Vec<Segment> = PARTS
                .iter()
                .filter_map(|(part, hue)| {
                    Some(Segment { label: (*part).into(), value: part_us(side, part)?, hue: *hue })
                })
                .collect();
            if !segments.is_empty() {
                rows.push(BarRow { label: format!("{name}, {}", pick::name(trial)), segments, strong: false });
            }
        }
    }
    let heaviest = rows.iter().max_by(|a, b| a.sum().total_cmp(&b.sum()));
    let title = heaviest.map_or_else(String::new, |r| {
        format!("{}: {} of processor time a request", r.label, quantity(r.sum(), Unit::Micros))
    });
    Bars {
        title,
        caption: "Processor time of the side per completed request, by where it is spent.".into(),
        unit: Unit::Micros,
        rows,
        full: None,
        wide: true,
    }
}

/// Microseconds of one part: `cpu.user`, `cpu_user`, ….
fn part_us(side: &Side, part: &str) -> Option<f64> {
    let fits = |id: &str| id.starts_with("cpu") && id.rsplit(['.', '_']).find(|w| *w != "us") == Some(part);
    let cost = side.costs.iter().find(|(id, _)| fits(id)).map(|(_, cost)| cost)?;
    cost.per_request.value().filter(|v| v.is_finite())
}

fn sides(trial: &Trial) -> Vec<(&'static str, &Side)> {
    let server = trial.server.as_ref().map(|s| ("server", s));
    server.into_iter().chain([("client", &trial.client)]).collect()
}

fn table(shown: &[&Trial]) -> Table {
    let mut columns = vec![Col::words("cost", 0)];
    let mut sources: Vec<&Side> = Vec::new();
    // The saturated trial comes first: it is the one that the verdict rests on.
    for (i, trial) in shown.iter().rev().enumerate() {
        for (name, side) in sides(trial).into_iter().filter(|(_, s)| !s.costs.is_empty()) {
            columns.push(Col::figures(&format!("{name}, {}", pick::name(trial)), if i == 0 { 0 } else { 5 }));
            sources.push(side);
        }
    }
    let ids: BTreeSet<&String> = sources.iter().flat_map(|s| s.costs.keys()).collect();
    // Processor time first: it is what most verdicts rest on.
    let (first, rest): (Vec<&String>, Vec<&String>) = ids.into_iter().partition(|id| id.starts_with("cpu"));
    let ids = first.into_iter().chain(rest);
    let rows = ids.filter_map(|id| row(id, &sources)).collect();
    let mut table = Table { columns, rows, ..Table::default() };
    table.explain_absent();
    table
}

/// The row of a cost; none when no side has a value for it.
fn row(id: &str, sources: &[&Side]) -> Option<Vec<Cell>> {
    let known = |s: &&Side| s.costs.get(id).is_some_and(|c| c.per_request.value().is_some());
    if !sources.iter().any(known) {
        return None;
    }
    let mut cells = vec![Cell::new(id)];
    cells.extend(sources.iter().map(|s| s.costs.get(id).map_or_else(|| Cell::absent("not computed"), cell)));
    Some(cells)
}

fn cell(cost: &Cost) -> Cell {
    match &cost.per_request {
        Reading::Value(v) => Cell::new(quantity_in(*v, &cost.unit)),
        Reading::Absent { absent } => Cell::absent(absent.clone()),
    }
}
