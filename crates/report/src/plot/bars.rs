//! Draws horizontal bars: the name on the left, stacked segments, and their sum at the end. One legend explains the
//! segments of all bars.

use std::fmt::Write as _;

use super::labels::{cut, escape, width};
use super::{Bars, Frame, Segment};
use run::number::quantity;

const ROW: f64 = 26.0;
const BAR: f64 = 15.0;

/// Returns the chart's height in pixels, and its SVG elements.
pub(super) fn body(bars: &Bars, frame: Frame) -> (f64, String) {
    let mut out = String::new();
    let top = key(bars, frame, &mut out);
    let sums: Vec<String> = bars.rows.iter().map(|r| quantity(r.sum(), bars.unit)).collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(width).fold(0.0, f64::max);
    // The names are bold and may be wider than the estimate for normal text, so they get more space.
    let names = widest(&mut bars.rows.iter().map(|r| r.label.as_str())) * 1.08 + 10.0;
    // On a phone, long names are written above their bars.
    let above = frame.narrow() && names > frame.width * 0.36;
    let left = if above { 0.0 } else { names.min(frame.width * 0.42) };
    let high = if above { ROW + 16.0 } else { ROW };
    let right = widest(&mut sums.iter().map(String::as_str)) + 12.0;
    let room = (frame.width - left - right).max(20.0);
    let longest = bars.rows.iter().map(super::BarRow::sum).fold(0.0, f64::max);
    // `bars.full` is the value of a bar of full length. Values above `bars.full` extend the scale, so their bars also
    // stay within the frame.
    let full = bars.full.filter(|f| *f > 0.0).map_or(longest, |f| f.max(longest));
    if let Some(limit) = bars.full.filter(|f| *f > 0.0 && full > 0.0) {
        let x = left + room * limit / full;
        let bottom = top + high * bars.rows.len() as f64;
        let _ = write!(out, "<path class=\"limit\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>");
    }
    for (i, row) in bars.rows.iter().enumerate() {
        let y = top + high * i as f64 + (high - ROW);
        let middle = y + ROW / 2.0 + 4.0;
        let strong = if row.strong { " strong" } else { "" };
        let (x, base, anchor, wide) =
            if above { (0.0, y + 2.0, "start", frame.width) } else { (left - 8.0, middle, "end", left - 8.0) };
        let name = escape(&cut(&row.label, wide));
        let _ = write!(
            out,
            "<text class=\"t{strong}\" x=\"{x:.1}\" y=\"{base:.1}\" text-anchor=\"{anchor}\">{name}</text>"
        );
        let end = segments(
            &row.segments,
            bars,
            (left, y + (ROW - BAR) / 2.0),
            if full > 0.0 { room / full } else { 0.0 },
            &mut out,
        );
        let _ = write!(
            out,
            "<text class=\"m{strong}\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
            end + 6.0,
            escape(&sums[i])
        );
    }
    (top + high * bars.rows.len() as f64 + 4.0, out)
}

fn segments(parts: &[Segment], bars: &Bars, at: (f64, f64), scale: f64, out: &mut String) -> f64 {
    let (mut x, y) = at;
    for part in parts.iter().filter(|s| s.value.is_finite() && s.value > 0.0) {
        let wide = part.value * scale;
        let _ = write!(
            out,
            "<rect class=\"{} seg\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}</title></rect>",
            part.hue.class(),
            wide.max(0.6),
            escape(&format!("{} {}", part.label, quantity(part.value, bars.unit))),
        );
        x += wide;
    }
    x
}

/// Draws the legend, if segments have different names. Returns the vertical position at which the first bar begins.
fn key(bars: &Bars, frame: Frame, out: &mut String) -> f64 {
    let mut names: Vec<&Segment> = Vec::new();
    for part in bars.rows.iter().flat_map(|r| &r.segments) {
        if !part.label.is_empty() && !names.iter().any(|n| n.label == part.label) {
            names.push(part);
        }
    }
    if names.len() < 2 {
        return 2.0;
    }
    let (mut x, mut y) = (0.0, 12.0);
    for name in names {
        let wide = width(&name.label) + 30.0;
        if x > 0.0 && x + wide > frame.width {
            (x, y) = (0.0, y + 18.0);
        }
        let _ = write!(
            out,
            "<rect class=\"{} seg\" x=\"{x:.1}\" y=\"{:.1}\" width=\"11\" height=\"11\" rx=\"2\"/><text class=\"t\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            name.hue.class(),
            y - 10.0,
            x + 16.0,
            escape(&name.label),
        );
        x += wide;
    }
    y + 10.0
}
