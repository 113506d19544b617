//! Specification of a table column, and the function that returns its cell for a trial.

use run::Trial;
use run::number::{Unit, count, quantity};

use super::value::{Of, value};

/// Specification of a column.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    pub(crate) of: Of,
    pub(crate) unit: Unit,
    pub(crate) show: Show,
}

/// Kind of content of a column's cells.
#[derive(Clone, Copy)]
pub(crate) enum Show {
    Value,
    /// The cell shows the growth of the value since the previous row, as a share of the previous value.
    Growth,
    /// The cell shows the difference from the value in the previous row.
    Change,
    /// The cell shows the value, or `< LIMIT` if the value may be noise, where LIMIT is the largest value that may be
    /// noise.
    Above(Of),
    /// The cell shows the text that the function returns, instead of a value.
    Words(fn(&Trial) -> Option<String>),
}

/// Creates a column of values.
pub(crate) const fn c(head: &'static str, of: Of, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Value }
}

/// Creates a column for a growth that was measured. If the growth is within the noise, the cell shows the limit of the
/// noise.
pub(crate) const fn above(head: &'static str, of: Of, noise: Of, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Above(noise) }
}

/// Creates a column of text.
pub(crate) const fn words(head: &'static str, of: fn(&Trial) -> Option<String>) -> Column {
    Column { head, of: Of::Field(|_| None), unit: Unit::Plain, show: Show::Words(of) }
}

/// Returns the cell of a trial; `None` if the value is unknown. `before` is the trial in the row above the cell.
pub(crate) fn cell(column: &Column, trial: &Trial, before: Option<&Trial>) -> Option<String> {
    if let Some(word) = word(trial, column) {
        return Some(word);
    }
    let Some(now) = value(trial, column.of) else { return below_noise(column, trial) };
    let last = before.and_then(|t| value(t, column.of));
    Some(match (column.show, last) {
        (Show::Value | Show::Above(_), _)
            if column.unit == Unit::Plain && now.fract() == 0.0 && (0.0..1e15).contains(&now) =>
        {
            count(now as u64)
        }
        (Show::Value | Show::Above(_) | Show::Words(_), _) => quantity(now, column.unit),
        (_, None) => String::new(),
        (Show::Growth, Some(last)) => signed(now / last - 1.0, column.unit),
        (Show::Change, Some(last)) => signed(now - last, column.unit),
    })
}

/// Returns the text of a cell in a text column; `None` for other columns.
pub(crate) fn word(trial: &Trial, column: &Column) -> Option<String> {
    match column.show {
        Show::Words(of) => of(trial),
        _ => None,
    }
}

/// Returns the limit of the noise as `< LIMIT`, for a growth that is within the noise. Returns `None` if the column
/// does not show growth, or if no limit of the noise is known.
fn below_noise(column: &Column, trial: &Trial) -> Option<String> {
    let Show::Above(noise) = column.show else { return None };
    value(trial, noise).map(|noise| format!("< {}", quantity(noise, column.unit)))
}

fn signed(v: f64, unit: Unit) -> String {
    let sign = if v > 0.0 { "+" } else { "" };
    format!("{sign}{}", quantity(v, unit))
}
