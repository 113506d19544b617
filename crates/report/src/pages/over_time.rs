//! Main charts of a run with one load. One chart shows response times over time. The other shows the completed rate
//! over time, and also the offered rate if it changed. For a short load, response times over time are unknown, so the
//! first chart shows the distribution of response times instead. A search whose trials all have the same load has no
//! chart by load, so it has these two charts, too.

use run::Run;

use super::{by_load, counters, latency};
use crate::{Axis, Block, Plot, Section, Series, Weight};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = by_load::one_load(run) else { return Vec::new() };
    let rate = counters::completed(run, trial).map(rate);
    let times = counters::times(trial).map(|plot| Plot { title: "Response time".into(), ..plot });
    let times = times.or_else(|| latency::main_curve(run));
    // The most important chart comes first: the response times of a constant load, or the rates of a changing load.
    let [first, second] = if run.findings.course.is_none() { [times, rate] } else { [rate, times] };
    let charts = [(first, false), (second, true)].into_iter().filter_map(|(plot, low)| Some((plot?, low)));
    let blocks: Vec<Block> = charts
        .filter(|(plot, _)| !plot.series.is_empty())
        .map(|(plot, low)| {
            Block::Plot(Box::new(Plot { wide: true, low, x: counters::of_window(plot.x, trial), ..plot }))
        })
        .collect();
    if blocks.is_empty() { Vec::new() } else { vec![Section::new("over-time", "", Weight::Full, blocks)] }
}

/// Maximum number of points of a line. With more points, noise would hide the trend.
const MAX_POINTS: usize = 240;

fn rate(plot: Plot) -> Plot {
    let title = if plot.series.len() > 1 { "Offered and completed requests" } else { "Completed requests" };
    Plot {
        title: title.into(),
        caption: String::new(),
        y: Axis { label: "requests per second".into(), ..plot.y },
        series: plot.series.into_iter().map(|line| Series { points: means(&line.points), ..line }).collect(),
        ..plot
    }
}

/// Returns at most [`MAX_POINTS`] points, each of which is the mean of neighbouring points.
fn means(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mean = |few: &[(f64, f64)]| {
        let n = few.len() as f64;
        few.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n))
    };
    points.chunks(points.len().div_ceil(MAX_POINTS).max(1)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_points_become_means() {
        let points: Vec<(f64, f64)> = (0..480).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let found = means(&points);
        assert!(found.len() == 240 && found.iter().all(|(_, y)| (*y - 0.5).abs() < 1e-9), "{found:?}");
        assert_eq!((means(&points[..3]), means(&[])), (points[..3].to_vec(), Vec::new()));
    }
}
