//! A figure's row made into a plot, and its published points beside ours.

use std::collections::BTreeMap;

use run::Trial;

use super::figure::{Figure, Lines, Quantity};
use super::published::{Point, points};
use super::value::value;
use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Cell, Col, Table};
use run::number::{number, quantity};

/// The chart, if the trials have anything for it.
pub(super) fn plot(figure: &Figure, trials: &[Trial]) -> Option<Plot> {
    let ours = lines(figure, trials);
    if ours.is_empty() {
        return None;
    }
    let many = ours.len() > 6;
    let mut series: Vec<Series> = ours
        .into_iter()
        .enumerate()
        .map(|(i, (name, points))| Series::new(name, Look::nth(i), Hue::nth(i), points))
        .collect();
    let mut theirs: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for point in points(figure.published) {
        theirs.entry(point.series).or_default().push((point.x, point.y));
    }
    let published: Vec<Series> = theirs.into_iter().map(|(name, points)| hollow(&name, points, &series)).collect();
    series.extend(published);
    Some(Plot {
        title: figure.title.into(),
        caption: figure.caption.into(),
        x: axis(&figure.x),
        y: axis(&figure.y),
        series,
        marks: levels(figure),
        wide: many,
        ..Plot::default()
    })
}

fn levels(figure: &Figure) -> Vec<Mark> {
    figure.levels.iter().map(|(height, name)| Mark::new(Spot::Y(*height), *name, Hue::Quiet)).collect()
}

/// Published points in the colour of the line that they belong to.
fn hollow(name: &str, points: Vec<(f64, f64)>, ours: &[Series]) -> Series {
    let hue = ours.iter().find(|s| s.label == name).map_or(Hue::Quiet, |s| s.hue);
    let label = if name.is_empty() || ours.len() == 1 { "published".into() } else { format!("{name}, published") };
    Series::new(label, Look::Hollow, hue, points)
}

fn axis(quantity: &Quantity) -> Axis {
    Axis::new(quantity.label, quantity.unit, quantity.scale)
}

type Line = (String, Vec<(f64, f64)>);

/// The lines by name, in the order in which the trials first name them.
fn lines(figure: &Figure, trials: &[Trial]) -> Vec<Line> {
    let trials = || trials.iter().filter(|t| (figure.only)(t));
    let mut found: Vec<Line> = Vec::new();
    let mut add = |name: &str, point: (f64, f64)| match found.iter_mut().find(|(known, _)| known == name) {
        Some((_, points)) => points.push(point),
        None => found.push((name.into(), vec![point])),
    };
    for trial in trials() {
        let Some(x) = value(trial, figure.x.of) else { continue };
        match figure.lines {
            Lines::One(name) => value(trial, figure.y.of).into_iter().for_each(|y| add(name, (x, y))),
            Lines::ByKey => {
                let name = trial.key.line.as_deref().unwrap_or_default();
                value(trial, figure.y.of).into_iter().for_each(|y| add(name, (x, y)));
            }
            Lines::Values(all) => {
                for (name, of) in all {
                    value(trial, *of).into_iter().for_each(|y| add(name, (x, y)));
                }
            }
        }
    }
    found.into_iter().map(|(name, points)| (name, medians(points))).collect()
}

/// In order of x; where a point was repeated, the median of its values.
fn medians(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() / 2]).collect()
}

/// One line of the comparison: what, where, theirs and ours.
pub(super) struct Beside {
    what: String,
    x: String,
    theirs: f64,
    ours: Option<f64>,
    unit: crate::Unit,
}

/// Every published point with our value at the same place.
pub(super) fn beside(figure: &Figure, plot: &Plot) -> Vec<Beside> {
    let ours = |point: &Point| {
        let line = plot.series.iter().find(|s| {
            matches!(s.look, Look::LineDots | Look::LineSquares) && (s.label == point.series || point.series.is_empty())
        });
        at(&line?.points, point.x, figure.x.scale)
    };
    let row = |point: Point| Beside {
        what: if point.series.is_empty() {
            figure.y.label.into()
        } else {
            format!("{}: {}", point.series, figure.y.label)
        },
        x: format!("{} = {}", figure.x.label, quantity(point.x, figure.x.unit)),
        theirs: point.y,
        ours: ours(&point),
        unit: figure.y.unit,
    };
    points(figure.published).into_iter().map(row).collect()
}

/// Our value at a place: of the point that is within 2 % of it, or between its neighbours by a straight line as drawn.
fn at(points: &[(f64, f64)], x: f64, scale: Scale) -> Option<f64> {
    let near = points.iter().find(|p| (p.0 - x).abs() <= x.abs() * 0.02);
    let place = |x: f64| if scale == Scale::Log { x.ln() } else { x };
    let between = || {
        let (a, b) = points.iter().zip(points.iter().skip(1)).find(|(a, b)| a.0 < x && x < b.0)?;
        let share = (place(x) - place(a.0)) / (place(b.0) - place(a.0));
        share.is_finite().then_some(a.1 + (b.1 - a.1) * share)
    };
    near.map(|p| p.1).or_else(between)
}

/// Published numbers beside ours.
pub(super) fn comparison(rows: Vec<Beside>) -> Table {
    let cells = |row: Beside| {
        let ours =
            row.ours.map_or_else(|| Cell::absent("not measured at this place"), |v| quantity(v, row.unit).into());
        let ratio = row.ours.map_or_else(Cell::default, |v| number(v / row.theirs).into());
        vec![row.what.into(), row.x.into(), quantity(row.theirs, row.unit).into(), ours, ratio]
    };
    let columns = vec![
        Col::words("quantity", 0),
        Col::words("at", 0),
        Col::figures("published", 0),
        Col::figures("ours", 0),
        Col::figures("ours / published", 0),
    ];
    let caption = "Machines differ by decades: compare shapes and ratios, not heights. Between two of our points ours is \
                   read off the line.";
    Table { caption: caption.into(), columns, rows: rows.into_iter().map(cells).collect(), ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_read_off_the_line_and_never_beyond_it() {
        let points = [(10.0, 5.0), (1000.0, 1.0)];
        assert_eq!(at(&points, 10.1, Scale::Log), Some(5.0));
        assert!(at(&points, 100.0, Scale::Log).is_some_and(|y| (y - 3.0).abs() < 1e-9));
        assert!(at(&points, 505.0, Scale::Linear).is_some_and(|y| (y - 3.0).abs() < 1e-9));
        assert_eq!((at(&points, 5.0, Scale::Log), at(&points, 2000.0, Scale::Log)), (None, None));
    }
}
