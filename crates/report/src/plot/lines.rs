//! Draws curves and points in a frame, with a light grid, ticks, marks, and names at the ends of lines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::area::{Area, LINE};
use super::labels::{cut, escape, width};
use super::line_labels::{edge_labels, end_labels, marks, taken};
use super::scale::{Tick, View};
use super::{Frame, Look, Plot, Scale, Series, Spot};
use run::number::quantity;

/// Top of the frame if the chart has no legend, pixels from the top of the chart.
const KEYLESS_TOP: f64 = 28.0;
/// Top of the frame of a small chart without a legend, pixels. A small chart has no axis name.
const SMALL_TOP: f64 = 6.0;
/// Distance between the last line of the legend and the top of the frame, pixels.
const KEY_GAP: f64 = 16.0;
/// Minimum space right of the frame in a chart as wide as the page, pixels. The space fits a name such as `completed`.
/// All wide charts keep at least this space, so their time axes end at the same position.
const WIDE_END_MARGIN: f64 = 78.0;
/// Length of the horizontal line that stands for a point without neighbours, pixels.
const LONE_POINT: f64 = 14.0;
/// Maximum number of points of a line that has a dot at each point. A line with more points than this has no dots.
const MAX_DOTS: usize = 80;
/// Maximum number of points that show their values when the pointer is over them, in a series whose line has no dots.
const MAX_HOVER_VALUES: usize = 48;
/// Maximum number of points that show their values when the pointer is over them, in a series without a line. A series
/// with more points is drawn as one path, and its points show no values.
const MAX_POINTS: usize = 400;

/// Returns the chart's height in pixels, and its SVG elements. A long legend makes the chart higher, so the curves keep
/// their height.
pub(super) fn body(plot: &Plot, frame: Frame) -> (f64, String) {
    let mut out = String::new();
    let named: Vec<&Series> = plot.series.iter().filter(|s| !s.label.is_empty() && !s.points.is_empty()).collect();
    // Every small chart has a legend, so the curves of charts side by side are at the same height.
    let with_key = frame.small || frame.narrow() && named.len() > 1;
    let top = header(plot, frame, if with_key { &named } else { &[] }, &mut out);
    let margin = if frame.narrow() { 14.0 } else { end_margin(&named, frame) };
    let height = frame.height + (top - keyless_top(frame)).max(0.0);
    let bottom = height - if frame.small { 18.0 } else { 38.0 };
    let most_y = if frame.small { 2 } else { ((bottom - top) / 38.0).clamp(2.0, 8.0) as usize };
    let y = View::new(&plot.y, heights(plot), (bottom, top), Some(most_y));
    let y_ticks = y.ticks(&plot.y, most_y);
    let left = y_ticks.iter().map(|t| width(&t.label)).fold(0.0, f64::max).min(frame.width * 0.3) + 8.0;
    let right = frame.width - margin;
    // Labels of powers of two are short, so they need less space.
    let apart = if plot.x.scale == Scale::Log2 { 40.0 } else { 62.0 };
    let most_x = ((right - left) / apart).clamp(2.0, 12.0) as usize;
    let xs = plot.series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let x = View::new(&plot.x, xs, (left, right), None);
    let area = Area { left, right, top, bottom, x, y };
    bands(plot, &area, &mut out);
    grid(plot, frame, &area, &y_ticks, &area.x.ticks(&plot.x, most_x), &mut out);
    // Published points have rings, which are larger than the dots of measured points. The chart draws the rings first,
    // so a dot inside a ring stays visible.
    let (under, over): (Vec<&Series>, Vec<&Series>) = plot.series.iter().partition(|s| s.look == Look::Hollow);
    under.into_iter().chain(over).for_each(|s| draw(s, plot, &area, &mut out));
    let mut taken = taken(plot, frame, &area);
    let named = if frame.narrow() { Vec::new() } else { edge_labels(&named, &area, frame, &mut taken, &mut out) };
    marks(plot, &area, &mut taken, &mut out);
    end_labels(&named, &area, &mut taken, &mut out);
    (height, out)
}

/// Returns the values that the vertical axis must include. The axis need not include dashed lines (bounds and fits) and
/// marks far above all measured values.
fn heights(plot: &Plot) -> impl Iterator<Item = f64> + '_ {
    let measured = || {
        let solid = plot.series.iter().filter(|s| s.look != Look::Dashed);
        solid.flat_map(|s| s.points.iter().map(|p| p.1)).filter(|v| v.is_finite())
    };
    let highest = measured().fold(0.0, f64::max);
    let reach = if plot.y.scale == Scale::Linear { 1.6 } else { 30.0 };
    let marked = plot.marks.iter().filter_map(move |m| match m.at {
        Spot::Y(y) | Spot::Point(_, y) if y <= highest * reach => Some(y),
        _ => None,
    });
    measured().chain(marked)
}

fn end_margin(named: &[&Series], frame: Frame) -> f64 {
    let widest = named.iter().map(|s| width(&s.label)).fold(0.0, f64::max);
    let least = if frame.width >= Frame::WIDE.width && !named.is_empty() { WIDE_END_MARGIN } else { 18.0 };
    (widest + 16.0).min(frame.width * 0.3).max(least)
}

/// Draws the name of the vertical axis (except in a small chart), and the legend of the series in `key`. Returns the
/// vertical position at which the frame of the chart begins.
fn header(plot: &Plot, frame: Frame, key: &[&Series], out: &mut String) -> f64 {
    let (mut x, mut y) = (0.0, 12.0);
    if !frame.small {
        let name = escape(&cut(&plot.y.label, frame.width));
        let _ = write!(out, "<text class=\"axis\" x=\"0\" y=\"{y}\">{name}</text>");
        y += LINE + 2.0;
    }
    for series in key {
        let label = cut(&series.label, frame.width - 24.0);
        let wide = width(&label) + 34.0;
        if x > 0.0 && x + wide > frame.width {
            (x, y) = (0.0, y + LINE);
        }
        swatch(series, (x, y - 4.0), out);
        let _ = write!(out, "<text class=\"t\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", x + 24.0, escape(&label));
        x += wide;
    }
    if key.is_empty() { keyless_top(frame) } else { y + KEY_GAP }
}

const fn keyless_top(frame: Frame) -> f64 {
    if frame.small { SMALL_TOP } else { KEYLESS_TOP }
}

fn swatch(series: &Series, (x, y): (f64, f64), out: &mut String) {
    let hue = series.hue.class();
    if matches!(series.look, Look::Dots | Look::Hollow) {
        dot(series.look, hue, (x + 9.0, y), "", out);
    } else {
        let dashed = dashes(series.look);
        let _ = write!(out, "<path class=\"line {hue}{dashed}\" d=\"M{x:.1} {y:.1}h18\"/>");
    }
}

fn bands(plot: &Plot, area: &Area, out: &mut String) {
    for band in &plot.bands {
        let (Some(from), Some(to)) = (area.x.at(band.from), area.x.at(band.to)) else { continue };
        let (from, to) = (from.clamp(area.left, area.right), to.clamp(area.left, area.right));
        let hue = band.hue.class();
        let _ = write!(
            out,
            "<rect class=\"band {hue}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            area.top,
            (to - from).max(0.0),
            area.bottom - area.top
        );
        let label = cut(&band.label, (to - from - 8.0).max(0.0));
        if to - from > 50.0 {
            let (x, y) = (to - 5.0, area.bottom - 7.0);
            let _ = write!(
                out,
                "<text class=\"q\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                escape(&label)
            );
        }
    }
}

fn grid(plot: &Plot, frame: Frame, area: &Area, y_ticks: &[Tick], x_ticks: &[Tick], out: &mut String) {
    for tick in y_ticks {
        let Some(y) = area.y.at(tick.value) else { continue };
        let _ = write!(out, "<path class=\"grid\" d=\"M{:.1} {y:.1}H{:.1}\"/>", area.left, area.right);
        let (x, y) = (area.left - 6.0, y + 4.0);
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
            escape(&tick.label)
        );
    }
    let mut free_from = f64::MIN;
    for tick in x_ticks {
        let Some(x) = area.x.at(tick.value) else { continue };
        let half = width(&tick.label) / 2.0;
        let _ = write!(out, "<path class=\"base\" d=\"M{x:.1} {:.1}v4\"/>", area.bottom);
        if x - half < free_from || x + half > frame.width {
            continue;
        }
        free_from = x + half + 8.0;
        let y = area.bottom + 16.0;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            escape(&tick.label)
        );
    }
    let _ = write!(out, "<path class=\"base\" d=\"M{:.1} {:.1}H{:.1}\"/>", area.left, area.bottom, area.right);
    if !frame.small {
        let name = escape(&cut(&plot.x.label, frame.width - area.left));
        let y = area.bottom + 33.0;
        let _ =
            write!(out, "<text class=\"axis\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>", area.right);
    }
}

fn draw(series: &Series, plot: &Plot, area: &Area, out: &mut String) {
    let hue = series.hue.class();
    if !matches!(series.look, Look::Dots | Look::Hollow) {
        let path = path(series, area);
        let dashed = dashes(series.look);
        // An inner SVG element clips the line to the frame. A clip path would need an ID, which another chart on the
        // page might also have.
        let (x, y, w, h) =
            (area.left, area.top - 2.0, (area.right - area.left).max(1.0), (area.bottom - area.top + 4.0).max(1.0));
        let _ = write!(
            out,
            "<svg x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" viewBox=\"{x:.1} {y:.1} {w:.1} {h:.1}\">\
             <path class=\"line {hue}{dashed}\" d=\"{path}\"/></svg>"
        );
    }
    if series.look == Look::Line {
        return hits(series, plot, area, out);
    }
    let is_cloud = matches!(series.look, Look::Dots | Look::Hollow);
    if is_cloud && series.points.len() > MAX_POINTS {
        return cloud(series, area, out);
    }
    if series.look == Look::Dashed || !is_cloud && series.points.len() > MAX_DOTS {
        return;
    }
    for point in &series.points {
        if let (Some(px), Some(py)) = (area.x.inside(point.0), area.y.inside(point.1)) {
            dot(series.look, hue, (px, py), &told(series, plot, *point), out);
        }
    }
}

/// Draws many points as one path of dots. Draws only one of several points on the same pixel, which limits the length
/// of the path.
fn cloud(series: &Series, area: &Area, out: &mut String) {
    let visible = |p: &(f64, f64)| Some((area.x.inside(p.0)?.round() as i32, area.y.inside(p.1)?.round() as i32));
    let dots: BTreeSet<(i32, i32)> = series.points.iter().filter_map(visible).collect();
    let path: String = dots.iter().map(|(x, y)| format!("M{x} {y}h0")).collect();
    let _ = write!(out, "<path class=\"cloud {}\" d=\"{path}\"/>", series.hue.class());
}

/// Describes a point as text, shown when the pointer is over the point.
fn told(series: &Series, plot: &Plot, (x, y): (f64, f64)) -> String {
    let name = if series.label.is_empty() { String::new() } else { format!("{}: ", series.label) };
    format!("{name}{} at {}", quantity(y, plot.y.unit), quantity(x, plot.x.unit))
}

/// Adds invisible marks at evenly chosen points of a line. Each invisible mark shows the value of its point when the
/// pointer is over it.
fn hits(series: &Series, plot: &Plot, area: &Area, out: &mut String) {
    let every = series.points.len().div_ceil(MAX_HOVER_VALUES).max(1);
    for point in series.points.iter().step_by(every) {
        if let (Some(x), Some(y)) = (area.x.inside(point.0), area.y.inside(point.1)) {
            let told = escape(&told(series, plot, *point));
            let _ =
                write!(out, "<circle class=\"hit\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{told}</title></circle>");
        }
    }
}

/// Returns the CSS class that makes a line dashed; empty for a solid line.
const fn dashes(look: Look) -> &'static str {
    match look {
        Look::Dashed => " dash",
        Look::LineSquares => " long",
        _ => "",
    }
}

fn dot(look: Look, hue: &str, (x, y): (f64, f64), told: &str, out: &mut String) {
    let (class, r) = if look == Look::Hollow { ("hollow", 5.6) } else { ("dot", 3.2) };
    let title = if told.is_empty() { String::new() } else { format!("<title>{}</title>", escape(told)) };
    if look == Look::LineSquares {
        let (x, y) = (x - 3.0, y - 3.0);
        let _ =
            write!(out, "<rect class=\"dot {hue}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"6\" height=\"6\">{title}</rect>");
        return;
    }
    let _ = write!(out, "<circle class=\"{class} {hue}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\">{title}</circle>");
}

/// Returns the path of a line. A point without neighbours is a short horizontal line.
fn path(series: &Series, area: &Area) -> String {
    let mut out = String::new();
    let points: Vec<Option<(f64, f64)>> = series.points.iter().map(|(x, y)| area.x.at(*x).zip(area.y.at(*y))).collect();
    for part in points.split(Option::is_none) {
        if let [Some((x, y))] = part {
            let _ = write!(out, "M{:.1} {y:.1}h{:.1}", x - LONE_POINT / 2.0, LONE_POINT);
            continue;
        }
        for (at, (x, y)) in part.iter().flatten().enumerate() {
            let _ = write!(out, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
        }
    }
    out
}
