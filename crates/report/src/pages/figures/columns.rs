//! The tables of the experiments: one row a trial, the columns that the source tabulates, and the source's own table
//! below where it printed one.
//!
//! To add a table, add a row to `tabulated.rs`; one that ranks its rows, to `ranked.rs`.

use run::{Run, Trial};

use super::tabulated::TABLES;
use super::value::value;
use super::{plateau, ranked};
use crate::number::{count, number, quantity};
use crate::pages::pick;
use crate::{Block, Cell, Col, Table, Unit};

/// One table of an experiment.
pub(super) struct Columns {
    pub(super) experiment: &'static str,
    pub(super) caption: &'static str,
    pub(super) columns: &'static [Column],
    /// The source's own table: its caption, and a CSV with a header.
    pub(super) published: Option<(&'static str, &'static str)>,
}

/// One column.
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Path of the value, see `value.rs`.
    pub(super) of: &'static str,
    pub(super) unit: Unit,
    pub(super) show: Show,
}

/// What of a value is shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Show {
    Value,
    /// By which share it grew since the row before.
    Growth,
    /// By how much it grew since the row before.
    Change,
    /// No value: the first word of the note that begins so.
    Note,
}

/// A column of values.
pub(super) const fn c(head: &'static str, of: &'static str, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Value }
}

/// The tables of an experiment.
pub(super) fn tables(name: &str, run: &Run) -> Vec<Block> {
    let mut blocks: Vec<Block> = ranked::tables(name, &run.trials).into_iter().map(Block::Table).collect();
    // What was ranked is not told twice to somebody at a terminal.
    let brief = (!blocks.is_empty()).then_some(0);
    if name == "throughput-profile" {
        blocks.extend(plateau::table(run).map(Block::Table));
    }
    for spec in TABLES.iter().filter(|t| t.experiment == name) {
        blocks.extend(ours(spec, &run.trials).map(|table| Block::Table(Table { brief, ..table })));
        blocks.extend(spec.published.map(|(caption, csv)| Block::Table(theirs(caption, csv))));
    }
    blocks
}

/// A row a trial; columns in which no trial has a value are left out.
fn ours(spec: &Columns, trials: &[Trial]) -> Option<Table> {
    let known = |c: &&Column| trials.iter().any(|t| value(t, c.of).is_some() || word(t, c).is_some());
    let shown: Vec<&Column> = spec.columns.iter().filter(known).collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![Col::words("trial", 0)];
    columns.extend(shown.iter().map(|c| Col::figures(c.head, 1)));
    let row = |(i, trial): (usize, &Trial)| {
        let before = i.checked_sub(1).and_then(|i| trials.get(i));
        let mut cells = vec![Cell::new(pick::name(trial))];
        cells.extend(shown.iter().map(|c| cell(c, trial, before)));
        cells
    };
    let rows = trials.iter().enumerate().map(row).collect();
    Some(Table { caption: spec.caption.into(), columns, rows, ..Table::default() })
}

pub(super) fn cell(column: &Column, trial: &Trial, before: Option<&Trial>) -> Cell {
    if let Some(word) = word(trial, column) {
        return Cell::new(word);
    }
    let Some(now) = value(trial, column.of) else { return below_noise(column, trial) };
    let last = before.and_then(|t| value(t, column.of));
    match (column.show, last) {
        (Show::Value, _) if column.unit == Unit::Plain && now.fract() == 0.0 && (0.0..1e15).contains(&now) => {
            count(now as u64).into()
        }
        (Show::Value | Show::Note, _) => quantity(now, column.unit).into(),
        (_, None) => Cell::default(),
        (Show::Growth, Some(last)) => signed(now / last - 1.0, column.unit),
        (Show::Change, Some(last)) => signed(now - last, column.unit),
    }
}

/// The first word of the note that a column names.
fn word<'a>(trial: &'a Trial, column: &Column) -> Option<&'a str> {
    let note = (column.show == Show::Note).then_some(column.of)?;
    trial.notes.iter().find_map(|n| n.strip_prefix(note))?.split_whitespace().next()
}

/// What a growth would have had to be above, where it was not told from noise.
fn below_noise(column: &Column, trial: &Trial) -> Cell {
    match value(trial, &format!("{}_noise", column.of)) {
        Some(noise) => Cell::new(format!("< {}", quantity(noise, column.unit))),
        None => Cell::absent("not measured in this trial"),
    }
}

fn signed(v: f64, unit: Unit) -> Cell {
    let sign = if v > 0.0 { "+" } else { "" };
    Cell::new(format!("{sign}{}", quantity(v, unit)))
}

/// A published table as it stands; figures to the right.
fn theirs(caption: &str, csv: &str) -> Table {
    let mut lines =
        csv.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap_or_default();
    let rows: Vec<Vec<&str>> = lines.collect();
    let figures = |i: usize| rows.iter().all(|r| r.get(i).is_none_or(|v| v.is_empty() || v.parse::<f64>().is_ok()));
    let columns =
        heads.iter().enumerate().map(|(i, head)| if figures(i) { Col::figures(head, 0) } else { Col::words(head, 0) });
    let cell = |text: &str| match text.parse::<u64>() {
        Ok(n) => Cell::new(count(n)),
        Err(_) => text.parse::<f64>().map_or_else(|_| Cell::new(text), |v| Cell::new(number(v))),
    };
    let columns = columns.collect();
    let rows = rows.iter().map(|r| r.iter().map(|text| cell(text)).collect()).collect();
    Table { caption: caption.into(), columns, rows, brief: Some(0), ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_tables_have_every_cell() {
        for (caption, csv) in TABLES.iter().filter_map(|t| t.published) {
            let table = theirs(caption, csv);
            assert!(table.rows.len() > 2 && table.columns.len() > 2, "{caption}");
            assert!(table.rows.iter().all(|r| r.len() == table.columns.len()), "{caption}");
        }
    }

    #[test]
    fn the_blocking_model_stopped_at_2016_threads() {
        let csv = TABLES.iter().find_map(|t| t.published).unwrap().1;
        let table = theirs("", csv);
        let threads = table.columns.iter().position(|c| c.name == "threads").unwrap();
        assert_eq!(table.rows[0][threads].text, "2,016");
    }
}
