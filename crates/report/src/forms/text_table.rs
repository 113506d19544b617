//! Tables in a terminal. Figures are aligned to the right, and sentences wrap in their column. If the terminal is too
//! narrow, the table leaves out columns, first the columns with the highest rank. A line below the table lists the
//! columns that were left out.

use std::ops::Range;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width, presets};

use run::number::prose::counted;

use super::paint::{code, paint};
use super::wrap::{cut, wrap};
use crate::{Style, Table, Tone};

/// Maximum rank of the columns that a terminal shows.
const TERMINAL_RANK: u8 = 4;
/// Minimum width of a column of words, characters.
const MIN_WIDTH: usize = 8;
/// Maximum width of any column, characters.
const MOST: usize = 60;
/// Gap between two columns, characters.
const GAP: usize = 2;
/// Maximum number of lines of a cell of words, or of a heading.
const LINES: usize = 3;

/// Returns the printed lines of a table. With `whole`, the last line lists the columns that were left out.
pub(super) fn table(table: &Table, style: &Style, whole: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if !table.caption.is_empty() {
        lines.extend(wrap(&table.caption, style.width).iter().map(|l| paint(l, "2", style)));
    }
    let (shown, widths, dropped) = choose(table, style.width);
    let rows = table.brief.unwrap_or(usize::MAX);
    let rows_shown = table.rows.len().min(rows);
    for from in (0..rows_shown.max(1)).step_by(AT_ONCE) {
        let widths = Widths { least: &widths, fixed: rows_shown > AT_ONCE };
        for line in grid(table, &shown, widths, from..rows_shown.min(from + AT_ONCE)) {
            lines.push(paint(&line.text, line.row.map_or("2", |row| code(row_tone(table, row))), style));
        }
    }
    if table.rows.len() > rows {
        let left = counted((table.rows.len() - rows) as f64, "more row");
        let text = format!("and {left} {}", table.rest.unwrap_or("in the full report"));
        lines.push(paint(&text, "2", style));
    }
    if whole && !dropped.is_empty() {
        let names = format!("left out for width: {}", dropped.join("; "));
        lines.extend(wrap(&names, style.width).iter().map(|l| paint(l, "2", style)));
    }
    for note in &table.notes {
        lines.extend(wrap(note, style.width).iter().map(|l| paint(l, "2", style)));
    }
    lines
}

/// Number of table rows whose layout is computed at the same time. Computing the layout of all rows of a long table at
/// the same time would need too much memory.
const AT_ONCE: usize = 1000;

/// Widths of the columns, characters. If `fixed` is true, the widths are exact, so the columns of a long table are
/// equally wide in all its parts. If `fixed` is false, the layout may adapt the widths to the cells.
#[derive(Clone, Copy)]
struct Widths<'a> {
    least: &'a [usize],
    fixed: bool,
}

/// A printed line, with the index of its table row; `None` for a line of the heading.
struct Line {
    text: String,
    row: Option<usize>,
}

/// Lays out the heading and rows in columns. If the words of a cell do not fit into the column, wraps them, because a
/// cut sentence is useless.
fn grid(table: &Table, shown: &[usize], of: Widths<'_>, rows: Range<usize>) -> Vec<Line> {
    let widths = of.least;
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let heads: Vec<Vec<String>> = shown.iter().zip(widths).map(|(c, w)| piece(&table.columns[*c].name, *w)).collect();
    let tall = heads.iter().map(Vec::len).max().unwrap_or(1);
    // All headings must end on the line directly above the figures, so short headings get empty lines on top.
    let mut belongs = Vec::new();
    if rows.start == 0 {
        grid.set_header(heads.iter().map(|lines| "\n".repeat(tall - lines.len()) + &lines.join("\n")));
        belongs.extend(vec![None; tall]);
    }
    for (at, row) in table.rows.iter().enumerate().take(rows.end).skip(rows.start) {
        let text = |c: &usize| row.get(*c).map_or("", |cell| cell.text.as_str());
        let cells: Vec<Vec<String>> = shown.iter().zip(widths).map(|(c, w)| piece(text(c), *w)).collect();
        belongs.extend(vec![Some(at); cells.iter().map(Vec::len).max().unwrap_or(1)]);
        grid.add_row(cells.iter().map(|lines| lines.join("\n")));
    }
    for (i, column) in shown.iter().enumerate() {
        if let Some(made) = grid.column_mut(i) {
            let side = if table.columns[*column].right { CellAlignment::Right } else { CellAlignment::Left };
            made.set_cell_alignment(side);
            made.set_padding((0, GAP as u16));
            if of.fixed {
                made.set_constraint(ColumnConstraint::Absolute(Width::Fixed((widths[i] + GAP) as u16)));
            }
        }
    }
    let texts = grid.lines().map(|l| l.trim_end().to_string());
    texts.zip(belongs).map(|(text, row)| Line { text, row }).collect()
}

/// Splits the text of a cell into lines. Cuts a text after [`LINES`] lines. If a word is wider than the column, cuts
/// the text of the cell to one line.
fn piece(text: &str, width: usize) -> Vec<String> {
    if text.split_whitespace().any(|word| word.chars().count() > width) {
        return vec![cut(text, width)];
    }
    let mut lines = wrap(text, width);
    if lines.len() > LINES {
        let rest = lines.split_off(LINES - 1).join(" ");
        lines.push(cut(&rest, width));
    }
    lines
}

/// Returns the smallest column width at which a heading fits into [`LINES`] lines without cutting a word. The returned
/// width is at most [`MOST`].
fn folded(name: &str) -> usize {
    let longest = name.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let enough = (longest.max(MIN_WIDTH)..MOST).find(|width| wrap(name, *width).len() <= LINES);
    enough.unwrap_or(MOST).min(name.chars().count())
}

/// Returns the most serious tone among the cells of a row. A terminal prints the row in the colour of this tone.
fn row_tone(table: &Table, row: usize) -> Tone {
    let cells = table.rows.get(row).into_iter().flatten();
    let loud = |t: &Tone| match t {
        Tone::Bad => 3,
        Tone::Warn => 2,
        Tone::Good => 1,
        Tone::Plain | Tone::Quiet => 0,
    };
    cells.map(|c| c.tone).max_by_key(loud).filter(|t| *t != Tone::Quiet).unwrap_or_default()
}

/// Returns the indices of the columns that fit, their widths, and the names of the columns that were left out. Before
/// this function leaves out a column, it wraps the headings of figures to make their columns narrower.
fn choose(table: &Table, width: usize) -> (Vec<usize>, Vec<usize>, Vec<String>) {
    let natural = |c: usize, head: usize| {
        let cells = table.rows.iter().filter_map(|r| r.get(c)).map(|cell| cell.text.chars().count());
        cells.chain([head]).max().unwrap_or(0).min(MOST)
    };
    let mut shown: Vec<usize> = (0..table.columns.len()).filter(|c| table.columns[*c].rank <= TERMINAL_RANK).collect();
    let mut widths: Vec<usize> = shown.iter().map(|c| natural(*c, table.columns[*c].name.chars().count())).collect();
    let mut dropped = Vec::new();
    let too_wide = |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) > width;
    if too_wide(&widths) {
        let figures = shown.iter().zip(&mut widths).filter(|(c, _)| table.columns[**c].right);
        figures.for_each(|(c, width)| *width = natural(*c, folded(&table.columns[*c].name)));
    }
    while too_wide(&widths) {
        let highest = shown.iter().map(|c| table.columns[*c].rank).max().unwrap_or(0);
        if let Some(place) = shown.iter().rposition(|c| table.columns[*c].rank == highest).filter(|_| highest > 0) {
            dropped.push(table.columns[shown.remove(place)].name.clone());
            widths.remove(place);
            continue;
        }
        // All remaining columns have rank 0. The code therefore narrows the widest column of words instead of leaving
        // out a column.
        let words = (0..shown.len()).filter(|i| !table.columns[shown[*i]].right && widths[*i] > MIN_WIDTH);
        match words.max_by_key(|i| widths[*i]) {
            Some(widest) => widths[widest] -= 1,
            None if shown.len() > 2 => {
                dropped.extend(shown.pop().map(|last| table.columns[last].name.clone()));
                widths.pop();
            }
            None => break,
        }
    }
    (shown, widths, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Col};

    #[test]
    fn rows_that_are_laid_out_separately_have_equal_columns() {
        let row = |i: usize| vec![Cell::new(format!("case {i}")), Cell::new((i * i).to_string()), Cell::new("words")];
        let columns = vec![Col::words("case", 0), Col::figures("square", 0), Col::words("rest", 0)];
        let all = Table { columns, rows: (0..2 * AT_ONCE + 500).map(row).collect(), ..Table::default() };
        let lines = table(&all, &Style { width: 80, color: false, ascii: false }, true);
        assert_eq!(lines.len(), 2 * AT_ONCE + 501, "one heading");
        let at = lines[1].find("words").unwrap();
        assert!(lines.iter().skip(1).all(|line| line.find("words") == Some(at)), "{}", lines[AT_ONCE + 1]);
    }

    #[test]
    fn rows_that_are_left_out_are_counted_and_their_place_is_named() {
        let last = |brief: usize, rest: Option<&'static str>| {
            let rows = (0..3).map(|i| vec![Cell::new(i.to_string())]).collect();
            let all = Table { columns: vec![Col::words("n", 0)], rows, brief: Some(brief), rest, ..Table::default() };
            table(&all, &Style::default(), false).pop().unwrap()
        };
        assert_eq!(last(2, None), "and 1 more row in the full report");
        assert_eq!(last(1, Some("with --json")), "and 2 more rows with --json");
    }
}
