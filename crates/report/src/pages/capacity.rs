//! Charts of the open-loop search: response time and throughput by offered rate. The charts include rates that meet the
//! objective and rates that do not meet it. If the main chart already shows the response time by offered rate, the
//! section has only the chart of the throughput.

use run::{Run, SummaryFigure, Trial, TrialKind};

use super::by_load::{self, LoadAxis};
use super::times::known;
use super::{chart_marks, pick, rate};
use crate::plot::{Axis, Band, Hue, Look, Mark, Plot, Scale, Series};
use crate::{Block, Section, Unit, Weight};
use run::number::quantity;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut steps = pick::of(run, &[TrialKind::Search, TrialKind::Overload]);
    steps.retain(|t| t.rates.offered_rate.is_finite() && t.rates.offered_rate > 0.0);
    if steps.len() < 2 {
        return Vec::new();
    }
    steps.sort_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate));
    let is_shown_above = by_load::main_chart(run).is_some_and(|(axis, _)| axis == LoadAxis::OfferedRate);
    let response = (!is_shown_above).then(|| latency(run, &steps));
    let throughput = Plot { wide: is_shown_above, low: is_shown_above, ..completed(run, &steps) };
    let blocks = response.into_iter().chain([throughput]).map(|plot| Block::Plot(Box::new(plot))).collect();
    vec![Section::new("capacity", "Open loop: higher and higher offered rates", Weight::Full, blocks)]
}

fn latency(run: &Run, steps: &[&Trial]) -> Plot {
    let time = |label: &str, hue, get: fn(&Trial) -> f64| {
        let points = steps.iter().filter(|t| t.latency_us.count > 0).map(|t| (t.rates.offered_rate, get(t)));
        Series::new(label, Look::Dots, hue, points.collect())
    };
    let marks = marks(run).into_iter().chain(chart_marks::objectives(run)).collect();
    let title = match &run.findings.capacity {
        Some(c) if chart_marks::in_open_loop(run) => format!("The objective holds up to {}/s", rate::rate(c)),
        Some(_) => no_capacity(run),
        None => "Response time against offered rate".into(),
    };
    Plot {
        title,
        caption: "Response time from the intended start, against the offered rate.".into(),
        x: offered_axis(),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: vec![
            time("p99", Hue::Second, |t| known(&t.latency_us, SummaryFigure::P99)),
            time("p50", Hue::Main, |t| known(&t.latency_us, SummaryFigure::P50)),
        ],
        marks,
        bands: failed(run, steps),
        ..Plot::default()
    }
}

fn completed(run: &Run, steps: &[&Trial]) -> Plot {
    let dots = |label: &str, hue, get: fn(&Trial) -> f64| {
        Series::new(label, Look::Dots, hue, steps.iter().map(|t| (t.rates.offered_rate, get(t))).collect())
    };
    let most = steps.iter().map(|t| t.rates.offered_rate).fold(0.0, f64::max);
    let mut series = vec![dots("completed", Hue::Main, |t| t.rates.completed_rate)];
    if steps.iter().any(|t| differs(t.rates.goodput, t.rates.completed_rate)) {
        series.push(dots("goodput", Hue::Third, |t| t.rates.goodput));
    }
    if steps.iter().any(|t| differs(t.rates.sent_rate, t.rates.offered_rate)) {
        series.push(dots("sent", Hue::Fourth, |t| t.rates.sent_rate));
    }
    series.push(Series::new("all offered", Look::Dashed, Hue::Quiet, vec![(0.0, 0.0), (most, most)]));
    Plot {
        title: completed_title(run),
        caption:
            "Completed requests per second against the offered rate. On the dashed line all offered requests complete."
                .into(),
        x: offered_axis(),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series,
        marks: marks(run),
        bands: failed(run, steps),
        ..Plot::default()
    }
}

fn completed_title(run: &Run) -> String {
    match run.picked(|p| p.overload) {
        Some(t) => format!(
            "Of an offered {}, {} complete",
            quantity(t.rates.offered_rate, Unit::PerSecond),
            quantity(t.rates.completed_rate, Unit::PerSecond)
        ),
        None => "Completed against offered".into(),
    }
}

fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.02 * b.abs()
}

fn offered_axis() -> Axis {
    Axis::new("offered requests per second", Unit::Plain, Scale::Linear)
}

fn no_capacity(run: &Run) -> String {
    match run.picked(|p| p.open_held).map(|t| quantity(t.rates.offered_rate, Unit::PerSecond)) {
        Some(held) => format!("The open loop held the objective up to an offered {held}"),
        None => "No step of the open loop held the objective".into(),
    }
}

fn marks(run: &Run) -> Vec<Mark> {
    // The axis shows offered rates, so a chart cannot show a capacity from a closed loop.
    let shown = run.findings.capacity.as_ref().filter(|_| chart_marks::in_open_loop(run));
    shown.map(chart_marks::capacity).into_iter().collect()
}

fn failed(run: &Run, steps: &[&Trial]) -> Vec<Band> {
    let most = steps.iter().map(|t| t.rates.offered_rate).fold(0.0, f64::max) * 2.0;
    let from = run.findings.capacity.as_ref().and_then(|c| c.failed_at);
    from.map(|from| Band { from, to: most, label: "failed".into(), hue: Hue::Alarm }).into_iter().collect()
}
