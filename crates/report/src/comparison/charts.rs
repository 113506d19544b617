//! Charts of a comparison: the ratios of the figures, and curves of both servers.

use run::{ComparedFigure, Comparison, ComparisonResult, CurvePoint};

use super::figures::{name_of, shown};
use crate::plot::{Axis, Hue, IntervalRow, Intervals, Look, Plot, Scale, Series};
use crate::{Block, Unit};

/// Returns the chart of the ratios (new over old) with their intervals. The chart leaves out figures without an
/// interval, but the table contains them.
pub(super) fn intervals(comparison: &Comparison) -> Option<Block> {
    let row = |c: &ComparedFigure| {
        let (low, high) = c.low.zip(c.high)?;
        let hue = match c.word {
            ComparisonResult::Slower => Hue::Alarm,
            ComparisonResult::Faster => Hue::Main,
            ComparisonResult::Same | ComparisonResult::NotEnough => Hue::Quiet,
        };
        Some(IntervalRow { label: name_of(c).into(), value: c.ratio, low, high, hue })
    };
    let rows: Vec<IntervalRow> = shown(comparison).filter_map(row).collect();
    (!rows.is_empty()).then(|| {
        Block::Intervals(Intervals {
            title: "New over old".into(),
            caption: "Ratio of each figure with its interval. An interval that contains 1 shows no difference.".into(),
            unit: Unit::Plain,
            against: 1.0,
            rows,
        })
    })
}

/// Returns charts that show both servers: one of throughput by number of clients, and one of all percentiles of the
/// response time.
pub(super) fn curves(comparison: &Comparison) -> Vec<Block> {
    let both = |points: &[CurvePoint]| {
        let of = |side: fn(&CurvePoint) -> f64| points.iter().map(|p| (p.at, side(p))).collect();
        vec![
            Series::new("old", Look::LineDots, Hue::Second, of(|p| p.old)),
            Series::new("new", Look::LineDots, Hue::Main, of(|p| p.new)),
        ]
    };
    let (rates, responses) = (&comparison.curves.rates, &comparison.curves.response_us);
    let throughput = || Plot {
        title: "Throughput against clients".into(),
        caption: "Good answers per second, the mean of the windows of each.".into(),
        x: Axis::new("clients", Unit::Plain, Scale::Log2),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: both(rates),
        ..Plot::default()
    };
    let response = || Plot {
        title: "Response time at every percentile".into(),
        caption: "All windows of one load level together.".into(),
        x: Axis::new("share of requests", Unit::Share, Scale::Nines),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: both(responses),
        ..Plot::default()
    };
    let plots = [(rates.len() > 1).then(throughput), (responses.len() > 1).then(response)];
    plots.into_iter().flatten().map(|plot| Block::Plot(Box::new(plot))).collect()
}
