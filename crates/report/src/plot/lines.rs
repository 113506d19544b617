//! Curves and points in a frame: light grid, ticks, series, marks, and names at the ends of the lines.

use std::fmt::Write as _;

use super::labels::{cut, escape, spread, width};
use super::scale::{Tick, View};
use super::{Frame, Look, Plot, Scale, Series, Spot};
use crate::number::quantity;

/// Lines of text are this far apart.
const LINE: f64 = 15.0;
/// A series of more points than this is a line without dots.
const MOST_DOTS: usize = 80;

/// The inner rectangle and the two axes.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: View,
    y: View,
}

/// The elements of one plot.
pub(super) fn body(plot: &Plot, frame: Frame) -> String {
    let mut out = String::new();
    let named: Vec<&Series> = plot.series.iter().filter(|s| !s.label.is_empty() && !s.points.is_empty()).collect();
    let with_key = frame.narrow() && named.len() > 1;
    let top = header(plot, frame, if with_key { &named } else { &[] }, &mut out);
    let margin = if frame.narrow() { 14.0 } else { end_margin(&named, frame) };
    let bottom = frame.height - if frame.small { 18.0 } else { 38.0 };
    let most_y = if frame.small { 2 } else { ((bottom - top) / 44.0).clamp(2.0, 8.0) as usize };
    let y = View::new(&plot.y, heights(plot), (bottom, top), most_y);
    let y_ticks = y.ticks(&plot.y, most_y);
    let left = y_ticks.iter().map(|t| width(&t.label)).fold(0.0, f64::max).min(frame.width * 0.3) + 8.0;
    let right = frame.width - margin;
    let most_x = ((right - left) / 62.0).clamp(2.0, 12.0) as usize;
    let xs = plot.series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let x = View::new(&plot.x, xs, (left, right), most_x);
    let area = Area { left, right, top, bottom, x, y };
    bands(plot, &area, &mut out);
    grid(plot, frame, &area, &y_ticks, &area.x.ticks(&plot.x, most_x), &mut out);
    plot.series.iter().for_each(|s| draw(s, plot, &area, &mut out));
    marks(plot, &area, &mut out);
    if !frame.narrow() {
        end_labels(&named, &area, frame, &mut out);
    }
    out
}

/// The values that the vertical axis must hold: all but bounds and fits, which may leave the frame, and horizontal
/// marks that are far beyond everything measured.
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
    (widest + 16.0).min(frame.width * 0.3).max(18.0)
}

/// Name of the vertical axis and, where the names do not fit at the lines, the key. Returns where the frame begins.
fn header(plot: &Plot, frame: Frame, key: &[&Series], out: &mut String) -> f64 {
    if frame.small {
        return 6.0;
    }
    let name = escape(&cut(&plot.y.label, frame.width));
    let _ = write!(out, "<text class=\"axis\" x=\"0\" y=\"12\">{name}</text>");
    let (mut x, mut y) = (0.0, 12.0 + LINE + 2.0);
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
    if key.is_empty() { 26.0 } else { y + 12.0 }
}

fn swatch(series: &Series, (x, y): (f64, f64), out: &mut String) {
    let hue = series.hue.class();
    if matches!(series.look, Look::Dots | Look::Hollow) {
        dot(series.look, hue, (x + 9.0, y), "", out);
    } else {
        let dashed = if series.look == Look::Dashed { " dash" } else { "" };
        let _ = write!(out, "<path class=\"line {hue}{dashed}\" d=\"M{x:.1} {y:.1}h18\"/>");
    }
}

fn bands(plot: &Plot, area: &Area, out: &mut String) {
    for band in &plot.bands {
        let (Some(from), Some(to)) = (area.x.at(band.from), area.x.at(band.to)) else { continue };
        let (from, to) = (from.clamp(area.left, area.right), to.clamp(area.left, area.right));
        let _ = write!(
            out,
            "<rect class=\"band\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            area.top,
            (to - from).max(0.0),
            area.bottom - area.top
        );
        let label = cut(&band.label, (to - from - 8.0).max(0.0));
        if to - from > 50.0 {
            let y = area.bottom - 7.0;
            let _ = write!(out, "<text class=\"q\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", from + 5.0, escape(&label));
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
        let dashed = if series.look == Look::Dashed { " dash" } else { "" };
        // An inner SVG clips what leaves the frame, without ids that could collide on the page.
        let (x, y, w, h) =
            (area.left, area.top - 2.0, (area.right - area.left).max(1.0), (area.bottom - area.top + 4.0).max(1.0));
        let _ = write!(
            out,
            "<svg x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" viewBox=\"{x:.1} {y:.1} {w:.1} {h:.1}\">\
             <path class=\"line {hue}{dashed}\" d=\"{path}\"/></svg>"
        );
    }
    if matches!(series.look, Look::Line | Look::Dashed) || series.points.len() > MOST_DOTS {
        return;
    }
    for (x, y) in &series.points {
        if let (Some(px), Some(py)) = (area.x.inside(*x), area.y.inside(*y)) {
            let told = format!("{}: {} at {}", series.label, quantity(*y, plot.y.unit), quantity(*x, plot.x.unit));
            dot(series.look, hue, (px, py), &told, out);
        }
    }
}

fn dot(look: Look, hue: &str, (x, y): (f64, f64), told: &str, out: &mut String) {
    let (class, r) = if look == Look::Hollow { ("hollow", 4.2) } else { ("dot", 3.2) };
    let title = if told.is_empty() { String::new() } else { format!("<title>{}</title>", escape(told)) };
    let _ = write!(out, "<circle class=\"{class} {hue}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\">{title}</circle>");
}

fn path(series: &Series, area: &Area) -> String {
    let mut out = String::new();
    let mut pen = 'M';
    for (x, y) in &series.points {
        match (area.x.at(*x), area.y.at(*y)) {
            (Some(x), Some(y)) => {
                let _ = write!(out, "{pen}{x:.1} {y:.1}");
                pen = 'L';
            }
            _ => pen = 'M',
        }
    }
    out
}

fn marks(plot: &Plot, area: &Area, out: &mut String) {
    let mut row = 0.0;
    for mark in &plot.marks {
        let hue = mark.hue.class();
        let (x, y, anchor) = match mark.at {
            Spot::X(x) => {
                let Some(x) = area.x.inside(x) else { continue };
                let _ = write!(out, "<path class=\"mark {hue}\" d=\"M{x:.1} {:.1}V{:.1}\"/>", area.top, area.bottom);
                row += 1.0;
                (x, area.top + LINE * row - 3.0, side(x, &mark.label, area))
            }
            Spot::Y(y) => {
                let Some(y) = area.y.inside(y) else { continue };
                let _ = write!(out, "<path class=\"mark {hue}\" d=\"M{:.1} {y:.1}H{:.1}\"/>", area.left, area.right);
                (area.left, y - 5.0, "start")
            }
            Spot::Point(x, y) => {
                let (Some(x), Some(y)) = (area.x.inside(x), area.y.inside(y)) else { continue };
                let _ = write!(out, "<circle class=\"ring {hue}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>");
                (x, (y - 12.0).max(area.top + 10.0), side(x, &mark.label, area))
            }
        };
        let x = if anchor == "end" { x - 6.0 } else { x + 6.0 };
        let room = if anchor == "end" { x } else { area.right + 10.0 - x };
        let label = escape(&cut(&mark.label, room));
        let _ =
            write!(out, "<text class=\"m {hue}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{label}</text>");
    }
}

fn side(x: f64, label: &str, area: &Area) -> &'static str {
    if x + 8.0 + width(label) > area.right && x - area.left > area.right - x { "end" } else { "start" }
}

/// Names at the last visible point of each line: beside the frame when the line reaches its edge, else where it ends.
fn end_labels(named: &[&Series], area: &Area, frame: Frame, out: &mut String) {
    let mut edge: Vec<(&Series, f64)> = Vec::new();
    for series in named {
        let visible = |p: &(f64, f64)| Some((area.x.inside(p.0)?, area.y.inside(p.1)?));
        let Some((x, y)) = series.points.iter().rev().find_map(visible) else { continue };
        if x > area.right - 60.0 {
            edge.push((series, y));
        } else {
            let label = escape(&cut(&series.label, area.right - x));
            let (x, y, hue) = (x + 8.0, (y + 4.0).max(area.top + 10.0), series.hue.class());
            let _ = write!(out, "<text class=\"m {hue}\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>");
        }
    }
    let wanted: Vec<f64> = edge.iter().map(|(_, y)| y + 4.0).collect();
    let places = spread(&wanted, LINE, area.top + 8.0, area.bottom);
    for ((series, _), y) in edge.iter().zip(places) {
        let x = area.right + 9.0;
        let label = escape(&cut(&series.label, frame.width - x));
        let _ = write!(out, "<text class=\"m {}\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>", series.hue.class());
    }
}
