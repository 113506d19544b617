//! Short comparison for a terminal: one sentence with the conclusion, the figures that decided it, and at most two
//! warnings.

use run::{ComparedFigure, Comparison, ComparisonOutcome};

use super::conclusion::{advice, describe, sentence, smallest_change};
use super::figures::{decides, shown};
use super::names;
use super::table::{remark, still_open, table};
use crate::words::capital;
use crate::{Block, Doc, Note, Section, Style, Table, Tone, Warnings, Weight};

/// Maximum number of warnings that are shown.
const MAX_WARNINGS: usize = 2;

/// Renders the short comparison for a terminal.
pub fn brief_comparison(comparison: &Comparison, style: &Style) -> String {
    let mut blocks: Vec<Block> = deciding(comparison).map(Block::Table).into_iter().collect();
    if comparison.outcome == ComparisonOutcome::Undecided {
        blocks.push(Block::Paragraph(format!("{}.", capital(&advice(comparison)))));
    }
    blocks.extend(smallest_change(comparison).map(Block::Paragraph));
    blocks.extend(comparison.tls.iter().map(|tls| Note::block(Tone::Plain, tls.sentence.clone())));
    blocks.push(Block::Warnings(warnings(comparison)));
    blocks.extend(left_out(comparison));
    let sections = vec![Section::new("compare", "", Weight::First, blocks)];
    let doc = Doc { title: sentence(comparison), subtitle: names(comparison), sections, ..Doc::default() };
    crate::forms::brief(&doc, style, usize::MAX)
}

/// Returns the table of the figures that decide the conclusion.
fn deciding(comparison: &Comparison) -> Option<Table> {
    let comparisons: Vec<ComparedFigure> = comparison.comparisons.iter().filter(|c| decides(c)).cloned().collect();
    let only = Comparison { comparisons, ..comparison.clone() };
    let said = shown(&only).filter(|c| c.ratio.is_finite()).filter_map(remark);
    let notes = said.chain(shown(&only).filter_map(still_open)).collect();
    (!only.comparisons.is_empty()).then(|| Table { notes, ..table(&only) })
}

/// Returns the weaknesses of the comparison, the most serious first. The most serious weakness is that the old server's
/// process ended early. After the most serious weakness come different conditions of the two sides, and then notes.
fn warnings(comparison: &Comparison) -> Warnings {
    let died = comparison.deaths.iter().filter(|death| !death.new).map(|death| capital(&describe(death)));
    let differs = comparison.differences.iter().map(|difference| format!("Differs: {difference}"));
    let mut shown: Vec<String> = died.chain(differs).chain(comparison.notes.iter().map(|note| capital(note))).collect();
    let more = shown.len().saturating_sub(MAX_WARNINGS);
    shown.truncate(MAX_WARNINGS);
    Warnings { shown, more, ..Warnings::default() }
}

/// Returns a note with the number of figures that are not shown; `None` if all figures are shown.
fn left_out(comparison: &Comparison) -> Option<Block> {
    let left = shown(comparison).filter(|c| !decides(c)).count();
    let plural = if left == 1 { "" } else { "s" };
    (left > 0).then(|| Note::block(Tone::Plain, format!("{left} more figure{plural} with -v")))
}
