//! The specification of a chart, and the chart of a run's trials.

use run::{Chart, ChartAxis, ChartLevel, ChartSeries, FigureUnit, Trial};

use super::value::{Of, value};

/// One chart of an experiment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChartSpec {
    /// What the chart shows, in a sentence.
    pub(crate) title: &'static str,
    /// How the values were measured, and where published points come from.
    pub(crate) caption: &'static str,
    /// Horizontal axis.
    pub(crate) x: Quantity,
    /// Vertical axis.
    pub(crate) y: Quantity,
    /// The lines.
    pub(crate) lines: Lines,
    /// Selects the trials.
    pub(crate) only: fn(&Trial) -> bool,
    /// Published points: a CSV of `series,x,y`; empty where the source printed none.
    pub(crate) published: &'static str,
    /// Published levels that are no points: height and name.
    pub(crate) levels: &'static [(f64, &'static str)],
}

/// A quantity on an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// The value in a trial.
    pub(crate) of: Of,
    /// Name of the axis.
    pub(crate) label: &'static str,
    /// How ticks are written.
    pub(crate) unit: FigureUnit,
    /// Equal ratios are equally far apart.
    pub(crate) logarithmic: bool,
}

/// The lines of a chart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lines {
    /// One line of this name over all trials.
    One(&'static str),
    /// The lines that the keys of the trials name.
    ByKey,
    /// One line a value, by name; the value of `y` is not used.
    Values(&'static [(&'static str, Of)]),
}

impl Quantity {
    /// The same quantity on a logarithmic axis.
    pub(crate) const fn log(self) -> Self {
        Self { logarithmic: true, ..self }
    }

    fn axis(&self) -> ChartAxis {
        ChartAxis { label: self.label.into(), unit: self.unit, logarithmic: self.logarithmic }
    }
}

/// A quantity on a linear axis.
pub(crate) const fn q(of: Of, label: &'static str, unit: FigureUnit) -> Quantity {
    Quantity { of, label, unit, logarithmic: false }
}

/// A chart of all trials without published points.
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
    /// The same chart with the published points of a file.
    pub(crate) const fn published(self, csv: &'static str) -> Self {
        Self { published: csv, ..self }
    }

    /// The same chart of these trials only.
    pub(crate) const fn only(self, only: fn(&Trial) -> bool) -> Self {
        Self { only, ..self }
    }

    /// The same chart with marked heights.
    pub(crate) const fn levels(self, levels: &'static [(f64, &'static str)]) -> Self {
        Self { levels, ..self }
    }
}

/// Makes the chart, if the trials have anything for it.
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

/// The lines by name, in the order in which the trials first name them.
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

/// In order of x; where a point was repeated, the median of its values.
fn medians(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.chunk_by(|a, b| a.0 == b.0).map(|same| same[same.len() / 2]).collect()
}

/// The published points of a file of `series,x,y` lines; lines that begin with `#` say where they are from.
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
