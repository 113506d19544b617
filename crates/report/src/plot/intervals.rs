//! Chart of ratios with their intervals, one below the other, on a logarithmic scale around a reference value. An
//! interval that is too long is cut at the edge, and an arrow marks the cut.

use std::fmt::Write as _;

use super::labels::{cut, escape, width};
use super::{Frame, Hue};
use run::number::{Unit, quantity};

const ROW: f64 = 26.0;
const FOOT: f64 = 22.0;
/// Maximum value at the right edge of the chart, divided by the reference value.
const FARTHEST: f64 = 2.0;

/// A chart of ratios with intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Title: the result as a sentence.
    pub title: String,
    /// Caption, which describes the measurement of the figures.
    pub caption: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Reference value, drawn as a vertical line. The reference value and all values of the chart must be positive.
    pub against: f64,
    /// Rows from top to bottom.
    pub rows: Vec<IntervalRow>,
}

/// An estimate with its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalRow {
    /// Name of the estimate, shown at the left end of its row.
    pub label: String,
    /// Value of the estimate.
    pub value: f64,
    /// Lower end of the interval; equals `value` if there is no interval.
    pub low: f64,
    /// Upper end of the interval; equals `value` if there is no interval.
    pub high: f64,
    /// Colour of the estimate in the chart.
    pub hue: Hue,
}

/// Layout of the rows: names on the left, a logarithmic scale, and values on the right. The reference value is in the
/// middle of the scale.
struct Scale {
    left: f64,
    room: f64,
    against: f64,
    far: f64,
}

impl Scale {
    fn of(chart: &Intervals, values: &[String], frame: Frame) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(width).fold(0.0, f64::max);
        let left = (widest(&mut chart.rows.iter().map(|r| r.label.as_str())) * 1.08 + 14.0).min(frame.width * 0.42);
        let right = widest(&mut values.iter().map(String::as_str)) + 14.0;
        let scale = Self { left, room: (frame.width - left - right).max(20.0), against: chart.against, far: 0.0 };
        let ends = chart.rows.iter().flat_map(|r| [r.low, r.value, r.high]).map(|v| scale.log(v).abs());
        let far = ends.filter(|v| v.is_finite()).fold(1e-3, f64::max).min(FARTHEST.ln());
        Self { far, ..scale }
    }

    fn log(&self, v: f64) -> f64 {
        (v / self.against).ln()
    }

    fn x(&self, v: f64) -> f64 {
        self.left + self.room * (0.5 + 0.47 * (self.log(v) / self.far).clamp(-1.0, 1.0))
    }
}

/// Returns the chart's height in pixels, and its SVG elements.
pub(super) fn body(chart: &Intervals, frame: Frame) -> (f64, String) {
    let values: Vec<String> = chart.rows.iter().map(|r| quantity(r.value, chart.unit)).collect();
    let scale = Scale::of(chart, &values, frame);
    let bottom = ROW * chart.rows.len() as f64;
    let mut out = format!("<path class=\"limit\" d=\"M{:.1} 0V{bottom:.1}\"/>", scale.x(chart.against));
    for (i, row) in chart.rows.iter().enumerate().filter(|(_, r)| r.value.is_finite()) {
        let y = ROW * i as f64 + ROW / 2.0;
        estimate(&mut out, &scale, row, (&values[i], &between(row, chart.unit)), y);
        arrows(&mut out, &scale, row, y);
    }
    foot(&mut out, &scale, chart.unit, bottom + FOOT - 6.0);
    (bottom + FOOT, out)
}

/// Draws a row: the name, the interval as a bar, the estimate as a dot, and its value as text.
fn estimate(out: &mut String, scale: &Scale, row: &IntervalRow, (value, interval): (&str, &str), y: f64) {
    let (class, x) = (row.hue.class(), |v| scale.x(v));
    let _ = write!(
        out,
        "<text class=\"t\" x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>\
         <rect class=\"{class} seg\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"5\" rx=\"2\"/>\
         <circle class=\"{class} seg\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"><title>{}</title></circle>\
         <text class=\"m\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
        scale.left - 10.0,
        escape(&cut(&row.label, scale.left - 10.0)),
        x(row.low),
        y - 2.5,
        (x(row.high) - x(row.low)).max(0.6),
        x(row.value),
        escape(&format!("{} {interval}", row.label)),
        scale.left + scale.room + 8.0,
        escape(value),
        base = y + 4.0,
    );
}

/// Draws an arrow at each edge beyond which the interval continues.
fn arrows(out: &mut String, scale: &Scale, row: &IntervalRow, y: f64) {
    let (class, top, bottom) = (row.hue.class(), y - 5.0, y + 5.0);
    let ends = [(scale.log(row.low) < -scale.far, row.low, -6.0), (scale.log(row.high) > scale.far, row.high, 6.0)];
    for (_, end, way) in ends.into_iter().filter(|(beyond, ..)| *beyond) {
        let (at, tip) = (scale.x(end), scale.x(end) + way);
        let d = format!("M{at:.1} {top:.1}L{tip:.1} {y:.1}L{at:.1} {bottom:.1}Z");
        let _ = write!(out, "<path class=\"{class} seg\" d=\"{d}\"/>");
    }
}

/// Draws the values at the middle and at both edges of the scale.
fn foot(out: &mut String, scale: &Scale, unit: Unit, y: f64) {
    let far = scale.far.exp();
    for (x, anchor, value) in [
        (scale.x(scale.against), "middle", scale.against),
        (scale.left, "start", scale.against / far),
        (scale.left + scale.room, "end", scale.against * far),
    ] {
        let text = escape(&quantity(value, unit));
        let _ = write!(out, "<text class=\"t\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }
}

/// Returns the estimate and its interval as text.
pub(super) fn between(row: &IntervalRow, unit: Unit) -> String {
    let of = |v: f64| quantity(v, unit);
    format!("{} ({} to {})", of(row.value), of(row.low), of(row.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: Vec<IntervalRow>) -> String {
        body(&Intervals { against: 1.0, rows, ..Intervals::default() }, Frame::HALF).1
    }

    #[test]
    fn a_wide_interval_ends_in_an_arrow_and_leaves_room_for_others() {
        let row = |label: &str, low, value, high| IntervalRow { label: label.into(), value, low, high, hue: Hue::Main };
        let narrow = drawn(vec![row("a", 1.05, 1.1, 1.15)]);
        assert!(!narrow.contains("Z\""), "{narrow}");
        let both = drawn(vec![row("a", 1.05, 1.1, 1.15), row("<b>", 0.2, 3.0, 30.0)]);
        assert_eq!(both.matches("Z\"").count(), 2, "{both}");
        assert!(both.contains("&lt;b&gt;") && !both.contains("NaN"), "{both}");
    }

    #[test]
    fn values_that_are_no_numbers_are_left_out() {
        let rows = vec![IntervalRow { label: "x".into(), value: f64::NAN, low: 0.0, high: 1.0, hue: Hue::Main }];
        assert!(!drawn(rows).contains("NaN"));
    }
}
