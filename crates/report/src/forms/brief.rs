//! Brief form, printed at the end of a command: the answer section in a few lines. For a run without an answer section,
//! the form consists of the sections with the weight `First`.

use super::text::Page;
use crate::{Block, Doc, Style, Weight};

/// Maximum number of lines of the answer section. After the answer section, the command prints two more lines, which
/// say where the full report is.
const ANSWER_LINES: usize = 12;
/// Maximum number of lines of an answer section with a histogram. Together with the lines that the command prints
/// before and after it, and the next prompt, the answer section fits a terminal of 24 lines.
const HISTOGRAM_ANSWER_LINES: usize = 19;
/// Maximum number of terminal lines of one summary line or warning, after the first step that shortens sentences in a
/// long answer section.
const MANY_LINES: usize = 3;
/// Maximum number of terminal lines of one summary line or warning, after the second step that shortens sentences in a
/// long answer section. A single clause may need more lines, because no clause is cut.
const FEW_LINES: usize = 2;
/// Minimum number of rows that the brief form keeps of each table.
const ROWS: usize = 6;

/// Renders the answer section. For a document without an answer section, renders the sections with the weight `First`
/// instead. If the rendered sections need more than `most` lines, leaves out table rows.
pub(super) fn brief(doc: &Doc, style: &Style, most: usize) -> String {
    let has_answer = doc.sections.iter().any(|section| section.weight == Weight::Answer);
    if has_answer { answer(doc, style) } else { first_sections(doc, style, most) }
}

/// Renders the answer section. If the section is too long, leaves out lines, or shortens them to their first whole
/// clauses, beginning with the least important lines. Never shortens an answer section with a table.
fn answer(doc: &Doc, style: &Style) -> String {
    let mut doc = doc.clone();
    doc.subtitle.clear();
    if doc.title_in_answer {
        doc.title.clear();
    }
    if blocks(&mut doc).any(|block| matches!(block, Block::Table(_))) {
        return Page::of(&doc, style, Weight::Answer).text();
    }
    let has_histogram = blocks(&mut doc).any(|block| matches!(block, Block::Bars(_)));
    let most = if has_histogram { HISTOGRAM_ANSWER_LINES } else { ANSWER_LINES };
    // A missing line or warning is a smaller loss than a shorter sentence. Each step that shortens sentences therefore
    // comes after a step that leaves out lines or hides warnings. The most serious warning is hidden last.
    for shorten in [leave_out, shorten_to_many, fold_warning, shorten_to_few, fold_all_warnings] {
        while Page::of(&doc, style, Weight::Answer).height() > most && shorten(&mut doc) {}
    }
    Page::of(&doc, style, Weight::Answer).text()
}

/// Returns the blocks of the answer section.
fn blocks(doc: &mut Doc) -> impl Iterator<Item = &mut Block> {
    doc.sections.iter_mut().filter(|section| section.weight == Weight::Answer).flat_map(|section| &mut section.blocks)
}

/// Removes the last optional line of the answer section. Returns false if the answer section has no optional line.
fn leave_out(doc: &mut Doc) -> bool {
    blocks(doc).any(|block| match block {
        Block::Answer(lines) => lines.iter().rposition(|line| line.optional).map(|at| lines.remove(at)).is_some(),
        _ => false,
    })
}

/// Hides a warning and adds it to the number of hidden warnings. Returns false if no warning can be hidden.
fn fold_warning(doc: &mut Doc) -> bool {
    blocks(doc).any(|block| if let Block::Warnings(warnings) = block { warnings.fold_one() } else { false })
}

/// Hides the last shown warning, even if it is the only one. Returns false if no warning is shown.
fn fold_all_warnings(doc: &mut Doc) -> bool {
    blocks(doc).any(|block| if let Block::Warnings(warnings) = block { warnings.fold_last() } else { false })
}

fn shorten_to_many(doc: &mut Doc) -> bool {
    shorten_last(doc, MANY_LINES)
}

fn shorten_to_few(doc: &mut Doc) -> bool {
    shorten_last(doc, FEW_LINES)
}

/// Finds the last summary line or warning that may still fill more than `most` terminal lines, and limits it to `most`.
/// Returns false if no summary line or warning can be shortened.
fn shorten_last(doc: &mut Doc, most: usize) -> bool {
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
        // The note about the removed rows fills one line, so the code removes one more row than there are surplus
        // lines.
        table.leave_out((over + 1).min(table.rows.len().saturating_sub(ROWS)));
    }
    Page::of(&doc, style, Weight::First).text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnswerLine, BarRow, Bars, Section, Warnings};

    fn doc(long: &str) -> Doc {
        let line = |name: &str| AnswerLine::new(name, "value:", long);
        let lines = vec![line("Rate"), line("Beyond it").optional(), line("Limited by"), line("Tested"), line("Try")];
        let warnings = Warnings { shown: vec![long.into(), "second".into()], more: 1, to: "trust", max_lines: None };
        let blocks = vec![Block::Answer(lines), Block::Warnings(warnings)];
        let sections = vec![Section::new("answer", "", Weight::Answer, blocks)];
        Doc { title: "Title".into(), sections, title_in_answer: true, ..Doc::default() }
    }

    /// In an earlier version of loadline, the answer of a load with warnings had 23 lines. On a terminal of 24 lines,
    /// the percentiles in the answer's first lines had scrolled away.
    #[test]
    fn an_answer_with_a_histogram_fits_a_small_terminal() {
        let mut doc = doc(&"some words of a sentence; ".repeat(8));
        let row = BarRow { label: "to 1 ms".into(), ..BarRow::default() };
        let bars = Bars { rows: vec![row; 7], ..Bars::default() };
        doc.sections[0].blocks.insert(0, Block::Bars(bars));
        let text = brief(&doc, &Style::default(), 0);
        assert!(text.lines().count() <= HISTOGRAM_ANSWER_LINES, "{text}");
        assert_eq!(text.matches("to 1 ms").count(), 7, "{text}");
        assert!(!text.contains("Beyond it") && text.contains("Limited by"), "{text}");
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
        assert!(text.contains("more warnings: see Trust in the full report") && !text.contains('…'), "{text}");
        let shown = text.lines().filter(|line| line.ends_with("of a sentence")).count();
        assert!(shown >= 4, "each line ends with a whole clause: {text}");
        let one = format!("{} end", "word ".repeat(30).trim());
        let text = brief(&doc(&one), &Style::default(), 0);
        assert!(text.matches("word end").count() == 4 && text.contains("3 warnings: see Trust"), "{text}");
        let narrow = brief(&doc(&"word ".repeat(80)), &Style { width: 40, ..Style::default() }, 0);
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
