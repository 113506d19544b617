//! Results of the repeats of a run, one row per repeat. The table shows how much the figures vary between repeats.

use run::{Repeat, Run, SummaryFigure, TimeFigure};

use super::answered;
use super::times::short_time;
use crate::{Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::{number, prose::counted, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.findings.repeats.is_empty() {
        return Vec::new();
    }
    if answered::asked(run) {
        return vec![Section::new("repeats", "Repeats", Weight::Full, vec![Block::Table(of_load(run))])];
    }
    let columns = vec![
        Col::figures("repeat", 0),
        Col::figures("capacity", 0),
        Col::figures("95 % interval of its own windows", 2),
        Col::figures("highest rate", 0),
        Col::figures("p50 there", 1),
        Col::figures("p99 there", 1),
        Col::words("bottleneck", 0),
    ];
    let rows = run.findings.repeats.iter().zip(1..).map(|(repeat, n)| row(repeat, n)).collect();
    let table = Table { caption: caption(run), columns, rows, ..Table::default() };
    vec![Section::new("repeats", "Repeats", Weight::Full, vec![Block::Table(table)])]
}

/// Returns the table of the repeats of a load that the user chose, which has no capacity.
fn of_load(run: &Run) -> Table {
    let columns = vec![
        Col::figures("repeat", 0),
        Col::figures("p50", 0),
        Col::figures("p99", 0),
        Col::figures("completed/s", 0),
        Col::words("bottleneck", 1),
    ];
    let row = |(repeat, n): (&Repeat, usize)| {
        let [_, _, _, rate, p50, p99, stops] = <[Cell; 7]>::try_from(row(repeat, n)).ok()?;
        Some(vec![Cell::new(n.to_string()), p50, p99, rate, stops])
    };
    let rows = run.findings.repeats.iter().zip(1..).filter_map(row).collect();
    Table { columns, rows, ..Table::default() }
}

fn row(repeat: &Repeat, n: usize) -> Vec<Cell> {
    let rate = |rate| quantity(rate, Unit::PerSecond);
    let interval = match (repeat.low, repeat.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => "n/a".into(),
    };
    let time = |us, figure| match repeat.at_least.contains(figure) {
        true => short_time(TimeFigure::AtLeast(us)),
        false => short_time(TimeFigure::Exact(us)),
    };
    let stops = format!("{} ({})", repeat.bottleneck, quantity(repeat.confidence, Unit::Share));
    vec![
        Cell::new(n.to_string()),
        Cell::new(capacity(repeat)),
        Cell::new(interval),
        Cell::new(rate(repeat.completed_rate)),
        Cell::new(time(repeat.p50_us, SummaryFigure::P50)),
        Cell::new(time(repeat.p99_us, SummaryFigure::P99)),
        Cell::new(stops),
    ]
}

fn capacity(repeat: &Repeat) -> String {
    let rate = repeat.capacity.map(|capacity| quantity(capacity, Unit::PerSecond));
    match (rate, repeat.is_lower_bound) {
        (None, _) => "did not hold".into(),
        (Some(rate), true) => format!("at least {rate}"),
        (Some(rate), false) => rate,
    }
}

fn caption(run: &Run) -> String {
    let capacity = run.findings.capacity.as_ref().filter(|c| c.held);
    let (held, all) =
        (run.findings.repeats.iter().filter(|r| r.capacity.is_some()).count(), run.findings.repeats.len());
    let bounds = run.findings.repeats.iter().filter(|r| r.is_lower_bound).count();
    match (capacity.and_then(|c| c.variation), capacity) {
        (Some(v), _) => format!(
            "The capacities vary by {} (coefficient of variation). The capacity above is their geometric mean, with an \
             interval by Student's t over the repeats.",
            quantity(v, Unit::Share)
        ),
        (None, None) => "The objective failed at every load in every repeat.".into(),
        (None, Some(_)) if held < all => {
            format!(
                "{held} of {} held the objective, so the capacity above is that of all windows together.",
                counted(all as f64, "repeat")
            )
        }
        (None, Some(_)) if bounds > 0 && all > 1 => format!(
            "{bounds} of {all} repeats, judged alone, show only a lower bound, so the capacity above is that of all windows \
             together."
        ),
        (None, Some(_)) => "Only one repeat was finished, so the difference between repeats is unknown.".into(),
    }
}
