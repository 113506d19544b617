//! Table of the compared figures, with its notes.

use run::number::{count, quantity, significant};
use run::{ComparedFigure, Comparison, NeededData};

use super::change::change;
use super::figures::{decides, length, name_of, needed_s, shown, tone, untold_of, word};
use crate::{Cell, Col, Table, Unit};

/// Returns the table of the compared figures.
pub(super) fn table(comparison: &Comparison) -> Table {
    let rows: Vec<Vec<Cell>> = shown(comparison).map(|c| row(c, comparison)).collect();
    let caption = caption(comparison);
    let mut table = Table { caption, columns: columns().into(), rows, notes: notes(comparison), ..Table::default() };
    if table.rows.iter().all(|row| row[NEEDS].text.is_empty()) {
        table.columns.remove(NEEDS);
        table.rows.iter_mut().for_each(|row| drop(row.remove(NEEDS)));
    }
    table
}

/// Returns the caption of a table that has both figures that decide and other figures; empty for a table of one kind.
fn caption(comparison: &Comparison) -> String {
    let deciding = shown(comparison).filter(|c| decides(c)).count();
    match deciding {
        0 => String::new(),
        _ if deciding == shown(comparison).count() => String::new(),
        1 => "The first figure decides; the others do not.".into(),
        _ => format!("The first {deciding} figures decide; the others do not."),
    }
}

/// Index of the table column that shows how much data would decide an undecided figure.
const NEEDS: usize = 5;

/// Returns the columns of the table of compared figures. A terminal that is 80 characters wide has no space for the
/// last two columns.
fn columns() -> [Col; 7] {
    [
        Col::words("figure", 0),
        Col::figures("old", 0),
        Col::figures("new", 0),
        Col::figures("change (interval)", 0),
        Col::words("result", 0),
        Col::words("needs", 1),
        Col::figures("p-value", 2),
    ]
}

/// Returns the notes below the table: the risk of a wrong result, advice for the undecided figures, and remarks on
/// single figures.
fn notes(comparison: &Comparison) -> Vec<String> {
    let open = |of: NeededData| {
        let needs = |c: &ComparedFigure| c.more.is_some() && c.resolution.is_none();
        shown(comparison).any(|c| needs(c) && c.more_of.unwrap_or(NeededData::Windows) == of)
    };
    let level = "the result follows from the interval; \"slower\" and \"faster\" of equal servers, and \"same\" of servers \
                 that differ by more, are wrong in at most 5 of 100 comparisons";
    let windows = "needs: a measurement of about this length decides (--budget, or --duration of a load)";
    let runs = "needs ×N runs: more time will not help; use about N times as many runs or repeats of each side (--repeat N, \
                --old RUN… --new RUN…)";
    let open = [(NeededData::Windows, windows), (NeededData::Runs, runs)].into_iter().filter(|(of, _)| open(*of));
    let untold = untold_of(shown(comparison));
    let said = shown(comparison).filter_map(remark);
    let level = std::iter::once(level).filter(|_| !comparison.comparisons.is_empty());
    level
        .chain(open.map(|(_, note)| note))
        .map(str::to_string)
        .chain(untold)
        .chain(said)
        .chain(shown(comparison).filter_map(still_open))
        .collect()
}

/// Returns the name of a figure and the remark on it; `None` for a figure without a remark.
pub(super) fn remark(c: &ComparedFigure) -> Option<String> {
    Some(format!("{}: {}", name_of(c), c.said.as_ref()?))
}

/// Formats the value of a figure of the old server (`side` 0) or the new server (`side` 1). Formats a figure that is a
/// share in percent. If requests had no response when the measurement ended, marks the share of failed requests as a
/// lower bound.
fn value(c: &ComparedFigure, side: usize) -> String {
    let value = [c.old, c.new][side];
    if c.difference.is_none() {
        return quantity(value, c.unit);
    }
    format!("{}{}", if c.open[side] > 0 { "≥" } else { "" }, quantity(value, Unit::Share))
}

/// Returns a sentence with the number of requests that had no response when the measurement ended. The share of failed
/// requests does not include the requests without a response, although some of them may have failed.
pub(super) fn still_open(c: &ComparedFigure) -> Option<String> {
    let side = |at: usize| format!("{} of the {} server", count(c.open[at]), ["old", "new"][at]);
    let sides: Vec<String> = [0, 1].into_iter().filter(|at| c.open[*at] > 0).map(side).collect();
    let note =
        format!("{}: requests without an answer at the end may have failed, too: {}", c.figure, sides.join(", "));
    (!sides.is_empty()).then_some(note)
}

fn row(c: &ComparedFigure, comparison: &Comparison) -> Vec<Cell> {
    let p = c.p.map_or_else(String::new, |p| if p < 1e-4 { "<0.0001".into() } else { significant(p) });
    vec![
        Cell { hint: if c.title.is_empty() { String::new() } else { c.figure.clone() }, ..Cell::new(name_of(c)) },
        value(c, 0).into(),
        value(c, 1).into(),
        change(c).into(),
        Cell { text: word(c.word).into(), ..Cell::default() }.toned(tone(c.word)),
        needs(c, comparison).into(),
        p.into(),
    ]
}

/// Returns the length of the measurement that would decide a figure. If the needed length of the measurement is
/// unknown, returns the factor by which the measured time or the number of runs must grow. Returns an empty text for a
/// decided figure.
fn needs(c: &ComparedFigure, comparison: &Comparison) -> String {
    let of = if c.more_of == Some(NeededData::Runs) { "runs" } else { "the time" };
    let times = c.more.filter(|more| *more > 1.0 && c.resolution.is_none());
    let times = || times.map(|times| format!("×{} {of}", significant(times.ceil())));
    needed_s(c, comparison).map(length).or_else(times).unwrap_or_default()
}
