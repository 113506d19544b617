//! Estimates with their intervals, one below the other, beside a value that all are held against.

use std::fmt::Write as _;

use super::labels::{cut, escape, width};
use super::{Frame, Hue};
use crate::number::{Unit, quantity};

const ROW: f64 = 26.0;
const FOOT: f64 = 22.0;

/// Estimates with intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// What is to be seen, in a sentence.
    pub title: String,
    /// What was measured.
    pub caption: String,
    /// How values are written.
    pub unit: Unit,
    /// What all are held against: a line from top to bottom.
    pub against: f64,
    /// From top to bottom.
    pub rows: Vec<IntervalRow>,
}

/// One estimate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalRow {
    /// Its name, written in front.
    pub label: String,
    /// The estimate.
    pub value: f64,
    /// Its interval; the value alone where there is none.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its colour.
    pub hue: Hue,
}

/// Height and inner elements.
pub(super) fn body(chart: &Intervals, frame: Frame) -> (f64, String) {
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(width).fold(0.0, f64::max);
    let values: Vec<String> = chart.rows.iter().map(|r| quantity(r.value, chart.unit)).collect();
    let left = (widest(&mut chart.rows.iter().map(|r| r.label.as_str())) * 1.08 + 14.0).min(frame.width * 0.42);
    let right = widest(&mut values.iter().map(String::as_str)) + 14.0;
    let room = (frame.width - left - right).max(20.0);
    let ends = || chart.rows.iter().flat_map(|r| [r.low, r.value, r.high]).filter(|v| v.is_finite());
    let (low, high) = ends().fold((chart.against, chart.against), |(l, h), v| (l.min(v), h.max(v)));
    let span = if high > low { high - low } else { 1.0 };
    let x = |v: f64| left + room * ((v - low) / span * 0.94 + 0.03);
    let bottom = ROW * chart.rows.len() as f64;
    let mut out = format!("<path class=\"limit\" d=\"M{:.1} 0V{bottom:.1}\"/>", x(chart.against));
    for (i, row) in chart.rows.iter().enumerate().filter(|(_, r)| r.value.is_finite()) {
        let (y, class) = (ROW * i as f64 + ROW / 2.0, row.hue.class());
        let told = format!("{} {}", row.label, between(row, chart.unit));
        let _ = write!(
            out,
            "<text class=\"t\" x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class} seg\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"5\" rx=\"2\"/>\
             <circle class=\"{class} seg\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{}</title></circle>\
             <text class=\"m\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
            left - 10.0,
            escape(&cut(&row.label, left - 10.0)),
            x(row.low),
            y - 2.5,
            (x(row.high) - x(row.low)).max(0.6),
            x(row.value),
            escape(&told),
            left + room + 8.0,
            escape(&values[i]),
            base = y + 4.0,
        );
    }
    let _ = write!(
        out,
        "<text class=\"t\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        x(chart.against),
        bottom + FOOT - 6.0,
        escape(&quantity(chart.against, chart.unit)),
    );
    (bottom + FOOT, out)
}

/// The estimate and its interval in words.
pub(super) fn between(row: &IntervalRow, unit: Unit) -> String {
    let of = |v: f64| quantity(v, unit);
    format!("{} ({} to {})", of(row.value), of(row.low), of(row.high))
}
