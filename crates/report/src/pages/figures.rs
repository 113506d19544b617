//! Tables and charts of an experiment. Charts show published values as hollow points, and a table compares them with
//! the measured values.

use run::{Chart, ChartAxis, ChartSeries, ExperimentReport, ResultTable, Run};

use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Cell, Col, Section, Table, Weight};
use run::number::{Unit, number, quantity};

/// If an experiment has more trials than this, the charts come before the tables.
const LONG: usize = 60;
/// Maximum number of lines of a chart that takes half the width of the page. A chart with more lines takes the whole
/// width.
const MAX_LINES_OF_NARROW: usize = 6;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(shown) = &run.findings.experiment else { return Vec::new() };
    let mut sections = Vec::new();
    if !shown.tables.is_empty() {
        let tables = shown.tables.iter().map(|t| Block::Table(table(t))).collect();
        sections.push(Section::new("results", "Results", Weight::Main, tables));
    }
    if !shown.charts.is_empty() {
        let figures = Section::new("figures", "Figures", Weight::Full, plots(&shown.charts));
        // With many trials, readers would have to scroll past hundreds of rows to find the charts, so the charts come
        // first.
        let at = if run.trials.len() > LONG { 0 } else { sections.len() };
        sections.insert(at, figures);
    }
    let rows: Vec<Vec<Cell>> = shown.charts.iter().flat_map(beside).collect();
    if !rows.is_empty() {
        let table = Block::Table(comparison(rows));
        sections.push(Section::new("published", "Beside the published numbers", Weight::Main, vec![table]));
    }
    sections
}

/// Returns true if the experiment's results contain tables, which show the trials.
pub(super) fn has_table(run: &Run) -> bool {
    run.findings.experiment.as_ref().is_some_and(|shown| !shown.tables.is_empty())
}

/// Returns true if the trials measure several servers, so that each row of the table has its own verdict.
pub(super) fn judged_by_row(run: &Run) -> bool {
    run.findings.experiment.as_ref().is_some_and(|shown: &ExperimentReport| shown.judged_by_trial)
}

fn table(table: &ResultTable) -> Table {
    let column = |c: &run::ResultColumn| Col { name: c.name.clone(), right: c.numeric, rank: c.rank };
    let cell = |text: &Option<String>| text.as_ref().map_or_else(|| Cell::absent(table.absent.clone()), Cell::new);
    // In a damaged file, rows may be shorter or longer than the list of columns. Missing cells become empty cells, and
    // extra cells are ignored.
    let row = |cells: &Vec<Option<String>>| {
        (0..table.columns.len()).map(|i| cells.get(i).map_or_else(Cell::default, cell)).collect()
    };
    Table {
        caption: table.caption.clone(),
        columns: table.columns.iter().map(column).collect(),
        rows: table.rows.iter().map(row).collect(),
        brief: table.full_only.then_some(0),
        ..Table::default()
    }
}

fn plots(charts: &[Chart]) -> Vec<Block> {
    let mut plots: Vec<Plot> = charts.iter().map(plot).collect();
    // The page shows two narrow charts per row. If the number of narrow charts is odd, the last of them takes a whole
    // row.
    let odd = plots.iter().filter(|p| !p.wide).count() % 2 == 1;
    if let Some(last) = plots.iter_mut().rev().find(|p| !p.wide) {
        last.wide = odd;
    }
    plots.into_iter().map(|plot| Block::Plot(Box::new(plot))).collect()
}

fn plot(chart: &Chart) -> Plot {
    let line = |(i, s): (usize, &ChartSeries)| Series::new(&s.name, Look::nth(i), Hue::nth(i), s.points().collect());
    let mut series: Vec<Series> = chart.series.iter().enumerate().map(line).collect();
    let published: Vec<Series> = chart.published.iter().map(|theirs| hollow(theirs, &series)).collect();
    series.extend(published);
    Plot {
        title: chart.title.clone(),
        caption: chart.caption.clone(),
        x: axis(&chart.x),
        y: axis(&chart.y),
        series,
        marks: chart.levels.iter().map(|level| Mark::new(Spot::Y(level.y), &level.label, Hue::Quiet)).collect(),
        wide: chart.series.len() > MAX_LINES_OF_NARROW,
        ..Plot::default()
    }
}

/// Returns published points as hollow marks. The marks have the colour of the measured line that has the same name as
/// the published points.
fn hollow(theirs: &ChartSeries, ours: &[Series]) -> Series {
    let name = &theirs.name;
    let hue = ours.iter().find(|s| s.label == *name).map_or(Hue::Quiet, |s| s.hue);
    let label = if name.is_empty() || ours.len() == 1 { "published".into() } else { format!("{name}, published") };
    Series::new(label, Look::Hollow, hue, theirs.points().collect())
}

fn axis(of: &ChartAxis) -> Axis {
    Axis::new(&of.label, of.unit.into(), scale(of))
}

fn scale(axis: &ChartAxis) -> Scale {
    if axis.logarithmic { Scale::Log } else { Scale::Linear }
}

/// Returns one row for each published point of a chart, with the measured value at the same x.
fn beside(chart: &Chart) -> Vec<Vec<Cell>> {
    let of_series = |theirs: &ChartSeries| {
        let line = chart.series.iter().find(|s| s.name == theirs.name || theirs.name.is_empty());
        let ours: Vec<(f64, f64)> = line.map(|s| s.points().collect()).unwrap_or_default();
        let row = |(x, y)| cells(chart, &theirs.name, (x, y), at(&ours, x, scale(&chart.x)));
        theirs.points().map(row).collect::<Vec<_>>()
    };
    chart.published.iter().flat_map(of_series).collect()
}

fn cells(chart: &Chart, series: &str, (x, theirs): (f64, f64), ours: Option<f64>) -> Vec<Cell> {
    let unit: Unit = chart.y.unit.into();
    let what = if series.is_empty() { chart.y.label.clone() } else { format!("{series}: {}", chart.y.label) };
    vec![
        what.into(),
        format!("{} = {}", chart.x.label, quantity(x, chart.x.unit)).into(),
        quantity(theirs, unit).into(),
        ours.map_or_else(|| Cell::absent("not measured at this place"), |v| quantity(v, unit).into()),
        ours.map_or_else(Cell::default, |v| number(v / theirs).into()),
    ]
}

/// Returns the measured value at `x`: the value of a point within 2 % of `x`, otherwise a value interpolated between
/// the neighbouring points. Returns `None` if `x` is beyond the measured points.
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

/// Returns the table that compares published with measured numbers.
fn comparison(rows: Vec<Vec<Cell>>) -> Table {
    let columns = vec![
        Col::words("quantity", 0),
        Col::words("at", 0),
        Col::figures("published", 0),
        Col::figures("ours", 0),
        Col::figures("ours / published", 0),
    ];
    let caption = "The publication's machine is decades old: compare shapes and ratios, not values. Between two measured points, ours is read off the line.";
    Table { caption: caption.into(), columns, rows, ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_values_are_interpolated_but_never_extrapolated() {
        let points = [(10.0, 5.0), (1000.0, 1.0)];
        assert_eq!(at(&points, 10.1, Scale::Log), Some(5.0));
        assert!(at(&points, 100.0, Scale::Log).is_some_and(|y| (y - 3.0).abs() < 1e-9));
        assert!(at(&points, 505.0, Scale::Linear).is_some_and(|y| (y - 3.0).abs() < 1e-9));
        assert_eq!((at(&points, 5.0, Scale::Log), at(&points, 2000.0, Scale::Log)), (None, None));
    }
}
