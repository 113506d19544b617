//! Specification of a chart, and the function that builds the chart from a run's trials.

use run::{Chart, ChartAxis, ChartLevel, ChartSeries, FigureUnit, Trial};

use super::value::{Of, value};

/// Specification of one chart of an experiment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChartSpec {
    /// Title of the chart: a sentence.
    pub(crate) title: &'static str,
    /// Caption: how the values were measured, and the source of the published points.
    pub(crate) caption: &'static str,
    /// Quantity on the horizontal axis.
    pub(crate) x: Quantity,
    /// Quantity on the vertical axis.
    pub(crate) y: Quantity,
    /// The lines of the chart.
    pub(crate) lines: Lines,
    /// Function that returns true for the trials to show.
    pub(crate) only: fn(&Trial) -> bool,
    /// Published points as CSV (`series,x,y`); empty if there are none.
    pub(crate) published: &'static str,
    /// Published values that have no x value, as (y value, name). Each value is drawn as a horizontal line.
    pub(crate) levels: &'static [(f64, &'static str)],
}

/// A quantity on an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// Value of the quantity in a trial.
    pub(crate) of: Of,
    /// Label of the axis.
    pub(crate) label: &'static str,
    /// Unit of the axis labels.
    pub(crate) unit: FigureUnit,
    /// True if the axis is logarithmic.
    pub(crate) logarithmic: bool,
}

/// Determines which lines a chart has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lines {
    /// One line over all trials, with the given name.
    One(&'static str),
    /// One line for each line name that the trials have (`trial.key.line`).
    ByKey,
    /// One line for each of the given values, as (name, value). With several values, the chart's `y` only supplies the
    /// label and the unit of the axis.
    Values(&'static [(&'static str, Of)]),
}

impl Quantity {
    /// Returns the quantity with a logarithmic axis.
    pub(crate) const fn log(self) -> Self {
        Self { logarithmic: true, ..self }
    }

    fn axis(&self) -> ChartAxis {
        ChartAxis { label: self.label.into(), unit: self.unit, logarithmic: self.logarithmic }
    }
}

/// Creates a quantity on a linear axis.
pub(crate) const fn q(of: Of, label: &'static str, unit: FigureUnit) -> Quantity {
    Quantity { of, label, unit, logarithmic: false }
}

/// Creates a chart of all trials, without published points.
pub(crate) const fn chart(
    title: &'static str,
    caption: &'static str,
    x: Quantity,
    y: Quantity,
    lines: Lines,
) -> ChartSpec {
    ChartSpec { title, caption, x, y, lines, only: |_| true, published: "", levels: &[] }
}

impl ChartSpec {
    /// Adds the published points from a CSV text (`series,x,y`).
    pub(crate) const fn published(self, csv: &'static str) -> Self {
        Self { published: csv, ..self }
    }

    /// Limits the chart to the trials for which `only` returns true.
    pub(crate) const fn only(self, only: fn(&Trial) -> bool) -> Self {
        Self { only, ..self }
    }

    /// Adds published values that have no x value, as (y value, name).
    pub(crate) const fn levels(self, levels: &'static [(f64, &'static str)]) -> Self {
        Self { levels, ..self }
    }
}

/// Builds the chart; `None` if no trial has a value for the chart.
pub(super) fn of_trials(spec: &ChartSpec, trials: &[Trial]) -> Option<Chart> {
    let series = lines(spec, trials);
    (!series.is_empty()).then(|| Chart {
        title: spec.title.into(),
        caption: spec.caption.into(),
        x: spec.x.axis(),
        y: spec.y.axis(),
        series,
        published: published(spec.published),
        levels: spec.levels.iter().map(|(y, label)| ChartLevel { y: *y, label: (*label).into() }).collect(),
    })
}

/// Returns the lines, in the order in which their names first occur in the trials.
fn lines(spec: &ChartSpec, trials: &[Trial]) -> Vec<ChartSeries> {
    let mut found = Vec::new();
    for trial in trials.iter().filter(|t| (spec.only)(t)) {
        let Some(x) = value(trial, spec.x.of) else { continue };
        let mut add = |name: &str, of: Of| value(trial, of).into_iter().for_each(|y| add(&mut found, name, (x, y)));
        match spec.lines {
            Lines::One(name) => add(name, spec.y.of),
            Lines::ByKey => add(trial.key.line.as_deref().unwrap_or_default(), spec.y.of),
            Lines::Values(all) => all.iter().for_each(|(name, of)| add(name, *of)),
        }
    }
    found.into_iter().map(|(name, points)| ChartSeries::new(name, medians(points))).collect()
}

type Line = (String, Vec<(f64, f64)>);

fn add(lines: &mut Vec<Line>, name: &str, point: (f64, f64)) {
    match lines.iter_mut().find(|(known, _)| known == name) {
        Some((_, points)) => points.push(point),
        None => lines.push((name.into(), vec![point])),
    }
}

/// Sorts points by x. If several points have the same x, keeps only the point with the median y.
fn medians(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() / 2]).collect()
}

/// Parses published points from the lines `series,x,y` of a CSV text. Lines that begin with `#` are comments about the
/// source.
pub(super) fn published(csv: &str) -> Vec<ChartSeries> {
    let mut found = Vec::new();
    for line in csv.lines().filter(|l| !l.starts_with('#')).skip(1) {
        if let Some((name, point)) = point(line) {
            add(&mut found, name, point);
        }
    }
    found.into_iter().map(|(name, points)| ChartSeries::new(name, points)).collect()
}

fn point(line: &str) -> Option<(&str, (f64, f64))> {
    let mut fields = line.rsplitn(3, ',');
    let y = fields.next()?.trim().parse().ok()?;
    let x = fields.next()?.trim().parse().ok()?;
    Some((fields.next()?.trim().trim_matches('"'), (x, y)))
}
