//! Document of a comparison: the verdict, differences between the conditions of both servers, and one table of all
//! figures.

mod brief;
mod change;
mod charts;
mod conclusion;
mod figures;
mod table;

use run::{Comparison, WindowOrder};

pub use brief::brief_comparison;

use crate::{Block, Cell, Col, Doc, KeyFigure, Note, ReportError, Section, Style, Table, Tone, Weight};
use charts::{curves, intervals};
use conclusion::{decided, describe, sentence, smallest_change};
use figures::{length, tone, word};
use table::table;

/// A compared run, as the page of the comparison lists it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedRun {
    /// True if the run belongs to the new side, false if it belongs to the old side.
    pub is_new: bool,
    /// Name of the run, such as its directory.
    pub name: String,
    /// Relative URL of the run's report; empty if the run has no report.
    pub report: String,
}

/// Renders a comparison as an HTML page that links to the reports of `runs`.
pub fn comparison_page(comparison: &Comparison, runs: &[ComparedRun]) -> Result<String, ReportError> {
    crate::answer::render("html", comparison, &document(comparison, runs), &Style::default())
}

/// Returns the table of the compared runs. The name of each run leads to the run's report.
fn table_of_runs(runs: &[ComparedRun]) -> Table {
    let row = |run: &ComparedRun| {
        let link = Cell { link: run.report.clone(), ..Cell::new(run.name.clone()) };
        let side = if run.is_new { "new" } else { "old" };
        vec![side.into(), link]
    };
    let columns = vec![Col::words("side", 0), Col::words("report of the run", 0)];
    Table { columns, rows: runs.iter().map(row).collect(), ..Table::default() }
}

/// Renders a comparison of old and new runs. `form` is `text`, `markdown`, `html` or `json`.
pub fn render_comparison(form: &str, comparison: &Comparison, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, comparison, &document(comparison, &[]), style)
}

fn names(comparison: &Comparison) -> String {
    format!("old: {} · new: {}", comparison.old, comparison.new)
}

/// Returns the document of a comparison. If `runs` has runs, a table leads to their reports.
fn document(comparison: &Comparison, runs: &[ComparedRun]) -> Doc {
    let mut blocks: Vec<Block> =
        comparison.differences.iter().map(|d| Note::block(Tone::Warn, format!("Differs: {d}"))).collect();
    blocks.extend(comparison.notes.iter().map(|note| Note::block(Tone::Warn, crate::words::capital(note))));
    let old_died = comparison.deaths.iter().filter(|death| !death.new);
    blocks.extend(old_died.map(|death| Note::block(Tone::Bad, crate::words::capital(&describe(death)))));
    blocks.push(Block::KeyFigures(vec![KeyFigure {
        name: "Verdict".into(),
        value: word(comparison.verdict).into(),
        detail: decided(comparison),
        tone: tone(comparison.verdict),
    }]));
    blocks.extend(Some(runs).filter(|runs| !runs.is_empty()).map(|runs| Block::Table(table_of_runs(runs))));
    blocks.push(Block::Table(table(comparison)));
    blocks.extend(comparison.tls.iter().map(|tls| Note::block(Tone::Plain, tls.sentence.clone())));
    blocks.extend(smallest_change(comparison).map(|sentence| Note::block(Tone::Plain, sentence)));
    blocks.extend(comparison.turns.as_ref().map(|turns| in_turns(turns, comparison.decided_after_s)));
    blocks.extend(intervals(comparison));
    blocks.extend(curves(comparison));
    Doc {
        title: sentence(comparison),
        subtitle: names(comparison),
        sections: vec![Section::new("compare", "", Weight::First, blocks)],
        ..Doc::default()
    }
}

/// Returns a note about the random order in which loadline measured the servers. The note contains the seed of the
/// order, the number of pairs of measurements, and the measured time until the decision.
fn in_turns(turns: &WindowOrder, decided_after_s: Option<f64>) -> Block {
    let pairs = turns.new_first.len();
    let plural = if pairs == 1 { "" } else { "s" };
    let decided = decided_after_s.map_or(String::new(), |s| format!(" Decided after {}.", length(s)));
    let how = if turns.at_once { ", at once on CPUs that both servers swapped" } else { "" };
    let text = format!("{pairs} pair{plural} of windows{how}, in the order of --seed {}.{decided}", turns.seed);
    Note::block(Tone::Plain, text)
}
