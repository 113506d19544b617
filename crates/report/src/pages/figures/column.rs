//! What the tables of the experiments say of a column, and its cell for a trial.

use run::Trial;

use super::value::{Of, value};
use crate::{Cell, Unit};
use run::number::{count, quantity};

/// One table of an experiment.
pub(super) struct Columns {
    pub(super) experiment: &'static str,
    pub(super) caption: &'static str,
    pub(super) columns: &'static [Column],
    /// The source's own table: its caption, and a CSV with a header.
    pub(super) published: Option<(&'static str, &'static str)>,
}

/// One column.
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) of: Of,
    pub(super) unit: Unit,
    pub(super) show: Show,
}

/// What of a value is shown.
#[derive(Clone, Copy)]
pub(super) enum Show {
    Value,
    /// By which share it grew since the row before.
    Growth,
    /// By how much it grew since the row before.
    Change,
    /// The value, or, where it was not told from noise, what it would have had to be above.
    Above(Of),
    /// No value: words.
    Words(fn(&Trial) -> Option<String>),
}

/// A column of values.
pub(super) const fn c(head: &'static str, of: Of, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Value }
}

/// A column of growths, of which some may be lost in noise.
pub(super) const fn above(head: &'static str, of: Of, noise: Of, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Above(noise) }
}

/// A column of words.
pub(super) const fn words(head: &'static str, of: fn(&Trial) -> Option<String>) -> Column {
    Column { head, of: Of::Field(|_| None), unit: Unit::Plain, show: Show::Words(of) }
}

pub(super) fn cell(column: &Column, trial: &Trial, before: Option<&Trial>) -> Cell {
    if let Some(word) = word(trial, column) {
        return Cell::new(word);
    }
    let Some(now) = value(trial, column.of) else { return below_noise(column, trial) };
    let last = before.and_then(|t| value(t, column.of));
    match (column.show, last) {
        (Show::Value | Show::Above(_), _)
            if column.unit == Unit::Plain && now.fract() == 0.0 && (0.0..1e15).contains(&now) =>
        {
            count(now as u64).into()
        }
        (Show::Value | Show::Above(_) | Show::Words(_), _) => quantity(now, column.unit).into(),
        (_, None) => Cell::default(),
        (Show::Growth, Some(last)) => signed(now / last - 1.0, column.unit),
        (Show::Change, Some(last)) => signed(now - last, column.unit),
    }
}

pub(super) fn word(trial: &Trial, column: &Column) -> Option<String> {
    match column.show {
        Show::Words(of) => of(trial),
        _ => None,
    }
}

/// What a growth would have had to be above, where it was not told from noise.
fn below_noise(column: &Column, trial: &Trial) -> Cell {
    let noise = match column.show {
        Show::Above(noise) => value(trial, noise),
        _ => None,
    };
    match noise {
        Some(noise) => Cell::new(format!("< {}", quantity(noise, column.unit))),
        None => Cell::absent("not measured in this trial"),
    }
}

fn signed(v: f64, unit: Unit) -> Cell {
    let sign = if v > 0.0 { "+" } else { "" };
    Cell::new(format!("{sign}{}", quantity(v, unit)))
}
