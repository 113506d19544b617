//! The page `docs/rule-matrix.md`.

use std::path::Path;

use super::matrix::{INFEASIBLE, Infeasible, Winner, cell, ids};

const HEAD: &str = "\
# Which rule wins when two causes meet

Each cell is one planted run in which both causes are at their limit: that of the row and that of the column. The cell holds the
number of the bottleneck that the verdict names, and the confidence. On the diagonal the cause is alone. Most runs that people
measure have one cause; this table shows how the order of the rules decides where there are two.

This page is generated: `make docs` writes it from the rules, and a test fails while it differs from what they answer. A change of
a cell is a decision and needs a reason in its commit.
";

/// The whole page.
pub(super) fn page() -> String {
    let ids = ids();
    let cells: Vec<Vec<Cell>> = ids.iter().map(|a| ids.iter().map(|b| cell(a, b)).collect()).collect();
    let upper = |row: usize| cells[row].iter().enumerate().skip(row);
    let pairs = || (0..ids.len()).flat_map(|row| upper(row).skip(1).map(move |(column, cell)| (row, column, cell)));
    let feasible = pairs().filter(|(_, _, cell)| cell.is_ok()).count();
    let by_row = |(row, _, cell): &(usize, usize, &Cell)| named(cell) == Some(ids[*row]);
    let by_column = |(_, column, cell): &(usize, usize, &Cell)| named(cell) == Some(ids[*column]);
    let third: Vec<_> = pairs().filter(|pair| pair.2.is_ok() && !by_row(pair) && !by_column(pair)).collect();
    let later: Vec<_> = pairs().filter(by_column).collect();
    let mut page = format!("{HEAD}\n{} pairs; {feasible} are feasible.\n\n", pairs().count());
    page += &format!("| | {} |\n", (1..=ids.len()).map(|n| n.to_string()).collect::<Vec<_>>().join(" | "));
    page += &format!("|---|{}\n", "---|".repeat(ids.len()));
    for (row, id) in ids.iter().enumerate() {
        let blank = (0..row).map(|_| String::new());
        let shown: Vec<String> = blank.chain(upper(row).map(|(_, cell)| text(&ids, cell))).collect();
        page += &format!("| {} {id} | {} |\n", row + 1, shown.join(" | "));
    }
    page += "\n## Reasons of the cells without a run\n\n";
    INFEASIBLE.iter().for_each(|reason| page += &format!("- `{}`: {}\n", reason.key, reason.why));
    page += "\n## Pairs in which the rule further down wins\n\n";
    page += &list(&ids, &later);
    page += "\n## Pairs in which neither cause is named\n\n";
    page += &list(&ids, &third);
    page
}

type Cell = Result<Winner, &'static Infeasible>;

fn named(cell: &Cell) -> Option<&str> {
    cell.as_ref().ok().map(|winner| winner.id.as_str())
}

fn text(ids: &[&str], cell: &Cell) -> String {
    match cell {
        Ok(winner) => match ids.iter().position(|id| *id == winner.id) {
            Some(at) => format!("{} ({:.2})", at + 1, winner.confidence),
            None => winner.id.clone(),
        },
        Err(reason) => reason.key.into(),
    }
}

fn list(ids: &[&str], pairs: &[(usize, usize, &Cell)]) -> String {
    let line = |(row, column, cell): &(usize, usize, &Cell)| {
        let confidence = cell.as_ref().map_or(0.0, |winner| winner.confidence);
        let named = named(cell).unwrap_or_default();
        format!("- {} with {}: {named} ({confidence:.2})\n", ids[*row], ids[*column])
    };
    if pairs.is_empty() { "None.\n".into() } else { pairs.iter().map(line).collect() }
}

/// With LOADLINE_WRITE_MATRIX set, as `make docs` does, the file is written before it is compared.
#[test]
fn the_matrix_in_the_docs_is_what_the_rules_answer() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rule-matrix.md");
    let made = page();
    if std::env::var_os("LOADLINE_WRITE_MATRIX").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
    assert!(
        kept == made,
        "a cell changed: `make docs` writes {}; the first line that differs: {differs:?}",
        file.display()
    );
}
