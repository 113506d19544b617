//! Ranking tables: one table for each group of comparable trials. The best trial comes first.

use run::{ResultColumn, ResultTable, Trial};

use super::column::{Column, Show, cell};
use super::table::NOT_MEASURED;
use super::value::{Of, value};

/// Specification of a ranking, which becomes one table for each group of trials.
pub(crate) struct Ranking {
    /// Value that decides to which group a trial belongs.
    pub(crate) group: Of,
    /// Groups that get a table, as (value of the group, caption of its table).
    pub(crate) captions: &'static [(f64, &'static str)],
    /// Values by which rows are ordered. If two rows have equal values, the next value in the list decides.
    pub(crate) order: &'static [Order],
    /// Columns of the tables. A narrow terminal leaves out the last columns first.
    pub(crate) columns: &'static [Column],
}

/// A value by which rows are ordered.
pub(crate) struct Order {
    pub(crate) of: Of,
    pub(crate) most_first: bool,
    /// Number of significant digits to which values are rounded before they are compared. If `digits` is 0, values are
    /// compared exactly.
    pub(crate) digits: i32,
}

/// Returns the values that the rankings show, or by which they order trials.
#[cfg(test)]
pub(super) fn shown(rankings: &'static [Ranking]) -> impl Iterator<Item = Of> {
    rankings.iter().flat_map(|r| r.columns.iter().map(|c| c.of).chain(r.order.iter().map(|order| order.of)))
}

/// Builds one table for each group that has trials.
pub(super) fn tables(rankings: &[Ranking], trials: &[Trial]) -> Vec<ResultTable> {
    rankings.iter().flat_map(|r| r.captions.iter().filter_map(|group| one(r, group, trials))).collect()
}

fn one(ranking: &Ranking, group: &(f64, &str), trials: &[Trial]) -> Option<ResultTable> {
    let mut of: Vec<&Trial> = trials.iter().filter(|t| value(t, ranking.group) == Some(group.0)).collect();
    of.sort_by(|a, b| {
        let by = |order: &Order| place(order, a).total_cmp(&place(order, b));
        ranking.order.iter().map(by).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let row = |trial: &Trial| {
        let mut cells = vec![Some(trial.label.clone())];
        cells.extend(ranking.columns.iter().map(|c| cell(c, trial, None)));
        cells
    };
    let rows: Vec<Vec<Option<String>>> = of.iter().map(|t| row(t)).collect();
    let mut columns = vec![ResultColumn::words("model", 0)];
    let head = |(i, c): (usize, &Column)| ResultColumn {
        name: c.head.into(),
        numeric: !matches!(c.show, Show::Words(_)),
        rank: 1 + i as u8 / 2,
    };
    columns.extend(ranking.columns.iter().enumerate().map(head));
    let (caption, absent) = (group.1.into(), NOT_MEASURED.into());
    (!rows.is_empty()).then(|| ResultTable { caption, columns, rows, absent, ..ResultTable::default() })
}

/// Returns the number by which a trial is sorted, in ascending order. A trial without a value gets infinity, so it
/// comes last.
fn place(order: &Order, trial: &Trial) -> f64 {
    let Some(v) = value(trial, order.of) else { return f64::INFINITY };
    let v = if order.digits > 0 { rounded(v, order.digits) } else { v };
    if order.most_first { -v } else { v }
}

fn rounded(v: f64, digits: i32) -> f64 {
    let step = 10_f64.powf(v.abs().log10().floor() + 1.0 - f64::from(digits));
    if step.is_normal() { (v / step).round() * step } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{BYTES_PER_S, ENTRY, HELD};

    fn trial(label: &str, entry: u32, held: f64, bytes_per_s: f64) -> Trial {
        let key = run::Key::default().with(ENTRY, entry);
        let results = run::Results::default().with(HELD, held).with(BYTES_PER_S, bytes_per_s);
        Trial { label: label.into(), key, results, ..Trial::default() }
    }

    #[test]
    fn more_connections_come_first_and_equal_throughputs_are_a_tie() {
        let trials = [
            trial("few", 1, 10.0, 9e6),
            trial("first of two", 1, 20.0, 2.41e6),
            trial("second of two", 1, 20.0, 2.42e6),
            trial("more through", 1, 20.0, 3e6),
            trial("another entry", 2, 99.0, 9e6),
        ];
        let tables = tables(crate::io_models::FIGURES.rankings, &trials);
        let names = |t: &ResultTable| t.rows.iter().filter_map(|r| r[0].clone()).collect::<Vec<_>>();
        assert_eq!(tables.len(), 2);
        assert_eq!(names(&tables[0]), ["more through", "first of two", "second of two", "few"]);
        assert_eq!(names(&tables[1]), ["another entry"]);
    }

    #[test]
    fn trials_without_a_value_come_last() {
        let trials =
            [Trial { results: run::Results::default(), ..trial("none", 1, 0.0, 0.0) }, trial("some", 1, 1.0, 0.0)];
        assert_eq!(tables(crate::io_models::FIGURES.rankings, &trials)[0].rows[0][0].as_deref(), Some("some"));
        assert_eq!((rounded(0.0, 2), rounded(2_449.0, 2)), (0.0, 2_400.0));
    }
}
