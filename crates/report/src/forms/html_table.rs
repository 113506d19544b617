//! Tables of the HTML form, on a wide page and on a phone. A table that fits on a phone is shown as it is. A table that
//! is too wide for a phone but has few columns is stacked. In a stacked table, each row becomes a card, in which each
//! cell has its heading. A table that neither fits nor is stacked scrolls sideways in its own box, while its first
//! column stays visible. The HTML page must work without scripts. No script can adapt the layout, so this code chooses
//! the layout of each table by an estimate of the table's width.

use askama::Template;

use crate::Table;

/// Number of characters per line on a phone (390 px).
const PHONE: usize = 54;
/// Number of characters per line on the widest page.
const PAGE: usize = 176;
/// Gap between two columns, characters.
const GAP: usize = 3;
/// Maximum width of a column of words, characters. Texts that are longer than this width wrap.
const WORDS: usize = 24;
/// Maximum number of columns at which a table with sentences is shown as cards on a phone.
const STACKED: usize = 5;
/// Maximum number of columns at which a table without sentences is shown as cards on a phone.
const STACKED_FIGURES: usize = 7;

/// Layout of a table, which depends on the table's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Fits,
    Stacked,
    /// The table fits on a wide page, but scrolls sideways on a phone.
    Wide,
    /// The table scrolls sideways on every screen.
    Wider,
}

#[derive(Template)]
#[template(path = "table.html")]
pub(super) struct TableHtml<'a> {
    table: &'a Table,
    room: Room,
    /// Index of the column with the row's name, which is the first column of words. In a card, the cell in this column
    /// needs no heading.
    name: Option<usize>,
}

impl<'a> TableHtml<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, room: room(table), name: table.columns.iter().position(|c| !c.right) }
    }

    fn right(&self, column: &usize) -> bool {
        self.table.columns.get(*column).is_some_and(|c| c.right)
    }

    fn room(&self) -> &'static str {
        match self.room {
            Room::Fits => "",
            Room::Stacked => " stack",
            Room::Wide => " wide",
            Room::Wider => " wide wider",
        }
    }

    fn wide(&self) -> bool {
        matches!(self.room, Room::Wide | Room::Wider)
    }

    /// Returns the heading of a cell in a card; empty if the cell needs no heading.
    fn label(&self, column: &usize) -> &'a str {
        let needed = self.room == Room::Stacked && self.name != Some(*column);
        self.table.columns.get(*column).filter(|_| needed).map_or("", |c| c.name.as_str())
    }
}

fn room(table: &Table) -> Room {
    let cells = |c: usize| table.rows.iter().filter_map(move |r| r.get(c)).map(|cell| cell.text.chars().count());
    // Headings wrap between words, so the width of a heading is the length of its longest word.
    let head = |c: usize| table.columns[c].name.split(' ').map(|word| word.chars().count()).max();
    let widest = |c: usize| cells(c).chain(head(c)).max().unwrap_or(0);
    let asks = |c: usize| GAP + if table.columns[c].right { widest(c) } else { widest(c).min(WORDS) };
    let sentences = (0..table.columns.len()).any(|c| !table.columns[c].right && widest(c) > WORDS);
    let stacked = if sentences { STACKED } else { STACKED_FIGURES };
    match (0..table.columns.len()).map(asks).sum::<usize>() {
        asked if asked <= PHONE => Room::Fits,
        _ if table.columns.len() <= stacked && !table.sortable => Room::Stacked,
        asked if asked <= PAGE => Room::Wide,
        _ => Room::Wider,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Col};

    fn of(columns: Vec<Col>, text: &str) -> Table {
        let row = columns.iter().map(|_| Cell::new(text)).collect();
        Table { columns, rows: vec![row], ..Table::default() }
    }

    #[test]
    fn on_a_phone_tables_become_cards_or_scroll() {
        let words = |n: usize| (0..n).map(|_| Col::words("a", 0)).collect::<Vec<_>>();
        let long = "a claim of many words that wraps in its column";
        assert_eq!(room(&of(words(2), "short")), Room::Fits);
        assert_eq!(room(&of(words(5), long)), Room::Stacked);
        assert_eq!(room(&of(words(7), "eleven char")), Room::Stacked);
        assert_eq!(room(&of(words(8), "eleven char")), Room::Wide);
        // Readers sort a table by clicking its headings. Cards have no headings to click, so a sortable table does not
        // become cards.
        let sortable = Table { sortable: true, ..of(words(7), "eleven char") };
        assert_eq!(room(&sortable), Room::Wide);
        assert_eq!(room(&of(words(12), long)), Room::Wider);
    }

    #[test]
    fn figures_in_a_card_have_headings_but_its_name_has_none() {
        let long = "a claim of many words that wraps in its column";
        let table = of(vec![Col::figures("held", 0), Col::words("claim", 0), Col::figures("wanted", 0)], long);
        let html = TableHtml::new(&table);
        assert_eq!((html.label(&0), html.label(&1), html.label(&2)), ("held", "", "wanted"));
    }
}
