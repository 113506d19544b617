//! Prints the results of the benchmark.

use anyhow::Result;
use comfy_table::{Cell, ContentArrangement, Table};

use testkit::SetupError;

use crate::compare::{Compared, median};
use crate::rows::{Goal, Row};

/// Prints the result of a row immediately after its measurement.
pub(crate) fn line(row: &Row, outcome: &Result<Compared>) {
    match outcome {
        Ok(c) => eprintln!("  {} {:.3} ({})", row.id, c.ratio(), verdict(row, outcome)),
        Err(e) => eprintln!("  {} {}: {e:#}", row.id, verdict(row, outcome)),
    }
}

/// Formats the table of all rows.
pub(crate) fn table(results: &[(&Row, Result<Compared>)]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["row", "ours", "peer", "unit", "ratio", "spread", "goal", "aim", "result", "note"]);
    for (row, outcome) in results {
        table.add_row(cells(row, outcome));
    }
    table.to_string()
}

fn cells(row: &Row, outcome: &Result<Compared>) -> Vec<Cell> {
    let goals = [row.goal.to_string(), row.aim.map_or(String::new(), |aim| aim.to_string()), verdict(row, outcome)];
    let mut cells = vec![row.id.to_string()];
    match outcome {
        Ok(c) => {
            let (low, high) = c.spread();
            let peer = if c.peer.is_empty() { String::new() } else { format!("{:.4}", median(&c.peer)) };
            cells.extend([format!("{:.4}", median(&c.ours)), peer, c.unit.into(), format!("{:.3}", c.ratio())]);
            cells.push(format!("{low:.3} to {high:.3}"));
            cells.extend(goals);
            cells.push(c.note.clone());
        }
        Err(e) => {
            cells.extend(std::iter::repeat_n(String::new(), 5));
            cells.extend(goals);
            cells.push(format!("{e:#}"));
        }
    }
    cells.into_iter().map(Cell::new).collect()
}

fn verdict(row: &Row, outcome: &Result<Compared>) -> String {
    match outcome {
        Err(e) if e.is::<SetupError>() => "SKIP".into(),
        Err(_) => "not measured".into(),
        Ok(c) if row.aim.is_some_and(|aim| aim.met(c.ratio())) => "aim reached".into(),
        Ok(c) if row.goal.met(c.ratio()) => "goal reached".into(),
        Ok(_) => "MISSED".into(),
    }
}

/// Returns true if the measurement of the row succeeded, but the result misses the goal.
pub(crate) fn missed(row: &Row, outcome: &Result<Compared>) -> bool {
    outcome.as_ref().is_ok_and(|c| !row.goal.met(c.ratio()))
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(x) => write!(f, "<= {x}"),
            Self::AtLeast(x) => write!(f, ">= {x}"),
        }
    }
}
