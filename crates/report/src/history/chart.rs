//! Chart of one figure over the runs of a history.

use run::{HistoryChange, HistoryFigure, HistorySeries, HistoryValue};

use super::words::{counted, place, size};
use crate::Unit;
use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};

/// Maximum number of runs in a chart. If a history has more runs than this, the chart leaves out the earliest runs.
const MAX_DRAWN: usize = 1000;
/// Free space above and below the values in a chart, as a share of their range.
const AXIS_MARGIN: f64 = 0.1;

/// Returns the chart of one figure: its values with their intervals, the means between its changes, and a mark at each
/// change.
pub(super) fn plot(series: &HistorySeries, figure: &HistoryFigure, changes: &[&HistoryChange]) -> Plot {
    let begin = series.runs.len().saturating_sub(MAX_DRAWN);
    let drawn = || figure.values.iter().enumerate().skip(begin);
    let points = |of: fn(&HistoryValue) -> Option<f64>| -> Vec<(f64, f64)> {
        drawn().filter_map(|(at, value)| Some((at as f64, of(value.as_ref()?)?))).collect()
    };
    let changes: Vec<&HistoryChange> =
        changes.iter().filter(|change| change.figure == figure.figure).copied().collect();
    let [values, low, high] = [points(|v| Some(v.value)), points(|v| v.low), points(|v| v.high)];
    let (y, x) = (axis(figure, &values), Axis::new("run", Unit::Plain, Scale::Linear));
    let end = |label: &str, points| Series::new(label, Look::Dashed, Hue::Quiet, points);
    let curves = vec![
        Series::new("measured", Look::LineDots, Hue::Main, values),
        end("95 % interval", low),
        end("", high),
        Series::new("mean", Look::Line, Hue::Second, means(&changes, begin, series.runs.len())),
    ];
    let mark = |change: &&HistoryChange| {
        let hue = if change.worse { Hue::Alarm } else { Hue::Third };
        Mark::new(Spot::X(change.at as f64), format!("{} {}", place(change), size(change, change.change)), hue)
    };
    let marks = changes.iter().filter(|change| change.at >= begin).map(mark).collect();
    let left_out = if begin > 0 { format!(" The last {MAX_DRAWN} runs.") } else { String::new() };
    Plot {
        title: format!("{}: {}", crate::words::capital(&figure.figure), changes_words(changes.len())),
        caption: format!("Runs in order of time; the first run has the number 0.{left_out}"),
        x: Axis { from: Some(begin as f64), ..x },
        y,
        series: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
        marks,
        wide: true,
        ..Plot::default()
    }
}

fn changes_words(count: usize) -> String {
    if count == 0 { "no change found".into() } else { counted(count, "change") }
}

/// Returns the vertical axis of a figure's chart. The axis does not begin at 0, because readers must see a change of 1
/// %.
fn axis(figure: &HistoryFigure, values: &[(f64, f64)]) -> Axis {
    let ends = values.iter().fold(None, |ends: Option<(f64, f64)>, (_, value)| {
        Some(ends.map_or((*value, *value), |(low, high)| (low.min(*value), high.max(*value))))
    });
    let axis = Axis::new(figure.figure.clone(), figure.unit.into(), Scale::Linear);
    let Some((low, high)) = ends else { return axis };
    let margin = if high > low { AXIS_MARGIN * (high - low) } else { AXIS_MARGIN * high.abs() };
    Axis { from: Some((low - margin).max(0.0)), to: Some(high + margin), ..axis }
}

/// Returns the mean of each period between two changes, as a line that is interrupted at each change. Returns no points
/// for a figure without changes.
fn means(changes: &[&HistoryChange], begin: usize, end: usize) -> Vec<(f64, f64)> {
    let Some(first) = changes.first() else { return Vec::new() };
    let levels = std::iter::once((0, first.before)).chain(changes.iter().map(|change| (change.at, change.after)));
    let ends = changes.iter().map(|change| change.at).chain([end]);
    let parts = levels.zip(ends).filter(|(_, end)| *end > begin);
    parts
        .flat_map(|((from, mean), end)| {
            let (from, end) = (from.max(begin) as f64, end as f64 - 1.0);
            [(from, mean), (end, mean), (end, f64::NAN)]
        })
        .collect()
}
