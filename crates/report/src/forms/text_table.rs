//! Tables in a terminal: figures to the right, columns of the highest rank left out first when room is short, the
//! first column of words last; sentences wrap in their column. Says which columns are missing.

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets};

use super::text::{paint, tone_code};
use super::wrap::{cut, wrap};
use crate::{Style, Table, Tone};

/// Columns above this rank are never in the terminal.
const TERMINAL_RANK: u8 = 4;
/// The least and the most room for a column of words, and the room between columns.
const LEAST: usize = 8;
const MOST: usize = 60;
const GAP: usize = 2;
/// Most lines of a cell of words.
const LINES: usize = 3;

/// The lines of a table.
pub(super) fn table(table: &Table, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    if !table.caption.is_empty() {
        lines.extend(wrap(&table.caption, style.width).iter().map(|l| paint(l, "2", style)));
    }
    let (shown, widths, dropped) = choose(table, style.width);
    let rows = table.brief.unwrap_or(usize::MAX);
    for line in grid(table, &shown, &widths, rows) {
        lines.push(paint(&line.text, line.row.map_or("2", |row| tone_code(row_tone(table, row))), style));
    }
    if table.rows.len() > rows {
        let text = format!("and {} more rows in the full report", table.rows.len() - rows);
        lines.push(paint(&text, "2", style));
    }
    if !dropped.is_empty() {
        let names = format!("left out for width: {}", dropped.join("; "));
        lines.extend(wrap(&names, style.width).iter().map(|l| paint(l, "2", style)));
    }
    for note in &table.notes {
        lines.extend(wrap(note, style.width).iter().map(|l| paint(l, "2", style)));
    }
    lines
}

/// A printed line, and the row that it belongs to; none for the heading.
struct Line {
    text: String,
    row: Option<usize>,
}

/// Heading and rows in columns. Words that do not fit take further lines: a claim that is cut says nothing.
fn grid(table: &Table, shown: &[usize], widths: &[usize], rows: usize) -> Vec<Line> {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let heads: Vec<Vec<String>> = shown.iter().zip(widths).map(|(c, w)| piece(&table.columns[*c].name, *w)).collect();
    let tall = heads.iter().map(Vec::len).max().unwrap_or(1);
    // The last line of every heading stands right above its figures.
    grid.set_header(heads.iter().map(|lines| "\n".repeat(tall - lines.len()) + &lines.join("\n")));
    let mut belongs = vec![None; tall];
    for (at, row) in table.rows.iter().enumerate().take(rows) {
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
        }
    }
    let texts = grid.lines().map(|l| l.trim_end().to_string());
    texts.zip(belongs).map(|(text, row)| Line { text, row }).collect()
}

/// The lines of a cell: one where it fits, else wrapped, cut behind the last that is allowed. A name that is one long
/// word is cut at once.
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

/// The least width in which a heading needs no more lines than a cell may have, and no word of it is cut.
fn folded(name: &str) -> usize {
    let longest = name.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
    let enough = (longest.max(LEAST)..MOST).find(|width| wrap(name, *width).len() <= LINES);
    enough.unwrap_or(MOST).min(name.chars().count())
}

/// The loudest tone of a row colours it.
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

/// Which columns fit, how wide each of them may be, and the names of those that were dropped for width. Before a column is
/// dropped, the headings of figures take further lines.
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
        // Nothing more to drop: the widest column of words gives way.
        let words = (0..shown.len()).filter(|i| !table.columns[shown[*i]].right && widths[*i] > LEAST);
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
