//! Tables with one row per trial, and published tables.

use run::number::{count, number};
use run::{ResultColumn, ResultTable, Trial};

use super::column::{Column, cell, word};
use super::value::value;

/// Reason shown for cells without a value.
pub(crate) const NOT_MEASURED: &str = "not measured in this trial";

/// Specification of a table.
pub(crate) struct TableSpec {
    pub(crate) caption: &'static str,
    pub(crate) columns: &'static [Column],
    /// Published table: its caption, and its content as CSV whose first line contains the headings.
    pub(crate) published: Option<(&'static str, &'static str)>,
}

/// Builds the table of the trials; `None` if it would have no columns. Columns in which no trial has a value are left
/// out.
pub(super) fn of_trials(spec: &TableSpec, trials: &[Trial]) -> Option<ResultTable> {
    let known = |c: &&Column| trials.iter().any(|t| value(t, c.of).is_some() || word(t, c).is_some());
    let shown: Vec<&Column> = spec.columns.iter().filter(known).collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![ResultColumn::words("trial", 0)];
    columns.extend(shown.iter().map(|c| ResultColumn::numbers(c.head, 1)));
    let row = |(i, trial): (usize, &Trial)| {
        // The row above the first row of a repeat belongs to another repeat.
        let before = i.checked_sub(1).and_then(|i| trials.get(i)).filter(|before| before.repeat == trial.repeat);
        let mut cells = vec![Some(trial.label.clone())];
        cells.extend(shown.iter().map(|c| cell(c, trial, before)));
        cells
    };
    let rows = trials.iter().enumerate().map(row).collect();
    Some(ResultTable {
        caption: spec.caption.into(),
        columns,
        rows,
        absent: NOT_MEASURED.into(),
        ..ResultTable::default()
    })
}

/// Builds the published table. The values come from the publication, but numbers are formatted and aligned to the
/// right.
pub(super) fn of_publication(caption: &str, csv: &str) -> ResultTable {
    let mut lines =
        csv.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap_or_default();
    let rows: Vec<Vec<&str>> = lines.collect();
    let figures = |i: usize| rows.iter().all(|r| r.get(i).is_none_or(|v| v.is_empty() || v.parse::<f64>().is_ok()));
    let columns =
        heads.iter().enumerate().map(|(i, head)| ResultColumn { name: (*head).into(), numeric: figures(i), rank: 0 });
    let cell = |text: &str| match text.parse::<u64>() {
        Ok(n) => count(n),
        Err(_) => text.parse::<f64>().map_or_else(|_| text.into(), number),
    };
    let columns = columns.collect();
    let rows = rows.iter().map(|r| r.iter().map(|text| Some(cell(text))).collect()).collect();
    ResultTable { caption: caption.into(), columns, rows, full_only: true, ..ResultTable::default() }
}

#[cfg(test)]
mod tests {
    use run::number::Unit;

    use super::*;
    use crate::figures::column::{Show, c};
    use crate::figures::value::COMPLETED;

    #[test]
    fn the_first_row_of_a_repeat_has_no_growth() {
        const GROWTH: [Column; 1] = [Column { show: Show::Growth, ..c("growth", COMPLETED, Unit::Share) }];
        let trial = |repeat, rate| {
            let mut trial = Trial { repeat, ..Trial::default() };
            trial.rates.completed_rate = rate;
            trial
        };
        let spec = TableSpec { caption: "", columns: &GROWTH, published: None };
        let trials = [trial(0, 100.0), trial(0, 200.0), trial(1, 100.0), trial(1, 200.0)];
        let table = of_trials(&spec, &trials).unwrap();
        let growth: Vec<&str> = table.rows.iter().map(|row| row[1].as_deref().unwrap()).collect();
        assert_eq!((growth[0], growth[2]), ("", ""));
        assert!(!growth[1].is_empty() && growth[1] == growth[3], "{growth:?}");
    }
}
