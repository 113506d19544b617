//! The tables of the experiments: one row a trial, the columns that the source tabulates, and the source's own table
//! below where it printed one.
//!
//! To add a table, add a row to `tabulated.rs`; one that ranks its rows, to `ranked.rs`.

use run::{Run, Trial};

use super::column::{Column, Columns, cell, word};
use super::tabulated::TABLES;
use super::value::value;
use super::{plateau, ranked};
use crate::pages::pick;
use crate::{Block, Cell, Col, Table};
use run::number::{count, number};

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
