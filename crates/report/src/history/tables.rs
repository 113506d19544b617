//! Tables of a history: the changes, the first and last value of each figure, and the runs.

use run::{History, HistoryChange, HistoryFigure, HistorySeries};

use super::words::{counted, minute, place, signed, size};
use crate::{Cell, Col, Table, Tone};
use run::number::{quantity, significant};

/// Maximum number of runs in the table of runs. If a history has more runs than this, the table leaves out the earliest
/// runs.
const MAX_ROWS: usize = 200;

pub(super) fn table(changes: &[&HistoryChange], history: &History) -> Table {
    let columns = vec![
        Col::words("changed figure", 0),
        Col::words("since", 0),
        Col::figures("change (95 %)", 0),
        Col::figures("p", 1),
        Col::words("result", 0),
    ];
    let new = format!(
        "new: the series without its last {} does not show the change; each p is below 0.0001 (t test)",
        counted(history.recent, "run")
    );
    Table { columns, rows: changes.iter().map(|change| row(change)).collect(), notes: vec![new], ..Table::default() }
}

fn row(change: &HistoryChange) -> Vec<Cell> {
    let interval = format!("{} to {}", signed(change.low), signed(change.high));
    let p = if change.p < 1e-4 { "<0.0001".into() } else { significant(change.p) };
    let tone = match (change.fails, change.worse) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Warn,
        (false, false) => Tone::Good,
    };
    let words = [
        Some(if change.worse { "worse" } else { "better" }),
        change.new.then_some("new"),
        change.undone.then_some("undone"),
    ];
    let result = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
    vec![
        Cell::new(change.figure.clone()),
        Cell { hint: change.run.clone(), ..Cell::new(place(change)) },
        Cell::new(format!("{} ({interval})", size(change, change.change))),
        Cell::new(p),
        Cell::new(result).toned(tone),
    ]
}

/// Returns a table with one row per figure: number of runs, first value, last value, and number of changes.
pub(super) fn levels(series: &HistorySeries, changes: &[&HistoryChange]) -> Table {
    let row = |figure: &HistoryFigure| {
        let known: Vec<f64> = figure.values.iter().flatten().map(|value| value.value).collect();
        let shown = |value: Option<&f64>| Cell::new(value.map_or("–".into(), |value| quantity(*value, figure.unit)));
        let count = changes.iter().filter(|change| change.figure == figure.figure).count();
        vec![
            Cell::new(figure.figure.clone()),
            Cell::new(known.len().to_string()),
            shown(known.first()),
            shown(known.last()),
            Cell::new(count.to_string()),
        ]
    };
    let figures = ["runs with it", "first run", "last run", "changes"].map(|name| Col::figures(name, 0));
    let columns = std::iter::once(Col::words("figure", 0)).chain(figures).collect();
    Table { columns, rows: series.figures.iter().map(row).collect(), ..Table::default() }
}

/// Returns the table of the latest runs, the newest first.
pub(super) fn runs(series: &HistorySeries) -> Table {
    let columns =
        [Col::figures("run", 0), Col::words("start (UTC)", 0), Col::words("label", 0), Col::words("directory", 2)];
    let figures = series.figures.iter().map(|figure| Col::figures(&figure.figure, 1));
    let row = |(at, run): (usize, &run::HistoryRun)| {
        let value = |figure: &HistoryFigure| match figure.values.get(at).copied().flatten() {
            Some(value) => Cell::new(quantity(value.value, figure.unit)),
            None => Cell::absent("the run does not have this figure"),
        };
        let started = minute(&run.started);
        let words = [at.to_string(), started, run.label.clone(), run.run.clone()].map(Cell::new);
        words.into_iter().chain(series.figures.iter().map(value)).collect()
    };
    let rows = series.runs.iter().enumerate().rev().take(MAX_ROWS).map(row).collect();
    let more = series.runs.len().saturating_sub(MAX_ROWS);
    let notes = (more > 0).then(|| format!("left out: {}", counted(more, "earlier run"))).into_iter().collect();
    Table { columns: columns.into_iter().chain(figures).collect(), rows, notes, ..Table::default() }
}
