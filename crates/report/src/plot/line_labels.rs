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
        let points: Vec<(f64, f64)> = visible(series, area).collect();
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

/// Draws the name of each line that ends near the frame's right edge, beside the frame. Returns the other series. These
/// names have only one position each, so they are drawn before names that may move.
pub(super) fn edge_labels<'a>(
    named: &[&'a Series],
    area: &Area,
    frame: Frame,
    taken: &mut Taken,
    out: &mut String,
) -> Vec<&'a Series> {
    let height = |series: &Series| {
        let (x, y) = last_visible(series, area).filter(|_| series.points.len() > 1)?;
        (x > area.right - 60.0).then_some(y)
    };
    let edge: Vec<(&Series, f64)> = named.iter().filter_map(|series| Some((*series, height(series)?))).collect();
    let wanted: Vec<f64> = edge.iter().map(|(_, y)| y + 4.0).collect();
    let places = spread(&wanted, LINE, area.top + 8.0, area.bottom);
    for ((series, _), y) in edge.iter().zip(places) {
        let at = Place { x: area.right + 9.0, y, end: false };
        let label = cut(&series.label, frame.width - at.x);
        taken.occupy(&label, at);
        text_at(&label, at, series.hue.class(), out);
    }
    named.iter().copied().filter(|series| height(series).is_none()).collect()
}

/// Draws the name of each series next to its last visible point.
pub(super) fn end_labels(named: &[&Series], area: &Area, taken: &mut Taken, out: &mut String) {
    for series in named {
        let Some((x, y)) = last_visible(series, area) else { continue };
        let label = cut(&series.label, area.right - area.left);
        let places = sides(x, 8.0, &[y + 4.0, y + 16.0, y + 30.0, y - 8.0]);
        if let Some(at) = taken.best(&label, &places) {
            text_at(&label, at, series.hue.class(), out);
        }
    }
}

/// Returns the position of the last visible point of a series, pixels.
fn last_visible(series: &Series, area: &Area) -> Option<(f64, f64)> {
    visible(series, area).next_back()
}

/// Returns the positions of the visible points of a series, pixels.
fn visible<'a>(series: &'a Series, area: &'a Area) -> impl DoubleEndedIterator<Item = (f64, f64)> + 'a {
    series.points.iter().filter_map(|p| Some((area.x.inside(p.0)?, area.y.inside(p.1)?)))
}

#[cfg(test)]
mod tests {
    use crate::Unit;
    use crate::plot::{Axis, Frame, Hue, Look, Mark, Plot, Scale, Series, Spot, plot_svg};

    /// Returns the left end, the right end and the baseline of each label, in pixels.
    fn labels(svg: &str) -> Vec<(f64, f64, f64)> {
        let number = |tag: &str, name: &str| -> f64 {
            let rest = tag.split(&format!(" {name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let of_tag = |tag: &str| {
            let (x, y) = (number(tag, "x"), number(tag, "y"));
            let wide = super::super::labels::width(tag.split('>').nth(1).unwrap().split('<').next().unwrap());
            let left = if tag.contains("text-anchor=\"end\"") { x - wide } else { x };
            (left, left + wide, y)
        };
        svg.split("<text class=\"m ").skip(1).map(of_tag).collect()
    }

    /// In an earlier version of loadline, a capacity near the right edge was written over the names beside the edge.
    #[test]
    fn the_name_of_a_mark_covers_no_name_beside_the_edge() {
        let line = |name: &str, hue, end| Series::new(name, Look::Line, hue, vec![(1.0, 1.0), (100.0, end)]);
        let plot = Plot {
            title: "t".into(),
            x: Axis::new("users", Unit::Plain, Scale::Linear),
            y: Axis::new("response time", Unit::Micros, Scale::Linear),
            series: vec![line("p99", Hue::Second, 100.0), line("p50", Hue::Main, 92.0)],
            marks: vec![Mark::new(Spot::X(98.0), "limit about 61", Hue::Alarm)],
            wide: true,
            ..Plot::default()
        };
        let labels = labels(&plot_svg(&plot, Frame::WIDE));
        assert_eq!(labels.len(), 3, "{labels:?}");
        for (at, a) in labels.iter().enumerate() {
            for b in &labels[at + 1..] {
                let is_apart = a.1 <= b.0 || b.1 <= a.0 || (a.2 - b.2).abs() >= super::LINE;
                assert!(is_apart, "{labels:?}");
            }
        }
    }

    #[test]
    fn a_point_without_neighbours_is_drawn() {
        let end = Series::new("upper end", Look::Dashed, Hue::Quiet, vec![(2.0, 5.0)]);
        let other = Series::new("measured", Look::Dots, Hue::Main, vec![(1.0, 4.0), (2.0, 4.5)]);
        let plot = Plot { title: "t".into(), series: vec![end, other], wide: true, ..Plot::default() };
        let svg = plot_svg(&plot, Frame::WIDE);
        let path = svg.split("class=\"line hq dash\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(path.starts_with('M') && path.contains('h'), "{path:?}");
    }
}
