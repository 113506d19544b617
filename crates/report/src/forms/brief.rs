//! The brief form for the end of a command: the answer in a few lines, or the first sections of a run without an
//! answer.

use super::text::Page;
use crate::{Block, Doc, Style, Weight};

/// Maximum number of lines of an answer. The command prints two more lines about the place of the report.
const ANSWER_LINES: usize = 12;
/// Maximum number of terminal lines to which one long line of the answer is cut: first, and if the answer is still too
/// long.
const MANY_LINES: usize = 3;
const FEW_LINES: usize = 2;
/// Number of rows of a table that are always kept.
const ROWS: usize = 6;

/// Renders the answer, or without an answer the first sections in at most `most` lines.
pub(super) fn brief(doc: &Doc, style: &Style, most: usize) -> String {
    let has_answer = doc.sections.iter().any(|section| section.weight == Weight::Answer);
    if has_answer { answer(doc, style) } else { first_sections(doc, style, most) }
}

/// Renders the answer. If the answer of a search is too long, lines are left out or cut, the least important ones
/// first.
fn answer(doc: &Doc, style: &Style) -> String {
    let mut doc = doc.clone();
    doc.subtitle.clear();
    if doc.title_in_answer {
        doc.title.clear();
    }
    if blocks(&mut doc).any(|block| matches!(block, Block::Bars(_) | Block::Table(_))) {
        return Page::of(&doc, style, Weight::Answer).text();
    }
    // Less is lost by leaving out a minor line, or by counting a warning instead of showing it, than by cutting a
    // sentence.
    for shorten in [leave_out, cut_to_many, fold_warning, cut_to_few] {
        while Page::of(&doc, style, Weight::Answer).height() > ANSWER_LINES && shorten(&mut doc) {}
    }
    Page::of(&doc, style, Weight::Answer).text()
}

/// Returns the blocks of the answer.
fn blocks(doc: &mut Doc) -> impl Iterator<Item = &mut Block> {
    doc.sections.iter_mut().filter(|section| section.weight == Weight::Answer).flat_map(|section| &mut section.blocks)
}

/// Removes the last line of the answer that may be left out. Returns false if no line may be left out.
fn leave_out(doc: &mut Doc) -> bool {
    blocks(doc).any(|block| match block {
        Block::Answer(lines) => lines.iter().rposition(|line| line.optional).map(|at| lines.remove(at)).is_some(),
        _ => false,
    })
}

/// Hides a warning and counts it among the other hidden warnings.
fn fold_warning(doc: &mut Doc) -> bool {
    blocks(doc).any(|block| if let Block::Warnings(warnings) = block { warnings.fold_one() } else { false })
}

fn cut_to_many(doc: &mut Doc) -> bool {
    cut_last(doc, MANY_LINES)
}

fn cut_to_few(doc: &mut Doc) -> bool {
    cut_last(doc, FEW_LINES)
}

/// Limits the length of the last line of the answer that can be shortened, so that the first lines stay complete.
/// Returns false if no line of the answer can be shortened.
fn cut_last(doc: &mut Doc, most: usize) -> bool {
    let mut limits: Vec<&mut Option<usize>> = Vec::new();
    for block in blocks(doc) {
        match block {
            Block::Answer(lines) => limits.extend(lines.iter_mut().map(|line| &mut line.max_lines)),
            Block::Warnings(warnings) => limits.push(&mut warnings.max_lines),
            _ => {}
        }
    }
    let last = limits.into_iter().rev().find(|limit| limit.is_none_or(|limit| limit > most));
    last.map(|limit| *limit = Some(most)).is_some()
}

fn first_sections(doc: &Doc, style: &Style, most: usize) -> String {
    let whole = Page::of(doc, style, Weight::First);
    let over = whole.height().saturating_sub(most);
    if over == 0 {
        return whole.text();
    }
    let mut doc = doc.clone();
    let sections = doc.sections.iter_mut().filter(|s| s.weight == Weight::First);
    for table in
        sections.flat_map(|s| &mut s.blocks).filter_map(|b| if let Block::Table(t) = b { Some(t) } else { None })
    {
        // An additional line states how many rows are missing.
        table.leave_out((over + 1).min(table.rows.len().saturating_sub(ROWS)));
    }
    Page::of(&doc, style, Weight::First).text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnswerLine, Section, Warnings};

    fn doc(long: &str) -> Doc {
        let line = |name: &str| AnswerLine::new(name, "value:", long);
        let lines = vec![line("Rate"), line("Beyond it").optional(), line("Limited by"), line("Tested"), line("Try")];
        let warnings = Warnings { shown: vec![long.into(), "second".into()], more: 1, to: "trust", max_lines: None };
        let blocks = vec![Block::Answer(lines), Block::Warnings(warnings)];
        let sections = vec![Section::new("answer", "", Weight::Answer, blocks)];
        Doc { title: "Title".into(), sections, title_in_answer: true, ..Doc::default() }
    }

    #[test]
    fn a_short_answer_is_whole() {
        let text = brief(&doc("short"), &Style::default(), 0);
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(text.starts_with("Rate        value: short") && text.contains("Beyond it") && !text.contains("Title"));
    }

    #[test]
    fn a_long_answer_keeps_its_main_lines_and_counts_the_warnings() {
        let text = brief(&doc(&"some words of a sentence; ".repeat(12)), &Style::default(), 0);
        assert!(text.lines().count() <= ANSWER_LINES && !text.contains("Beyond it"), "{text}");
        for name in ["Rate", "Limited by", "Tested", "Try"] {
            assert!(text.contains(name), "{name}: {text}");
        }
        assert!(text.contains("sentence …") && text.contains("more warning"), "{text}");
        let narrow = brief(&doc(&"word ".repeat(80)), &Style { width: 40, ..Style::default() }, 0);
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
