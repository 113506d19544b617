//! Names of lines and marks in a chart with curves.

use std::fmt::Write as _;

use super::area::{Area, LINE};
use super::labels::{cut, escape, spread};
use super::place::{Place, Taken};
use super::{Frame, Look, Plot, Series, Spot};

/// Returns the positions of lines and points, which names must not cover.
pub(super) fn taken(plot: &Plot, frame: Frame, area: &Area) -> Taken {
    let mut taken = Taken::new([area.left, area.top - 12.0, frame.width, area.bottom]);
    for series in &plot.series {
        let visible = |p: &(f64, f64)| Some((area.x.inside(p.0)?, area.y.inside(p.1)?));
        let points: Vec<(f64, f64)> = series.points.iter().filter_map(visible).collect();
        taken.line(&points);
        if points.len() == 1 || matches!(series.look, Look::Dots | Look::Hollow) {
            points.iter().for_each(|p| taken.line(&[*p, (p.0 + 1.0, p.1)]));
        }
    }
    for mark in &plot.marks {
        match mark.at {
            Spot::X(x) => area.x.inside(x).into_iter().for_each(|x| taken.line(&[(x, area.top), (x, area.bottom)])),
            Spot::Y(y) => area.y.inside(y).into_iter().for_each(|y| taken.line(&[(area.left, y), (area.right, y)])),
            Spot::Point(..) => {}
        }
    }
    taken
}

/// Draws the marks of a chart, and their names where they cover no line.
pub(super) fn marks(plot: &Plot, area: &Area, taken: &mut Taken, out: &mut String) {
    for mark in &plot.marks {
        let hue = mark.hue.class();
        let label = cut(&mark.label, area.right - area.left);
        let places = match mark.at {
            Spot::X(x) => {
                let Some(x) = area.x.inside(x) else { continue };
                let _ = write!(out, "<path class=\"mark {hue}\" d=\"M{x:.1} {:.1}V{:.1}\"/>", area.top, area.bottom);
                let heights = [area.top + 11.0, area.top + 11.0 + LINE, area.bottom - 8.0, area.bottom - 8.0 - LINE];
                sides(x, 6.0, &heights)
            }
            Spot::Y(y) => {
                let Some(y) = area.y.inside(y) else { continue };
                let _ = write!(out, "<path class=\"mark {hue}\" d=\"M{:.1} {y:.1}H{:.1}\"/>", area.left, area.right);
                let at = |x, y, end| Place { x, y, end };
                let (left, right) = (area.left + 4.0, area.right - 2.0);
                let middle = (left + right) / 2.0;
                let along =
                    |y: f64| [at(left, y, false), at(right, y, true), at(middle, y, false), at(middle, y, true)];
                [y - 5.0, y + 14.0].into_iter().flat_map(along).collect()
            }
            Spot::Point(x, y) => {
                let (Some(x), Some(y)) = (area.x.inside(x), area.y.inside(y)) else { continue };
                let _ = write!(out, "<circle class=\"ring {hue}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"/>");
                sides(x, 9.0, &[y - 10.0, y + 18.0, y + 4.0])
            }
        };
        if let Some(at) = taken.best(&label, &places) {
            text_at(&label, at, hue, out);
        }
    }
}

/// Returns candidate positions for a label, to the right and to the left of `x`, at several heights.
fn sides(x: f64, gap: f64, heights: &[f64]) -> Vec<Place> {
    let pair = |y: &f64| [Place { x: x + gap, y: *y, end: false }, Place { x: x - gap, y: *y, end: true }];
    heights.iter().flat_map(pair).collect()
}

fn text_at(label: &str, at: Place, hue: &str, out: &mut String) {
    let (x, y, anchor) = (at.x, at.y, at.anchor());
    let _ = write!(
        out,
        "<text class=\"m {hue}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(label)
    );
}

/// Draws the name of each line at its last visible point. If the last visible point is near the frame's right edge, the
/// name is beside the frame. If the last visible point is far from the right edge, or is the only point of the series,
/// the name is next to the point.
pub(super) fn end_labels(named: &[&Series], area: &Area, frame: Frame, taken: &mut Taken, out: &mut String) {
    let mut edge: Vec<(&Series, f64)> = Vec::new();
    for series in named {
        let visible = |p: &(f64, f64)| Some((area.x.inside(p.0)?, area.y.inside(p.1)?));
        let Some((x, y)) = series.points.iter().rev().find_map(visible) else { continue };
        if x > area.right - 60.0 && series.points.len() > 1 {
            edge.push((series, y));
        } else {
            let label = cut(&series.label, area.right - area.left);
            let places = sides(x, 8.0, &[y + 4.0, y + 16.0, y + 30.0, y - 8.0]);
            if let Some(at) = taken.best(&label, &places) {
                text_at(&label, at, series.hue.class(), out);
            }
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
